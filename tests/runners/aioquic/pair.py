"""A client and the server's session in virtual time, with a delay and losses between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration

from minitopo_dc.runners.addresses import SERVER_NAME
from minitopo_dc.runners.aioquic.client import AioquicClient, make_client
from minitopo_dc.runners.aioquic.connection import OrderedConnection
from minitopo_dc.runners.aioquic.server import Session, initial_destination
from minitopo_dc.runners.aioquic.virtual import SecondsHost, moment_of, seconds
from minitopo_dc.runners.certificate import identify, trust
from minitopo_dc.runners.virtual import Received
from minitopo_dc.virtual.host import Host
from minitopo_dc.virtual.loop import START_NS, Loop, Timer
from minitopo_dc.virtual.packet import Flow, Packet
from minitopo_dc.workloads import Workload

SERVER, CLIENT = ("192.0.2.1", 4433), ("192.0.2.2", 50_000)
DELAY_NS = 10_000_000
START_S = seconds(START_NS)

Lost = Callable[[bool, float], bool]


def none_lost(_to_server: bool, _at_s: float) -> bool:
    return False


@dataclass
class _ClientEnd:
    client: AioquicClient
    loop: Loop

    def step(self, now: int, datagrams: Sequence[Received]) -> int | None:
        timer = self.client.step(seconds(now), [(data, source) for data, source, *_ in datagrams])
        if self.client.ended:
            self.loop.stop()
        return moment_of(timer)


@dataclass
class _ServerEnd:
    host: SecondsHost
    workload: Workload
    session: Session | None = None
    steps: list[float] = field(default_factory=list)

    def step(self, now: int, datagrams: Sequence[Received]) -> int | None:
        for data, address, *_ in datagrams:
            if self.session is None:
                self.session = _accept(data, self.workload)
            self.session.connection.receive_datagram(data, address, seconds(now))
        if self.session is None or self.session.ended:
            return None
        self.session.drive(seconds(now), self.host.transmit)
        return moment_of(self.session.timer())


def _accept(data: bytes, workload: Workload) -> Session:
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    identify(configuration)
    destination = initial_destination(data)
    assert destination is not None
    connection = OrderedConnection(
        configuration=configuration, original_destination_connection_id=destination
    )
    return Session(connection, workload)


class Pair:
    """Both ends, 10 ms apart; `lost` says of each datagram whether it is, by direction and time."""

    def __init__(self, workload: Workload, lost: Lost = none_lost) -> None:
        self.loop = Loop()
        self._lost = lost
        there, back = Flow(CLIENT, SERVER), Flow(SERVER, CLIENT)
        client_host, server_host = (Host(self.loop, [flow], cpu_ns=0) for flow in (there, back))
        there.deliver, back.deliver = server_host.receive, client_host.receive
        there.enter = back.enter = self._forward
        connection = OrderedConnection(configuration=_client_configuration())
        here = SecondsHost(client_host)
        self.client = make_client(workload, connection, here.transmit, here.clock)
        self.server = server_host.endpoint = _ServerEnd(SecondsHost(server_host), workload)
        client_host.endpoint = _ClientEnd(self.client, self.loop)
        self._client_host = client_host

    def run(self, limit_s: float = 1000.0) -> float:
        """Run to the connection's end at the client; how long it took in s."""
        self._client_host.wake(moment_of(self.client.start(SERVER)))
        self.loop.run(START_NS + round(limit_s * 1e9))
        assert self.client.ended, f"the client has not ended in {limit_s} s"
        return seconds(self.loop.now) - START_S

    def _forward(self, packet: Packet) -> None:
        to_server = packet.flow.destination == SERVER
        if not self._lost(to_server, seconds(self.loop.now) - START_S):
            Timer(self.loop, lambda: packet.flow.deliver(packet)).set(self.loop.now + DELAY_NS)


def _client_configuration() -> QuicConfiguration:
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=H3_ALPN, server_name=SERVER_NAME
    )
    trust(configuration)
    return configuration
