"""One flow in virtual time: its two end hosts, their transport, and the routes of its packets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from minitopo_dc.results.run_result import flow_directory
from minitopo_dc.runners.base import FlowFacts, VirtualFlow, accepted, get_runner
from minitopo_dc.runners.virtual import (
    Address,
    GuestFlow,
    VirtualConnection,
)
from minitopo_dc.runs.element_settings import client_legs
from minitopo_dc.scenario import ResolvedFlow, Scenario, VirtualSettings
from minitopo_dc.scenario.addresses import (
    SERVER_PORT,
    client_address,
    proxy_address,
    server_address,
)
from minitopo_dc.units import NS_PER_MS
from minitopo_dc.virtual.core import Core, join
from minitopo_dc.virtual.element import VirtualElement, delayed
from minitopo_dc.virtual.host import EndHost, GuestHost
from minitopo_dc.virtual.network import Flow, Take
from minitopo_dc.workloads import Measurement, Realtime

CLIENT_PORT = 50_000
"""The client's port of the first flow, from the range of ephemeral ports (RFC 6335)."""
KEY_FRAME_PORT = 60_000
"""The port of a connection of key frames, likewise."""


class AnyConnection(ABC):
    """One flow of a scenario, which is the scenario itself when it has one flow only."""

    in_guest: ClassVar[bool]
    """Whether its hosts are in a guest: they send IP packets, and not the data of datagrams, and
    end a download for a time themselves."""
    ends: VirtualConnection | GuestFlow
    client_host: EndHost | GuestHost

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
        """Whether the client did what it was asked to, or failed; if not, the time was over."""
        runner = get_runner(flow.transport)
        foreign = runner.foreign
        self.has_paths = flow.has_several_paths and not foreign
        """Whether the transport is one with several paths, and tells of them."""
        self.directory = flow_directory(directory, index + 1, alone=flow.number is None)
        self.loop = core.loop
        self._told = ended
        version, port = scenario.ip_version, CLIENT_PORT + index
        server = (server_address(version=version), SERVER_PORT + index)
        legs = range(1, len(scenario.legs) + 1)
        of_leg = {leg: (client_address(leg, version), port) for leg in legs}
        clients = {leg: of_leg[leg] for leg in client_legs(flow, len(scenario.legs))}
        # Programs of the user's may use those of the other legs too.
        reached = list({**clients, **(of_leg if foreign else {})}.values())
        self._protocol = runner.socket_table
        proxy = (proxy_address(version), server[1]) if flow.proxied else None
        far = proxy or server
        self.downlinks = [self._flow(far, client) for client in reached]
        self.uplinks = [self._flow(client, far) for client in reached]
        marked = flow.workload.key_frame_dscp if isinstance(flow.workload, Realtime) else None
        keys = None if marked is None else (next(iter(clients.values()))[0], KEY_FRAME_PORT + index)
        if marked is not None and keys is not None:
            self.downlinks.append(self._flow(server, keys, marked))
            self.uplinks.append(self._flow(keys, server, marked))
        self.facts = FlowFacts(
            workload=flow.workload,
            congestion_control=flow.congestion_control,
            options=flow.options,
            server_address=server[0],
            port=server[1],
            client_addresses=tuple(address for address, _ in clients.values()),
            client_port=port,
            proxy_address=proxy and proxy[0],
            wire_ns=round(scenario.server_delay_ms * NS_PER_MS),
            key_frame_address=keys,
            leg_addresses=tuple(address for address, _ in of_leg.values()),
            directory=self.directory,
            begin_ns=core.loop.now,
            seed=scenario.seed + (index << 32),
            paths=flow.paths,
            plugins=tuple(scenario.plugins),
            sysctl=scenario.virtual.sysctl,
            earlier_downloads=scenario.virtual.earlier_downloads,
        )
        self._make_hosts(scenario.virtual, flow, core)

    @abstractmethod
    def _make_hosts(self, virtual: VirtualSettings, flow: ResolvedFlow, core: Core) -> None:
        """Make both end hosts, and `ends`, the transport on them."""

    def _flow(self, source: Address, destination: Address, dscp: int = 0) -> Flow:
        return Flow(source, destination, self._protocol, dscp, whole=self.in_guest)

    def attach(self, gnb: VirtualElement, ue: VirtualElement) -> None:
        """Connect both hosts to the routers next to them, the server by a wire with a delay.

        A proxy is on gnb; the wire is behind it.
        """
        wire_ns = self.facts.wire_ns if self.facts.proxy_address is None else 0
        client, server = self.takers("client"), self.takers("server")
        for flow, deliver, origin in zip(self.downlinks, client, server, strict=True):
            flow.deliver, flow.origin = deliver, delayed(self.loop, wire_ns, origin)
            flow.enter = gnb.entrance(flow, before=wire_ns)
        for flow, deliver, origin in zip(self.uplinks, server, client, strict=True):
            flow.deliver, flow.origin = deliver, origin
            flow.enter = ue.entrance(flow, after=wire_ns)

    @abstractmethod
    def takers(self, host: Literal["client", "server"]) -> Sequence[Take]:
        """Return for each flow to a host the function that takes its packets there."""

    @abstractmethod
    def start(self) -> None:
        """Begin to connect the client."""

    def end(self) -> None:
        """Mark the client as ended, and tell the testbed."""
        self.has_ended = True
        self._told()

    def measure(self) -> Measurement:
        """Return what was measured; raise TransferFailed when it is not what was asked for."""
        return accepted(self.workload, self.ends.measure())

    @abstractmethod
    def close(self) -> None:
        """Release the flow's resources at the end of the run, whether it failed or not."""


