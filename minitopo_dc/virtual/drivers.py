"""The drivers of legs and bearers (`minitopo_dc.router.drivers`) in virtual time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from minitopo_dc.pdcp import (
    Pdu,
    ReceivingEntity,
    ReportMaker,
    SnFormat,
    TransmittingEntity,
    classify_udp,
)
from minitopo_dc.router import drivers
from minitopo_dc.router.drivers import Held, PduOnLeg
from minitopo_dc.virtual.loop import AnyLoop
from minitopo_dc.virtual.packet import Packet

T = TypeVar("T")
Arrived = tuple[int, Packet, int]
"""A PDU that crossed a leg: the leg's number, the packet, its COUNT."""


class LegDriver(drivers.LegDriver[Held]):
    """The driver of one direction of a leg, which leads to the other element."""

    arrive: Callable[[Arrived], None]
    """Takes the PDUs that crossed the leg."""


class PacketOnLeg(PduOnLeg):
    """A packet with its COUNT on a leg, of which a real PDU has the end, its SN."""

    __slots__ = ("_leg", "_packet")

    def __init__(self, packet: Packet, bearer: int, count: int, leg: LegDriver) -> None:
        """Give a packet of a bearer its COUNT, for a leg."""
        self.bearer, self.number = bearer, count
        self._packet = packet
        self._leg = leg

    def accept(self) -> None:
        """Let the other element take the PDU."""
        leg = self._leg
        leg.arrive((leg.number, self._packet, self.number))

    def drop(self) -> None:
        """Forget the PDU: nobody waits for a packet of the other hosts."""


class TransmitDriver(drivers.TransmitDriver[Packet, LegDriver]):
    """The driver of the transmitting entity of one bearer."""

    def __init__(
        self,
        bearer: int,
        entity: TransmittingEntity[Packet],
        sn_format: SnFormat,
        legs: Sequence[LegDriver],
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


class ReceiveDriver(drivers.ReceiveDriver[Packet]):
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
    return DelayLine(loop, delay, take).push if delay else take


class DelayLine(Generic[T]):
    """A queue that holds each item for the same time."""

    def __init__(self, loop: AnyLoop, delay: int, take: Callable[[T], None]) -> None:
        self._loop = loop
        self._delay = delay
        self._take = take
        self._held: deque[tuple[int, T]] = deque()
        self._timer = loop.timer(self._fire)

    def push(self, item: T) -> None:
        """Hold an item for the line's delay."""
        due = self._loop.now + self._delay
        self._held.append((due, item))
        self._timer.bring_forward(due)

    def _fire(self) -> None:
        held, now = self._held, self._loop.now
        while held and held[0][0] <= now:
            self._take(held.popleft()[1])
        self._timer.set(held[0][0] if held else None)
