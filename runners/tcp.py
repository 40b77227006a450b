"""HTTP/2 over TLS 1.3 and TCP: hypercorn serves, curl downloads (the papers' TCP set-up)."""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, ClassVar, Literal

from runners.addresses import bracketed
from runners.base import (
    CONGESTION_CONTROLS,
    CongestionControl,
    Measurement,
    Runner,
    Transfer,
    TransferFailed,
    runner,
)
from runners.certificate import SERVER_NAME
from runners.content import content_sha256, file_sha256
from runners.kernel_socket import set_congestion_control
from runners.output import last_json

CURL_TIMED_OUT = 28  # curl(1), exit codes
BODY = "body"  # the file that curl writes; its hash is taken, then it is removed
# What curl prints at the end: numbers, and strings that need no escaping (curl(1), -w). The status
# is three digits, 000 when no answer came, which would be no number of JSON.
CURL_REPORT = (
    '{"status": "%{http_code}", "http_version": "%{http_version}", "bytes": %{size_download}, '
    '"connect_s": %{time_connect}, "handshake_s": %{time_appconnect}, '
    '"first_byte_s": %{time_starttransfer}, "completion_s": %{time_total}}\n'
)


@runner("tcp")
class TcpRunner(Runner):
    """TCP on one path; any congestion control that the kernel has."""

    multipath: ClassVar[bool] = False
    socket_table: ClassVar[Literal["tcp", "udp"]] = "tcp"
    congestion_controls: ClassVar[tuple[str, ...]] = CONGESTION_CONTROLS
    takes_duration: ClassVar[bool] = True
    protocol: ClassVar[Literal["tcp", "mptcp"]] = "tcp"

    def missing(self) -> str | None:
        """The client is curl."""
        if shutil.which("curl") is None:
            return "curl is not installed (Debian and Ubuntu: apt-get install curl)"
        return None

    def unsupported(self, congestion_control: CongestionControl) -> str | None:
        """Also: the kernel must have the algorithm and let this user choose it."""
        return super().unsupported(congestion_control) or _refusal(congestion_control)

    def server_command(self, transfer: Transfer) -> list[str]:
        """The server is hypercorn, started by `runners.tcp_server`."""
        return [
            *(sys.executable, "-m", "runners.tcp_server"),
            *("--address", transfer.server_address, "--port", str(transfer.port)),
            *("--protocol", self.protocol),
            *("--certificate", str(transfer.certificate), "--key", str(transfer.key)),
            *("--congestion-control", transfer.congestion_control),
        ]

    def client_command(self, transfer: Transfer) -> list[str]:
        """The client is curl, deaf to a user's .curlrc and proxies."""
        authority = f"{SERVER_NAME}:{transfer.port}"
        return [
            *("curl", "--disable", "--noproxy", "*", "--silent", "--show-error", "--fail"),
            *("--http2", "--tlsv1.3", "--cacert", str(transfer.certificate)),
            *("--interface", transfer.client_addresses[0]),
            *("--resolve", f"{authority}:{bracketed(transfer.server_address)}"),
            *("--output", str(transfer.directory / BODY), "--write-out", CURL_REPORT),
            *([] if transfer.duration_s is None else ["--max-time", str(transfer.duration_s)]),
            f"https://{authority}/bytes/{transfer.size_bytes}",
        ]

    @contextmanager
    def files(self, transfer: Transfer) -> Iterator[None]:
        """The downloaded file is removed at the end."""
        try:
            yield
        finally:
            (transfer.directory / BODY).unlink(missing_ok=True)

    def client_exit_codes(self, transfer: Transfer) -> frozenset[int]:
        """With a duration, also curl's end at ``--max-time``."""
        return frozenset({0} if transfer.duration_s is None else {0, CURL_TIMED_OUT})

    def read(self, transfer: Transfer) -> Measurement:
        """Curl's report and the server's report of its connection; hash and algorithm checked."""
        client = last_json(transfer.client_output, "client")
        client["status"] = int(client["status"])
        if transfer.duration_s is not None and not client["status"] and not client["bytes"]:
            return Measurement(0, client["completion_s"], client)  # stopped before an answer came
        if (client["status"], client["http_version"]) != (200, "2"):
            answer = f"status {client['status']} over HTTP {client['http_version']}"
            raise TransferFailed(f"client got {answer}, not 200 over HTTP 2")
        connection = last_json(transfer.server_output, "server")
        body = transfer.directory / BODY  # made with the first byte
        if client["bytes"] and file_sha256(body) != content_sha256(client["bytes"]):
            raise TransferFailed(f"client received {client['bytes']} bytes, not those sent")
        self.check_connection(transfer, connection)
        return Measurement(client["bytes"], client["completion_s"], {**client, **connection})

    def check_connection(self, transfer: Transfer, connection: dict[str, Any]) -> None:
        """Check what the kernel said of the server's end of the connection.

        Raises:
            TransferFailed: it used another congestion control than asked for.
        """
        used = connection["congestion_control"]
        if used != transfer.congestion_control:
            raise TransferFailed(f"the kernel used {used}, not {transfer.congestion_control}")


def _refusal(congestion_control: CongestionControl) -> str | None:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        try:
            set_congestion_control(probe, congestion_control)
        except OSError as error:
            advice = f"as root: modprobe tcp_{congestion_control}"
            return f"the kernel refuses {congestion_control}: {error.strerror} ({advice})"
    return None
