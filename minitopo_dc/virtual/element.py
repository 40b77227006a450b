"""The gnb or ue in virtual time: its drivers of legs and bearers, and how settings make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from typing import Any, TypeVar

from minitopo_dc.link import CapacityLeg, RlcLeg, WifiPath
from minitopo_dc.link.propagation import Served
from minitopo_dc.pdcp import Pdu, TransmittingEntity, classify_udp, sn_format
from minitopo_dc.router.drivers import LegDriver, ReceiveDriver, Send, TransmitDriver, Way
from minitopo_dc.router.element import AnyElement
from minitopo_dc.router.ip import too_big
from minitopo_dc.runners.virtual import Address
from minitopo_dc.scenario.element import (
    Bearer,
    ElementLeg,
    ElementSettings,
    ReportLeg,
    TransmitBearer,
)
from minitopo_dc.virtual.network import Flow, Packet, Take, VirtualLoop, WaitingLine

T = TypeVar("T")


class VirtualPdu(Pdu[Packet]):
    """A PDU on its way to the other element; of its number a real one has the end, its SN."""

    __slots__ = ("_arrive", "bearer")

    def __init__(
        self, bearer: int, arrive: Callable[[VirtualPdu], None], sdu: Packet, size: int
    ) -> None:
        """Take a bearer's number, who takes what crosses a leg, a packet and its bytes."""
        super().__init__(sdu, size)
        self.bearer = bearer
        self._arrive = arrive

    @property
    def number(self) -> int:
        """Return the COUNT of this PDU."""
        return self.count

    def accept(self) -> None:
        """Let the other element take the PDU."""
        self._arrive(self)

    @property
    def ecn(self) -> int:
        """Return the packet's code point."""
        return self.sdu.ecn

    def mark(self) -> None:
        """Set Congestion Experienced of the packet on this leg, not on others."""
        self.sdu = copy(self.sdu)
        self.sdu.mark()

    @property
    def flow_id(self) -> bytes:
        """Return the same for all PDUs of a bearer, which a leg cannot tell apart."""
        return b"bearer %d" % self.bearer

    def drop(self) -> None:
        """Forget the PDU: nobody waits for a packet of the other hosts."""


def delayed(loop: VirtualLoop, delay: int, take: Callable[[T], None]) -> Callable[[T], None]:
    """Return a function that calls `take` `delay` ns later, in the same order."""
    if not delay:
        return take
    line = WaitingLine(loop, take)
    return lambda item: line.push(item, loop.now + delay)


