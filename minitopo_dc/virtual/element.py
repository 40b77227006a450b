"""The gnb or ue in virtual time: its drivers of legs and bearers, and how settings make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from ipaddress import IPv4Address, IPv6Address
from typing import Any, ClassVar, TypeVar

from minitopo_dc.link import WifiPath
from minitopo_dc.pdcp import (
    Pdu,
    ReceivingEntity,
    ReportMaker,
    SnFormat,
    TransmittingEntity,
    classify_udp,
    sn_format,
)
from minitopo_dc.router import drivers
from minitopo_dc.router.drivers import HeldPacket, PduOnLeg, Way
from minitopo_dc.router.echoes import Send
from minitopo_dc.router.element import AnyElement
from minitopo_dc.router.ip import too_big
from minitopo_dc.router.recorder import write_summary
from minitopo_dc.runners.virtual import Address
from minitopo_dc.scenario.element import (
    ElementLeg,
    ElementSettings,
    ReceiveBearer,
    ReportLeg,
    TransmitBearer,
)
from minitopo_dc.virtual.loop import AnyLoop, WaitingLine
from minitopo_dc.virtual.packet import Flow, Packet, PacketMoments, Take

T = TypeVar("T")
Arrived = tuple[int, Packet, int]
"""A PDU that crossed a leg: the leg's number, the packet, its COUNT."""


class VirtualLegDriver(drivers.LegDriver[HeldPacket]):
    """The driver of one direction of a leg, which leads to the other element."""

    arrive: Callable[[Arrived], None]
    """Takes the PDUs that crossed the leg."""
    mtu: int | None = None
    """What is larger (bytes) is answered by ICMP; None: nothing is."""
    answer: Callable[[Packet], None]
    """Takes an ICMP error to the source of the packet's flow."""

    def push(self, packet: HeldPacket, size: int, now: int) -> None:
        """Put a packet of `size` bytes on the leg."""
        if self.mtu is not None and size > self.mtu:
            assert isinstance(packet, Packet | PacketOnLeg)
            sdu = packet if isinstance(packet, Packet) else packet.sdu
            if not sdu.flow.headers_bytes:  # sockets of endpoints in this process read no errors
                error = too_big(sdu.data, self.mtu, of_bearer=sdu is not packet)
                self.answer(Packet(sdu.flow, error))
        super().push(packet, size, now)


class PacketOnLeg(PduOnLeg):
    """A packet with its COUNT on a leg, of which a real PDU has the end, its SN."""

    __slots__ = ("_leg", "_packet")

    def __init__(self, packet: Packet, bearer: int, count: int, leg: VirtualLegDriver) -> None:
        """Give a packet of a bearer its COUNT, for a leg."""
        self.bearer, self.number = bearer, count
        self._packet = packet
        self._leg = leg

    def accept(self) -> None:
        """Let the other element take the PDU."""
        leg = self._leg
        leg.arrive((leg.number, self._packet, self.number))

    @property
    def ecn(self) -> int:
        """Return the packet's code point."""
        return self._packet.ecn

    def mark(self) -> None:
        """Set Congestion Experienced of the packet on this leg, not on others."""
        self._packet = copy(self._packet)
        self._packet.mark()

    @property
    def sdu(self) -> Packet:
        """Return the packet in the PDU."""
        return self._packet

    @property
    def moments(self) -> PacketMoments | None:
        """Return the way of the packet on this leg."""
        return self._packet.moments

    def separate(self) -> None:
        """Tell this leg's copy of the packet from those on others."""
        self._packet = copy(self._packet)
        self._packet.moments = copy(self._packet.moments)

    def drop(self) -> None:
        """Forget the PDU: nobody waits for a packet of the other hosts."""


class VirtualTransmitDriver(drivers.TransmitDriver[Packet, VirtualLegDriver]):
    """The driver of the transmitting entity of one bearer."""

    def __init__(
        self,
        bearer: int,
        entity: TransmittingEntity[Packet],
        sn_format: SnFormat,
        legs: Sequence[VirtualLegDriver],
        loop: AnyLoop,
    ) -> None:
        """Put PDUs with headers of this format on the legs."""
        super().__init__(bearer, entity, legs, loop)
        self._header = sn_format.size
        self._loop = loop
        self._needs_facts = entity.needs_facts

    def take(self, packet: Packet) -> None:
        """Give an SDU a number, and put it on the leg or legs of its policy."""
        facts = classify_udp(packet.data, packet.flow.dscp) if self._needs_facts else None
        self.push(packet, packet.size, self._loop.now, facts)

    def _put(self, pdus: Sequence[Pdu[Packet]], now: int) -> None:
        for pdu in pdus:
            packet, leg = pdu.sdu, self._legs[pdu.leg]
            held = PacketOnLeg(packet, self.bearer, pdu.count, leg)
            leg.push(held, packet.size + self._header, now)


