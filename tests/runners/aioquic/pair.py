"""Both ends of `quic` in virtual time, with a delay and losses between them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from minitopo_dc.runners.aioquic.connection import seconds
from minitopo_dc.runners.aioquic.runner import QuicRunner
from minitopo_dc.runners.base import VirtualFlow
from minitopo_dc.runners.sans_io.virtual import StackPair
from minitopo_dc.virtual.host import EndHost
from minitopo_dc.virtual.network import START_NS, Flow, LoopTimer, Packet, VirtualLoop
from minitopo_dc.workloads import Workload

SERVER, CLIENT = ("192.0.2.1", 4433), ("192.0.2.2", 50_000)
DELAY_NS = 10_000_000
START_S = seconds(START_NS)

Lost = Callable[[bool, float], bool]


def none_lost(_to_server: bool, _at_s: float) -> bool:
    return False


class Pair:
    """Both ends, 10 ms apart; `lost` says of each datagram whether it is, by direction and time."""

    def __init__(self, workload: Workload, lost: Lost = none_lost) -> None:
        self.loop = VirtualLoop()
        self._lost = lost
        there, back = Flow(CLIENT, SERVER), Flow(SERVER, CLIENT)
        client_host, server_host = (EndHost(self.loop, [flow], cpu_ns=0) for flow in (there, back))
        there.deliver, back.deliver = server_host.receive, client_host.receive
        there.enter = back.enter = self._forward
        self._ends = StackPair(
            QuicRunner(),
            VirtualFlow(
                workload=workload,
                congestion_control="reno",
                options={},
                server_address=SERVER[0],
                port=SERVER[1],
                client_addresses=(CLIENT[0],),
                client_port=CLIENT[1],
                leg_addresses=(CLIENT[0],),
                directory=Path(),
                begin_ns=START_NS,
                seed=1,
                client_host=client_host,
                server_host=server_host,
                ended=self.loop.stop,
            ),
        )
        self.client, self.server = self._ends.client.session, self._ends.server.session
        client_host.endpoint, server_host.endpoint = self._ends.client, self._ends.server
        self._client_host = client_host

    def run(self, limit_s: float = 1000.0) -> float:
        """Run to the connection's end at the client; how long it took in s."""
        self._client_host.wake(self._ends.start())
        self.loop.run(START_NS + round(limit_s * 1e9))
        assert self.client.ended, f"the client has not ended in {limit_s} s"
        return seconds(self.loop.now) - START_S

    def _forward(self, packet: Packet) -> None:
        to_server = packet.flow.destination == SERVER
        if not self._lost(to_server, seconds(self.loop.now) - START_S):
            LoopTimer(self.loop, lambda: packet.flow.deliver(packet)).set(self.loop.now + DELAY_NS)