class VirtualElement(AnyElement):
    """The legs and bearers of one router host."""

    def __init__(
        self,
        settings: ElementSettings,
        loop: VirtualLoop,
        *,
        leg_of: Mapping[str, int],
        processing_ns: int,
        paths: Mapping[int, WifiPath],
        follows: bool = False,
    ) -> None:
        """Make legs and bearers.

        Args:
            settings: those of the real element.
            loop: gives the time.
            leg_of: the leg that a packet without a bearer takes, by each address of the client.
            processing_ns: how long a bearer's packet waits before it is split, or reordered.
            paths: for each leg with `wifi`, by its number, the path of both directions.
            follows: whether the moments of packets on their way are noted.
        """
        super().__init__(settings)
        self._loop = loop
        self._leg_of = leg_of
        self._processing = processing_ns
        self._paths = paths
        self._follows = follows
        self._report_flows: list[Flow] = []
        self._takers: dict[tuple[str, int], Take] = {}
        self._peer = self
        legs = {leg.leg: self._leg_driver(leg) for leg in settings.legs}
        self._assemble(legs, {number: driver.leg for number, driver in legs.items()}, loop)
        self._incoming: dict[Flow, Callable[[VirtualPdu], None]] = {}
        self._started = loop.now

    def _leg_driver(self, leg: ElementLeg) -> LegDriver:
        core = self._built(leg, self._paths)
        if self._follows:
            assert isinstance(core, CapacityLeg | RlcLeg)
            core.observe(_noting(leg.leg))
        driver = LegDriver(leg.leg, core, self._loop)
        if leg.radio.mtu_icmp:
            driver.mtu = leg.radio.mtu_bytes
            line = WaitingLine[Packet](self._loop, lambda error: error.flow.origin(error))
            driver.answer = partial(self._answer, line, driver.mtu)
        return driver

    def _answer(
        self, line: WaitingLine[Packet], mtu: int | None, packet: Packet | VirtualPdu
    ) -> None:
        """Tell the source of a packet of a leg's MTU, when it has sent what it is sending."""
        sdu = packet if isinstance(packet, Packet) else packet.sdu
        if mtu and not sdu.flow.headers_bytes:  # sockets of endpoints here read no errors
            error = too_big(sdu.data, mtu, of_bearer=sdu is not packet)
            line.push(Packet(sdu.flow, error), self._loop.now)

    def connect(self, peer: VirtualElement) -> None:
        """Connect this element's legs to `peer`, which takes the PDUs that cross them."""
        self._peer = peer
        for number, leg in self._legs.items():
            leg.leg.pair(peer._legs[number].leg)
            if number in self._paths:
                leg.other = peer._legs[number]
        for flow in self._report_flows:
            flow.deliver = peer.taker(flow.destination)

    def start(self) -> None:
        """Make this moment time zero of traces and outages."""
        self._started = self._loop.now
        self._start(self._started)

    def entrance(self, flow: Flow, *, before: int = 0, after: int = 0) -> Take:
        """Return the function that takes a flow's packets from the end host on this side.

        It belongs to the bearer whose filter the flow fits, else to the leg of the client's
        address.

        Args:
            flow: whose packets.
            before: their delay (ns) from their source to this router.
            after: the same from the other router to their destination.
        """
        flow.deliver = delayed(self._loop, after, flow.deliver)
        return delayed(self._loop, before, self._inlet(flow))

    def _inlet(self, flow: Flow) -> Take:
        driver = driver_of(flow, self._settings.transmit, self._transmit)
        if driver is None:
            return self._without_bearer(flow, self._leg_of_client(flow))
        return delayed(self._loop, self._processing, partial(self._split, driver))

    def _leg_of_client(self, flow: Flow) -> Any:
        """Return the driver of the leg of the client's address."""
        addresses = (flow.source[0], flow.destination[0])
        return self._legs[
            next(self._leg_of[address] for address in addresses if address in self._leg_of)
        ]

    def _without_bearer(self, _flow: Flow, leg: Any) -> Take:
        """Return the function that puts a flow's packets on a leg, given its driver."""
        return lambda packet: leg.push(packet, packet.size, self._loop.now)

    def _split(self, driver: TransmitDriver, packet: Packet) -> None:
        """Give a packet to the bearer that carries it."""
        needs_facts = driver.entity.needs_facts
        facts = classify_udp(packet.data, packet.flow.dscp) if needs_facts else None
        driver.push(packet, packet.size, self._loop.now, facts)

    def arrive(self, arrived: VirtualPdu) -> None:
        """Take a PDU that crossed a leg of the other element."""
        flow = arrived.sdu.flow
        if arrived.sdu.moments is not None:
            arrived.sdu.moments.arrived = self._loop.now
        receive = self._incoming.get(flow)
        if receive is None:
            receive = self._incoming[flow] = self._reorder(flow)
        receive(arrived)

    def taker(self, address: Address) -> Take:
        """Return the function that takes what is sent to this host itself: reports and echoes."""
        return self._takers[address]

    def _listen(self, address: IPv4Address | IPv6Address, port: int, take: Send) -> None:
        self._takers[str(address), port] = lambda packet: take(packet.data, self._loop.now)

    def delivered_bytes(self) -> list[int]:
        """Return the IP bytes that each leg delivered."""
        return [driver.leg.statistics().delivered_bytes for driver in self._legs.values()]

    @property
    def desynchronised(self) -> int:
        """Return how many PDUs the receiving bearers took for others (`ReceivingEntity`)."""
        return sum(int(driver.entity.desynchronised) for driver in self._receive)

    def summarise(self) -> None:
        """Write the real element's summary, without what only a real process has."""
        self._save_summary({"start_ns": self._started, **self._counted()})

    def _transmitter(self, bearer: TransmitBearer) -> TransmitDriver:
        header = sn_format(bearer.pdcp.sn_bits).size

        def make(sdu: Packet, size: int) -> VirtualPdu:
            sdu = sdu.separate() if self._follows else sdu
            return VirtualPdu(bearer.bearer, self._peer.arrive, sdu, size)

        def carry(pdu: Any, _leg: LegDriver) -> tuple[VirtualPdu, int]:
            return pdu, pdu.size + header

        legs = [self._legs[number] for number in bearer.legs]
        entity = self._transmitting(bearer, partial(TransmittingEntity[Packet], make_pdu=make))
        return TransmitDriver(bearer.bearer, entity, legs, self._loop, carry)

    def _receiver(self, bearer: Bearer) -> ReceiveDriver:
        return self._receive_driver(bearer, self._loop)

    def _report_way(self, leg: ReportLeg, port: int) -> Way:
        flow = Flow((str(leg.source), port), (str(leg.destination), port))
        self._report_flows.append(flow)
        driver = self._legs[leg.leg]
        take = self._without_bearer(flow, driver)
        return driver.leg, lambda report, _now: take(Packet(flow, report))

    def _reorder(self, flow: Flow) -> Callable[[VirtualPdu], None]:
        driver = driver_of(flow, self._settings.receive, self._receive)
        if driver is None:
            raise LookupError(f"{self._settings.host}: a PDU that no bearer receives")
        # The ends of a bearer have their legs in one order.
        return delayed(self._loop, self._processing, lambda pdu: driver.push(pdu, self._loop.now))


def driver_of(flow: Flow, bearers: Any, drivers: Any) -> Any:
    """Return the driver of the first bearer whose filter a flow fits; None when there is none."""
    pairs = zip(bearers, drivers, strict=True)
    return next((driver for bearer, driver in pairs if flow.belongs_to(bearer.match)), None)


def _noting(leg: int) -> Served:
    """Return what notes the moments of packets on a leg."""

    def note(
        packet: Packet | VirtualPdu, joined: int, begun: int, carried: int, ready: int
    ) -> None:
        moments = (packet if isinstance(packet, Packet) else packet.sdu).moments
        if moments is not None:  # a report has none
            moments.leg, moments.joined = leg, joined
            moments.begun, moments.carried, moments.ready = begun, carried, ready

    return note