def cpu_ns(virtual: VirtualSettings) -> tuple[int, int]:
    """Return how long (ns) a packet occupies the client's CPU, and the server's."""
    own = virtual.client_cpu_us_per_packet
    each = virtual.cpu_us_per_packet
    return round((each if own is None else own) * 1000), round(each * 1000)


class SansIoConnection(AnyConnection):
    """A flow whose end hosts are sans-IO endpoints in this process."""

    in_guest = False
    ends: VirtualConnection
    client_host: EndHost

    def _make_hosts(self, virtual: VirtualSettings, flow: ResolvedFlow, core: Core) -> None:
        client_cpu, server_cpu = cpu_ns(virtual)
        batch = virtual.client_datagrams_per_read
        self.client_host = core.host(self.uplinks, cpu_ns=client_cpu, batch=batch)
        self.server_host = core.host(self.downlinks, cpu_ns=server_cpu)
        if virtual.udp_memory == "linux-4.15":
            self.client_host.free_quarters_only()
            self.server_host.free_quarters_only()
        transport = get_runner(flow.transport).virtual()
        assert transport is not None  # `run_obstacle` has asked
        self.ends = transport(
            VirtualFlow(
                **vars(self.facts),
                client_host=self.client_host,
                server_host=self.server_host,
                ended=self.end,
            )
        )
        self.client_host.endpoint = self.ends.client
        self.server_host.endpoint = self.ends.server

    def takers(self, host: Literal["client", "server"]) -> Sequence[Take]:
        """Return the host's receiving function, once for each flow."""
        taker = self.client_host if host == "client" else self.server_host
        return [taker.receive] * len(self.uplinks)

    def attach(self, gnb: VirtualElement, ue: VirtualElement) -> None:
        """Connect both hosts to the routers, and have C carry their datagrams if it can."""
        super().attach(gnb, ue)
        join((self.client_host, self.downlinks), (self.server_host, self.uplinks))

    def start(self) -> None:
        """Begin to connect the client."""
        self.client_host.wake(self.ends.start())

    def close(self) -> None:
        """Write what the endpoints logged."""
        self.ends.save_logs()
