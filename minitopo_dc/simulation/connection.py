"""One flow in virtual time: both end hosts, the transport between them, the way there and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from minitopo_dc.run.addresses import SERVER_PORT, client_address, server_address
from minitopo_dc.run.results import flow_directory
from minitopo_dc.run.routers import client_legs
from minitopo_dc.runners.base import accepted, get_runner
from minitopo_dc.runners.virtual import (
    Congestion,
    FlowFacts,
    GuestFlow,
    VirtualConnection,
    VirtualFlow,
)
from minitopo_dc.scenario import ResolvedFlow, Scenario
from minitopo_dc.simulation.core import Core
from minitopo_dc.simulation.element import Element
from minitopo_dc.simulation.host import Host
from minitopo_dc.simulation.packet import Flow, Take
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.paths import PathSample

CLIENT_PORT = 50_000
"""Of the first flow, from the range of ephemeral ports (RFC 6335)."""


class AnyConnection(ABC):
    """One flow of a scenario (the scenario itself when it has one only)."""

    protocol: ClassVar[Literal["udp", "tcp"]]
    is_cut_off: ClassVar[bool]
    """Whether a download for a time has no end of its own."""
    ends: VirtualConnection | GuestFlow

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
        self.loop = core.loop
        self._told = ended
        version, port = scenario.ip_version, CLIENT_PORT + index
        server = (server_address(version=version), SERVER_PORT + index)
        clients = {leg: (client_address(leg, version), port) for leg in client_legs(scenario, flow)}
        self.downlinks = [Flow(server, client, self.protocol) for client in clients.values()]
        self.uplinks = [Flow(client, server, self.protocol) for client in clients.values()]
        self.facts = FlowFacts(
            workload=flow.workload,
            congestion_control=flow.congestion_control,
            options=flow.options,
            server_address=server,
            client_addresses=clients,
            directory=self.directory,
            begin=core.loop.now,
            seed=scenario.seed + (index << 32),
            paths=flow.paths,
        )

    @property
    @abstractmethod
    def received_bytes(self) -> int:
        """IP bytes that reached the client."""

    def attach(self, gnb: Element, ue: Element) -> None:
        """The routers next to the hosts."""
        for flow, deliver in zip(self.downlinks, self.takers("client"), strict=True):
            flow.enter, flow.deliver = gnb.entrance(flow), deliver
        for flow, deliver in zip(self.uplinks, self.takers("server"), strict=True):
            flow.enter, flow.deliver = ue.entrance(flow), deliver

    @abstractmethod
    def takers(self, host: Literal["client", "server"]) -> Sequence[Take]:
        """What takes the packets of each flow to a host."""

    def hosts(self) -> list[tuple[Host, Sequence[Flow]]]:
        """End hosts that are parts of the core, each with the flows that lead to it."""
        return []

    @abstractmethod
    def start(self) -> None:
        """Begin to connect."""

    def end(self) -> None:
        """The client has ended."""
        self.has_ended = True
        self._told()

    def measure(self) -> Measurement:
        """What was measured; TransferFailed when it is not what was asked for."""
        return accepted(self.workload, self.ends.measure())

    def congestion(self) -> Congestion:
        """The server's congestion control now."""
        return self.ends.congestion()

    def path_samples(self) -> Sequence[PathSample]:
        """The transport's several paths, if it has any."""
        return self.ends.path_samples()

    @abstractmethod
    def close(self) -> None:
        """The run is over, whatever became of it."""


def cpu_ns(scenario: Scenario) -> tuple[int, int]:
    """What a packet costs the client's CPU, and the server's."""
    virtual = scenario.virtual
    own = virtual.client_cpu_us_per_packet
    each = virtual.cpu_us_per_packet
    return round((each if own is None else own) * 1000), round(each * 1000)


class Connection(AnyConnection):
    """A flow whose ends are sans-IO."""

    protocol = "udp"
    is_cut_off = True
    ends: VirtualConnection

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
        super().__init__(scenario, flow, index, core=core, directory=directory, ended=ended)
        client_cpu, server_cpu = cpu_ns(scenario)
        self.client_host = core.host(self.uplinks, cpu_ns=client_cpu)
        self.server_host = core.host(self.downlinks, cpu_ns=server_cpu)
        transport = get_runner(flow.transport).virtual()
        assert transport is not None  # `why_unsupported` has asked
        self.ends = transport(
            VirtualFlow(
                **vars(self.facts),
                recovery=scenario.virtual.recovery,
                client_host=self.client_host,
                server_host=self.server_host,
                ended=self.end,
            )
        )
        self.client_host.endpoint = self.ends.client
        self.server_host.endpoint = self.ends.server

    @property
    def received_bytes(self) -> int:
        """IP bytes that reached the client."""
        return self.client_host.received_bytes

    def takers(self, host: Literal["client", "server"]) -> Sequence[Take]:
        """The host's sockets."""
        taker = self.client_host if host == "client" else self.server_host
        return [taker.receive] * len(self.uplinks)

    def hosts(self) -> list[tuple[Host, Sequence[Flow]]]:
        """Both end hosts."""
        return [(self.client_host, self.downlinks), (self.server_host, self.uplinks)]

    def start(self) -> None:
        """Begin to connect."""
        self.client_host.wake(self.ends.start())

    def close(self) -> None:
        """Write what the endpoints logged."""
        self.ends.save_logs()