class VirtualReceiveDriver(drivers.ReceiveDriver[Packet]):
    """The driver of the receiving entity of one bearer."""

    def __init__(
        self,
        bearer: int,
        entity: ReceivingEntity[Packet],
        positions: Mapping[int, int],
        loop: AnyLoop,
        *,
        reports: ReportMaker | None = None,
    ) -> None:
        """Take the position of each of the bearer's legs by the leg's number."""
        super().__init__(bearer, entity, loop, reports=reports)
        self._positions = positions
        self._loop = loop

    def take(self, arrived: Arrived) -> None:
        """Take a PDU that arrived, and deliver what is in order then."""
        leg, packet, count = arrived
        self.push(count, packet, packet.size, self._positions[leg], self._loop.now, count=count)

    def _size(self, sdu: Packet) -> int:
        return sdu.size


def delayed(loop: AnyLoop, delay: int, take: Callable[[T], None]) -> Callable[[T], None]:
    """Return a function that calls `take` `delay` ns later, in the same order."""
    if not delay:
        return take
    line = WaitingLine(loop, take)
    return lambda item: line.push(item, loop.now + delay)


class VirtualElement(AnyElement[VirtualLegDriver, VirtualTransmitDriver, VirtualReceiveDriver]):
    """The legs and bearers of one router host."""

    leg_driver: ClassVar[type[VirtualLegDriver]] = VirtualLegDriver

    def __init__(
        self,
        settings: ElementSettings,
        loop: AnyLoop,
        *,
        leg_of: Mapping[str, int],
        processing_ns: int,
        paths: Mapping[int, WifiPath],
    ) -> None:
        """Make legs and bearers.

        Args:
            settings: those of the real element.
            loop: gives the time.
            leg_of: the leg that a packet without a bearer takes, by each address of the client.
            processing_ns: how long a bearer's packet waits before it is split, or reordered.
            paths: for each leg with `wifi`, by its number, the path of both directions.
        """
        super().__init__(settings)
        self._loop = loop
        self._leg_of = leg_of
        self._processing = processing_ns
        self._paths = paths
        self._report_flows: list[Flow] = []
        self._takers: dict[tuple[str, int], Take] = {}
        legs = {leg.leg: self._leg_driver(leg) for leg in settings.legs}
        self._assemble(legs, {number: driver.leg for number, driver in legs.items()}, loop)
        self._incoming: dict[Flow, Callable[[Arrived], None]] = {}
        self._started = loop.now

    def _leg_driver(self, leg: ElementLeg) -> VirtualLegDriver:
        driver = self.leg_driver(leg.leg, self._built(leg, self._paths), self._loop)
        if leg.radio.mtu_icmp:
            driver.mtu = leg.radio.mtu_bytes
            line = WaitingLine[Packet](self._loop, lambda error: error.flow.origin(error))
            # A host takes it when it has sent what it is sending.
            driver.answer = lambda error: line.push(error, self._loop.now)
        return driver

    def connect(self, peer: VirtualElement) -> None:
        """Connect this element's legs to `peer`, which takes the PDUs that cross them."""
        for number, leg in self._legs.items():
            leg.arrive = peer.arrive
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
        for bearer, driver in zip(self._settings.transmit, self._transmit, strict=True):
            if flow.belongs_to(bearer.match):
                return delayed(self._loop, self._processing, driver.take)
        addresses = (flow.source[0], flow.destination[0])
        leg = self._legs[
            next(self._leg_of[address] for address in addresses if address in self._leg_of)
        ]
        return lambda packet: leg.push(packet, packet.size, self._loop.now)

    def arrive(self, arrived: Arrived) -> None:
        """Take a PDU that crossed a leg of the other element."""
        flow = arrived[1].flow
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
        host = self._settings.host
        summary = {"host": host, "start_ns": self._started, **self._counted()}
        write_summary(self._settings.directory / f"{host}-summary.json", summary)

    def _transmitter(
        self, bearer: TransmitBearer, entity: TransmittingEntity[Any]
    ) -> VirtualTransmitDriver:
        return VirtualTransmitDriver(
            bearer.bearer,
            entity,
            sn_format(bearer.pdcp.sn_bits),
            [self._legs[number] for number in bearer.legs],
            self._loop,
        )

    def _receiver(
        self, bearer: ReceiveBearer, entity: ReceivingEntity[Any], reports: ReportMaker | None
    ) -> VirtualReceiveDriver:
        positions = {number: position for position, number in enumerate(bearer.legs)}
        return VirtualReceiveDriver(bearer.bearer, entity, positions, self._loop, reports=reports)

    def _report_way(self, leg: ReportLeg, port: int) -> Way:
        flow = Flow((str(leg.source), port), (str(leg.destination), port))
        self._report_flows.append(flow)
        driver = self._legs[leg.leg]

        def send(report: bytes, now: int) -> None:
            packet = Packet(flow, report)
            driver.push(packet, packet.size, now)

        return driver.leg, send

    def _reorder(self, flow: Flow) -> Callable[[Arrived], None]:
        for bearer, driver in zip(self._settings.receive, self._receive, strict=True):
            if flow.belongs_to(bearer.match):
                return delayed(self._loop, self._processing, driver.take)
        raise LookupError(f"{self._settings.host}: a PDU that no bearer receives")
