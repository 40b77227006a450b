"""One flow in virtual time: both end hosts, the transport between them, the way there and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from minitopo_dc.run.addresses import SERVER_PORT, client_address, server_address
from minitopo_dc.run.results import flow_directory
from minitopo_dc.run.routers import client_legs
from minitopo_dc.runners.base import accepted, get_runner
from minitopo_dc.runners.virtual import Congestion, VirtualFlow
from minitopo_dc.scenario import ResolvedFlow, Scenario
from minitopo_dc.simulation.core import Core
from minitopo_dc.simulation.element import Element
from minitopo_dc.simulation.host import Host
from minitopo_dc.simulation.packet import Flow
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.paths import PathSample

CLIENT_PORT = 50_000
"""Of the first flow, from the range of ephemeral ports (RFC 6335)."""


class Connection:
    """One flow of a scenario (the scenario itself when it has one only)."""

    def __init__(
        self,
        scenario: Scenario,
        flow: ResolvedFlow,
        index: int,
        *,
        core: Core,
        directory: Path,
        ended: Callable[[], None],
    ) -> None:
        self.workload = flow.workload
        self.has_ended = False
        """Whether it did what it was asked to, or failed; else the time was over."""
        self.has_paths = flow.paths is not None
        """Whether the transport is one of several paths."""
        self.directory = flow_directory(directory, index + 1, alone=not scenario.flows)
        version, port = scenario.ip_version, CLIENT_PORT + index
        server = (server_address(version=version), SERVER_PORT + index)
        clients = {leg: (client_address(leg, version), port) for leg in client_legs(scenario, flow)}
        self.downlinks = [Flow(server, client) for client in clients.values()]
        self.uplinks = [Flow(client, server) for client in clients.values()]
        cpu = round(scenario.virtual.cpu_us_per_packet * 1000)
        own = scenario.virtual.client_cpu_us_per_packet
        client_cpu = cpu if own is None else round(own * 1000)
        self.client_host = core.host(self.uplinks, cpu_ns=client_cpu)
        self.server_host = core.host(self.downlinks, cpu_ns=cpu)
        transport = get_runner(flow.transport).virtual()
        assert transport is not None  # `why_unsupported` has asked
        self._ends = transport(
            VirtualFlow(
                workload=flow.workload,
                congestion_control=flow.congestion_control,
                options=flow.options,
                recovery=scenario.virtual.recovery,
                server_address=server,
                client_addresses=clients,
                client_host=self.client_host,
                server_host=self.server_host,
                directory=self.directory,
                ended=partial(self._end, ended),
                begin=core.loop.now,
                seed=scenario.seed + (index << 32),
                paths=flow.paths,
            )
        )
        self.client_host.endpoint = self._ends.client
        self.server_host.endpoint = self._ends.server

    def attach(self, gnb: Element, ue: Element) -> None:
        """The routers next to the hosts."""
        for flow in self.downlinks:
            flow.enter, flow.deliver = gnb.entrance(flow), self.client_host.receive
        for flow in self.uplinks:
            flow.enter, flow.deliver = ue.entrance(flow), self.server_host.receive

    def hosts(self) -> list[tuple[Host, Sequence[Flow]]]:
        """Both end hosts, each with the flows that lead to it."""
        return [(self.client_host, self.downlinks), (self.server_host, self.uplinks)]

    def _end(self, told: Callable[[], None]) -> None:
        self.has_ended = True
        told()

    def start(self) -> None:
        """Begin to connect."""
        self.client_host.wake(self._ends.start())

    def measure(self) -> Measurement:
        """What was measured; TransferFailed when it is not what was asked for."""
        return accepted(self.workload, self._ends.measure())

    def congestion(self) -> Congestion:
        """The server's congestion control now."""
        return self._ends.congestion()

    def path_samples(self) -> Sequence[PathSample]:
        """The transport's several paths, if it has any."""
        return self._ends.path_samples()

    def save_logs(self) -> None:
        """Write what the endpoints logged."""
        self._ends.save_logs()
