"""HTTP/2 over TLS and TCP: hypercorn serves, curl downloads (the papers' TCP set-up)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Literal

from minitopo_dc.runners.addresses import bracketed
from minitopo_dc.runners.base import (
    Runner,
    Transfer,
    TransferFailed,
    runner,
)
from minitopo_dc.runners.options import parse_options
from minitopo_dc.runners.payload.certificate import SERVER_NAME
from minitopo_dc.runners.payload.content import content_sha256, file_sha256
from minitopo_dc.runners.payload.request_reports import plan_of, read_requests
from minitopo_dc.runners.payload.requests import request_arguments
from minitopo_dc.runners.processes.kernel_socket import congestion_control_refusal
from minitopo_dc.runners.processes.process import last_json
from minitopo_dc.runners.tcp.info import FILE as TCP_INFO
from minitopo_dc.runners.tools import Tool, not_installed
from minitopo_dc.shipped import module_command
from minitopo_dc.workloads import Download, Measurement, RequestResponse

TlsVersion = Literal["1.2", "1.3"]


@dataclasses.dataclass(frozen=True, slots=True)
class MptcpOptions:
    """What one can choose of HTTP/2 over TLS.

    Attributes:
        tls: the version of the handshake: 1.3 takes one round trip behind TCP's (RFC 8446), 1.2,
            which the experiments of "Multipath QUIC: Design and Evaluation" had, two (RFC 5246).
    """

    tls: TlsVersion = "1.3"


@dataclasses.dataclass(frozen=True, slots=True)
class TcpOptions(MptcpOptions):
    """The same, and what is recorded.

    Attributes:
        tcp_info: whether the server writes what the kernel says of its connections
            (`runners.tcp_info`).
    """

    tcp_info: bool = False


CURL_TIMED_OUT = 28
"""curl(1), exit codes."""
BODY = "body"
"""The file that curl writes; its hash is taken, then it is removed."""
CURL_REPORT = (
    '{"status": "%{http_code}", "http_version": "%{http_version}", "bytes": %{size_download}, '
    '"connect_s": %{time_connect}, "handshake_s": %{time_appconnect}, '
    '"first_byte_s": %{time_starttransfer}, "completion_s": %{time_total}}\n'
)
"""What curl prints at the end: numbers, and strings that need no escaping (curl(1), -w). The status
is three digits, 000 when no answer came, which would be no number of JSON."""


@runner("tcp")
class TcpRunner(Runner):
    """TCP on one path; any congestion control that the kernel has."""

    multipath: ClassVar[bool] = False
    socket_table: ClassVar[Literal["tcp", "udp"]] = "tcp"
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno", "cubic", "bbr")
    workloads: ClassVar[tuple[str, ...]] = ("download", "request-response")
    takes_duration: ClassVar[bool] = True
    tools: ClassVar[tuple[Tool, ...]] = (Tool("curl", "--version", "curl"),)
    packages: ClassVar[tuple[str, ...]] = ("h2", "hypercorn")
    options_type: ClassVar[type] = TcpOptions
    set_up: ClassVar[bool] = True
    essential: ClassVar[bool] = True
    protocol: ClassVar[Literal["tcp", "mptcp"]] = "tcp"

    def missing(self) -> str | None:
        """The client is curl."""
        return not_installed(self.tools)

    def unsupported(self, congestion_control: str) -> str | None:
        """Also: the kernel must have the algorithm and let this user choose it."""
        return super().unsupported(congestion_control) or congestion_control_refusal(
            congestion_control
        )

    def server_command(self, transfer: Transfer) -> list[str]:
        """The server is hypercorn, started by `minitopo_dc.runners.tcp.server`."""
        return [
            *module_command("minitopo_dc.runners.tcp.server"),
            *("--address", transfer.server_address, "--port", str(transfer.port)),
            *("--protocol", self.protocol),
            *("--certificate", str(transfer.certificate), "--key", str(transfer.key)),
            *("--congestion-control", transfer.congestion_control),
            *self._recording(transfer),
        ]

    def client_command(self, transfer: Transfer) -> list[str]:
        """The client is curl, for requests and answers `tcp_requests`."""
        if isinstance(transfer.workload, RequestResponse):
            return self._requests(transfer, transfer.workload)
        return self.curl_command(transfer)

    def curl_command(self, transfer: Transfer) -> list[str]:
        """Curl, deaf to a user's .curlrc and proxies."""
        authority = f"{SERVER_NAME}:{transfer.port}"
        return [
            *("curl", "--disable", "--noproxy", "*", "--silent", "--show-error", "--fail"),
            *("--http2", f"--tlsv{self._tls(transfer)}", "--tls-max", self._tls(transfer)),
            *("--cacert", str(transfer.certificate)),
            *("--interface", transfer.first_address),
            *("--resolve", f"{authority}:{bracketed(transfer.server_address)}"),
            *("--output", str(transfer.directory / BODY), "--write-out", CURL_REPORT),
            *_max_time(transfer.download),
            f"https://{authority}/bytes/{transfer.download.requested_bytes}",
        ]

    @contextmanager
    def files(self, transfer: Transfer) -> Iterator[None]:
        """The downloaded file is removed at the end."""
        try:
            yield
        finally:
            (transfer.directory / BODY).unlink(missing_ok=True)

    def client_exit_codes(self, transfer: Transfer) -> frozenset[int]:
        """With a duration, also curl's end at `--max-time`."""
        timed = isinstance(transfer.workload, Download) and transfer.workload.duration_s
        return frozenset({0, CURL_TIMED_OUT} if timed else {0})

    def read(self, transfer: Transfer) -> Measurement:
        """The client's report and the server's of its connection; what arrived is checked."""
        if isinstance(transfer.workload, RequestResponse):
            measured = read_requests(last_json(transfer.client_output, "client"))
            connection = last_json(transfer.server_output, "server")
            self.check_connection(transfer, connection)
            return replace(measured, details={**measured.details, **connection})
        client = last_json(transfer.client_output, "client")
        client["status"] = int(client["status"])
        if (
            transfer.download.duration_s is not None
            and not client["status"]
            and not client["bytes"]
        ):
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

    def _requests(self, transfer: Transfer, workload: RequestResponse) -> list[str]:
        return [
            *module_command("minitopo_dc.runners.tcp.requests"),
            *("--address", transfer.server_address, "--port", str(transfer.port)),
            *("--bind", transfer.first_address, "--protocol", self.protocol),
            *("--certificate", str(transfer.certificate), "--tls", self._tls(transfer)),
            *request_arguments(plan_of(workload)),
        ]

    def _tls(self, transfer: Transfer) -> TlsVersion:
        options: MptcpOptions = parse_options(self.options_type, transfer.options, self.name)
        return options.tls

    def _recording(self, transfer: Transfer) -> list[str]:
        options: object = parse_options(self.options_type, transfer.options, self.name)
        if not isinstance(options, TcpOptions) or not options.tcp_info:
            return []
        return ["--tcp-info", str(transfer.directory / TCP_INFO)]

    def check_connection(self, transfer: Transfer, connection: dict[str, Any]) -> None:
        """Check what the kernel said of the server's end of the connection.

        Raises:
            TransferFailed: it used another congestion control than asked for.
        """
        used = connection["congestion_control"]
        if used != transfer.congestion_control:
            raise TransferFailed(f"the kernel used {used}, not {transfer.congestion_control}")


def _max_time(download: Download) -> list[str]:
    return [] if download.duration_s is None else ["--max-time", str(download.duration_s)]
