"""HTTP/2 over TLS and TCP: hypercorn serves, curl downloads (the papers' TCP set-up)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from minitopo_dc.fields import IpVersion
from minitopo_dc.fields.ranges import within
from minitopo_dc.linux_guest import obstacle as guest_obstacle
from minitopo_dc.runners.addresses import SERVER_NAME, bracketed
from minitopo_dc.runners.base import (
    ETHERNET_BYTES,
    FlowFacts,
    GuestTransport,
    Options,
    Runner,
    Transfer,
    TransferFailed,
    read_report,
    runner,
)
from minitopo_dc.runners.guest_programs import ProgramsFlow
from minitopo_dc.runners.processes.kernel_socket import TcpProtocol, congestion_control_obstacle
from minitopo_dc.runners.processes.process import last_json
from minitopo_dc.runners.programs import Tool, not_installed
from minitopo_dc.runners.tcp.info import FILE as TCP_INFO
from minitopo_dc.runners.tcp.virtual import TcpFlow, TlsVersion, is_of_agent
from minitopo_dc.runners.virtual import GuestFlow
from minitopo_dc.workloads import Download, Measurement, Realtime, Workload
from minitopo_dc.workloads.exchange import content_sha256, file_sha256

Mss = Annotated[int, *within(536, 1460, "bytes")]
"""From what any host takes (RFC 9293, section 3.7.1) to what the legs let through over IPv4."""


class TlsOptions(Options):
    """Options of HTTP/2 over TLS.

    Attributes:
        tls: the version of the handshake: 1.3 takes one round trip behind TCP's (RFC 8446), 1.2,
            which the experiments of "Multipath QUIC: Design and Evaluation" had, two (RFC 5246).
    """

    tls: TlsVersion = "1.3"

    def packet_bytes(self, ip_version: IpVersion) -> int:
        """Return the size in bytes of a full packet: what Ethernet takes."""
        return ETHERNET_BYTES


class TcpOptions(TlsOptions):
    """Options of HTTP/2 over TLS, and of what is recorded.

    Attributes:
        tcp_info: whether the server writes what the kernel says of its connections
            (`runners.tcp_info`).
        mss_bytes: the largest segment that the server sends, with TCP's options (RFC 9293, section
            3.7.1; with timestamps 12 bytes fewer of content); None: as the link allows, 1,460.
    """

    tcp_info: bool = False
    mss_bytes: Mss | None = None

    def packet_bytes(self, ip_version: IpVersion) -> int:
        """Return the size in bytes of a full packet, which `mss_bytes` may make smaller."""
        headers = 40 if ip_version == 4 else 60
        return min(ETHERNET_BYTES, (self.mss_bytes or ETHERNET_BYTES) + headers)


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


DCTCP = "dctcp"
"""RFC 8257, of the kernel; `runs.check` says what both ends need."""


class KernelTcpRunner(Runner):
    """A runner whose sockets are the kernel's TCP, on the virtual clock that of a guest."""

    multipath: ClassVar[bool] = False
    socket_table: ClassVar[Literal["tcp", "udp"]] = "tcp"
    congestion_controls: ClassVar[tuple[str, ...]] = ("reno", "cubic", "bbr", DCTCP)
    set_up: ClassVar[bool] = True

    def run_obstacle(self, congestion_control: str) -> str | None:
        """Return also why the kernel lacks the algorithm or does not let this user choose it."""
        return super().run_obstacle(congestion_control) or congestion_control_obstacle(
            congestion_control
        )

    def virtual_obstacle(self, congestion_control: str, workload: Workload) -> str | None:
        """Return why it cannot run in virtual time, where the guest has all its algorithms."""
        return self.control_obstacle(congestion_control) or guest_obstacle()

    def guest(self) -> GuestTransport:
        """Return the same programs, or their traffic, in a guest kernel, whose clock is theirs."""
        return self._in_guest

    @abstractmethod
    def _in_guest(self, facts: FlowFacts) -> GuestFlow:
        """Return a flow in a guest."""


