"""One download in virtual time: a server, a client, and the two flows between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from minitopo_dc.addresses import SERVER_PORT, client_address, server_address
from minitopo_dc.plan import client_legs
from minitopo_dc.results import flow_directory
from minitopo_dc.scenario import ResolvedFlow, Scenario
from minitopo_dc.simulation.element import Element
from minitopo_dc.simulation.endpoints import Client, Server, Wanted
from minitopo_dc.simulation.host import Host
from minitopo_dc.simulation.loop import Loop
from minitopo_dc.simulation.packet import Flow
from minitopo_dc.simulation.qlog import VirtualLogger
from runners.content import content_sha256
from runners.options import parse_options
from runners.quic import QuicOptions

CLIENT_PORT = 50_000
"""Of the first flow, from the range of ephemeral ports (RFC 6335)."""
LINUX_RECEIVE_BUFFER = 212_992
"""Bytes, net.core.rmem_default of Linux (and of the papers' 'QUIC default', thesis table 4.4)."""


class Connection:
    """One flow of a scenario (the scenario itself when it has one only)."""

    def __init__(
        self,
        scenario: Scenario,
        flow: ResolvedFlow,
        index: int,
        *,
        loop: Loop,
        directory: Path,
        ended: Callable[[], None],
    ) -> None:
        options = parse_options(QuicOptions, flow.options, "quic")
        self._size, self._duration = scenario.requested_bytes, scenario.duration_s
        version = scenario.ip_version
        server = (server_address(version=version), SERVER_PORT + index)
        leg = client_legs(scenario, flow)[0]
        client = (client_address(leg, version), CLIENT_PORT + index)
        self.downlink, self.uplink = Flow(server, client), Flow(client, server)
        self.client_host, self.server_host = self._hosts(scenario, options, loop)
        logs = flow_directory(directory, index + 1, alone=not scenario.flows) / "qlog"
        self._logs = [
            VirtualLogger(logs / role / "1.qlog", self.client_host.clock)
            for role in ("client", "server")
            if options.qlog
        ]
        self._run_endpoints(scenario, flow, options, ended)

    def attach(self, gnb: Element, ue: Element) -> None:
        """The routers next to the hosts."""
        self.server_host.forward, self.client_host.forward = gnb.send, ue.send

    def start(self) -> None:
        """Begin to connect."""
        self.client_host.wake(self.client.start(self.downlink.source))

    def failure(self) -> str | None:
        """Why the download is not what was asked for; None when it is."""
        outcome = self.client.download.outcome
        if outcome.error is not None:
            return f"client: {outcome.error}"
        if outcome.status not in (0, 200):
            return f"client got status {outcome.status}, not 200"
        if not outcome.bytes_received:
            return "client received nothing"
        if outcome.completion_s is None:
            missing = f"client received {outcome.bytes_received} of {self._size} bytes"
            return missing if self._duration is None else None
        if outcome.sha256 != content_sha256(self._size):
            return f"client received {outcome.bytes_received} bytes, not those sent"
        return None

    def report(self) -> dict[str, Any]:
        """The client's report, as runner quic's, and what the server's recovery did."""
        outcome = self.client.download.outcome
        outcome.socket_drops = self.client_host.buffer.drops
        outcome.receive_buffer_bytes = self.client_host.buffer.limit
        return asdict(outcome) | {"server_socket_drops": self.server_host.buffer.drops}

    def congestion(self) -> tuple[int | str, int | str, int | str, str]:
        """Congestion window, bytes in flight, slow start threshold, smoothed round-trip time.

        Read from aioquic's own fields: it shows them in qlog only.
        """
        if self.server.session is None:
            return ("", "", "", "")
        recovery = self.server.session.connection._loss
        threshold = recovery._cc.ssthresh
        return (
            recovery.congestion_window,
            recovery.bytes_in_flight,
            "" if threshold is None else threshold,
            f"{recovery._rtt_smoothed * 1000:.3f}",
        )

    def save_logs(self) -> None:
        """Write the qlog files."""
        for log in self._logs:
            log.save()

    def _hosts(self, scenario: Scenario, options: QuicOptions, loop: Loop) -> tuple[Host, Host]:
        cpu = round(scenario.virtual.cpu_us_per_packet * 1000)
        buffer = options.receive_buffer_bytes or LINUX_RECEIVE_BUFFER
        client = Host(loop, self.uplink, buffer_bytes=buffer, cpu_ns=cpu)
        # The server is sent acknowledgements only; runner quic leaves its buffer as it is, too.
        server = Host(loop, self.downlink, buffer_bytes=LINUX_RECEIVE_BUFFER, cpu_ns=cpu)
        self.downlink.deliver, self.uplink.deliver = client.receive, server.receive
        return client, server

    def _run_endpoints(
        self,
        scenario: Scenario,
        flow: ResolvedFlow,
        options: QuicOptions,
        ended: Callable[[], None],
    ) -> None:
        client_log, server_log = self._logs or (None, None)
        path, recovery = f"/bytes/{self._size}", scenario.virtual.recovery
        wanted = Wanted(flow.congestion_control, recovery, options)
        self.client = Client(wanted, self.client_host, path=path, ended=ended, qlog=client_log)
        self.server = Server(wanted, self.server_host, qlog=server_log)
        self.client_host.endpoint, self.server_host.endpoint = self.client, self.server