@runner("tcp")
class TcpRunner(KernelTcpRunner):
    """TCP on one path, with any congestion control of the kernel's."""

    stack: ClassVar[str] = "Linux"
    carries_ends: ClassVar[bool] = True
    takes_duration: ClassVar[bool] = True
    start_fields: ClassVar[tuple[str, ...]] = ("attempt_delay_ms",)
    tools: ClassVar[tuple[Tool, ...]] = (Tool("curl", "--version", "curl"),)
    packages: ClassVar[tuple[str, ...]] = ("h2", "hypercorn")
    options_type: ClassVar[type[TlsOptions]] = TcpOptions
    essential: ClassVar[bool] = True
    protocol: ClassVar[TcpProtocol] = "tcp"
    server_exit_codes: ClassVar[frozenset[int]] = frozenset({0})

    def obstacle(self) -> str | None:
        """Return what this machine lacks, None if it has the client, curl."""
        return not_installed(self.tools)

    def _in_guest(self, facts: FlowFacts) -> GuestFlow:
        if is_of_agent(facts.workload):
            return TcpFlow(self, facts)
        return ProgramsFlow(self, facts, ready_port=facts.port)

    def workload_obstacle(self, workload: Workload) -> str | None:
        """Return also an error for frames of a call that are not on one stream."""
        if isinstance(workload, Realtime) and workload.delivery != "stream":
            return f"delivery {workload.delivery}: transport {self.name} allows stream"
        return super().workload_obstacle(workload)

    def server_command(self, transfer: Transfer) -> list[str]:
        """Return the command of hypercorn, started by `minitopo_dc.runners.tcp.server`."""
        return transfer.command("minitopo_dc.runners.tcp.server", "server", self.name)

    def client_command(self, transfer: Transfer) -> list[str]:
        """Return the client's command: curl's, or that of a client of this project."""
        if self._has_curl(transfer):
            return self.curl_command(transfer)
        return transfer.command("minitopo_dc.runners.tcp.client", "client", self.name)

    def client_waits(self, transfer: Transfer) -> bool:
        """Return whether the client is a Python program of this project, and not curl."""
        return not self._has_curl(transfer)

    def _has_curl(self, transfer: Transfer) -> bool:
        """Return whether the client is curl, which downloads with less work than Python.

        It cannot connect from several addresses.
        """
        return isinstance(transfer.workload, Download) and not transfer.path_plan.attempts

    def curl_command(self, transfer: Transfer) -> list[str]:
        """Return curl's command line, which ignores a user's .curlrc and proxies."""
        authority, tls = f"{SERVER_NAME}:{transfer.port}", self.tls(transfer)
        duration_s = transfer.download.duration_s
        return [
            *("curl", "--disable", "--noproxy", "*", "--silent", "--show-error", "--fail"),
            *("--http2", f"--tlsv{tls}", "--tls-max", tls),
            *("--cacert", str(transfer.certificate)),
            *("--interface", transfer.first_address),
            *("--resolve", f"{authority}:{bracketed(transfer.peer_address)}"),
            *("--output", str(transfer.directory / BODY), "--write-out", CURL_REPORT),
            *(() if duration_s is None else ("--max-time", str(duration_s))),
            f"https://{authority}/bytes/{transfer.download.requested_bytes}",
        ]

    @contextmanager
    def files(self, transfer: Transfer) -> Iterator[None]:
        """Remove the downloaded file at the end."""
        try:
            yield
        finally:
            (transfer.directory / BODY).unlink(missing_ok=True)

    def client_exit_codes(self, transfer: Transfer) -> frozenset[int]:
        """Return 0 and, with a duration, curl's exit code at `--max-time`."""
        timed = isinstance(transfer.workload, Download) and transfer.workload.duration_s
        return frozenset({0, CURL_TIMED_OUT} if timed else {0})

    def read(self, transfer: Transfer) -> Measurement:
        """Return the reports of the client and of the server's connection, once checked."""
        client = last_json(transfer.client_output, "client")
        if not self._has_curl(transfer):
            return self.measured(transfer, client, self.connection(transfer))
        client["status"] = int(client["status"])
        if (
            transfer.download.duration_s is not None
            and not client["status"]
            and not client["bytes"]
        ):
            return self.measured(transfer, client, None)  # stopped before an answer came
        if (client["status"], client["http_version"]) != (200, "2"):
            answer = f"status {client['status']} over HTTP {client['http_version']}"
            raise TransferFailed(f"client got {answer}, not 200 over HTTP 2")
        connection = self.connection(transfer)
        body = transfer.directory / BODY  # made with the first byte
        if client["bytes"] and file_sha256(body) != content_sha256(client["bytes"]):
            raise TransferFailed(f"client received {client['bytes']} bytes, not those sent")
        return self.measured(transfer, client, connection)

    def connection(self, transfer: Transfer) -> dict[str, Any]:
        """Return what the kernel said of the connection's end that the client knows."""
        return last_json(transfer.server_output, "server")

    def measured(
        self, transfer: Transfer, client: dict[str, Any], connection: dict[str, Any] | None
    ) -> Measurement:
        """Return the outcome from both ends' reports; all that arrived was as sent.

        Args:
            transfer: what was asked for.
            client: when it had what.
            connection: what the kernel said of the server's end; None: no request came by it.

        Raises:
            TransferFailed: the connection is not the one that was asked for, or has failed.
        """
        if "error" in client:
            outcome = read_report(client, transfer.workload)
        else:  # curl's, or the agent's in a guest
            outcome = Measurement(client["bytes"], client["completion_s"], client)
        if connection is not None:
            self.check_connection(transfer, connection)
        return replace(outcome, details={**outcome.details, **(connection or {})})

    def _options(self, transfer: Transfer) -> TlsOptions:
        return self.options_type.check(transfer.options, f"runner {self.name}")

    def tls(self, transfer: Transfer) -> TlsVersion:
        """Return the version of the handshake that was asked for."""
        return self._options(transfer).tls

    def tcp_info(self, transfer: Transfer) -> Path | None:
        """Return where `tcp-info.csv` goes, None for nowhere."""
        options = self._options(transfer)
        recorded = isinstance(options, TcpOptions) and options.tcp_info
        return transfer.directory / TCP_INFO if recorded else None

    def mss_bytes(self, transfer: Transfer) -> int | None:
        """Return the largest segment that the server may send; None: as the link allows."""
        options = self._options(transfer)
        return options.mss_bytes if isinstance(options, TcpOptions) else None

    def check_connection(self, transfer: Transfer, connection: dict[str, Any]) -> None:
        """Check what the kernel said of the server's end of the connection.

        Raises:
            TransferFailed: it used another congestion control than asked for.
        """
        used = connection["congestion_control"]
        if used != transfer.congestion_control:
            raise TransferFailed(f"the kernel used {used}, not {transfer.congestion_control}")
