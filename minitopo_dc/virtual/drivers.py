"""Drivers of the sans-IO legs and PDCP entities by timers, as the element drives them by queues.

A leg carries pairs of a packet and its COUNT, of which a real PDU has the end, its SN. The COUNT is
None if the packet has no bearer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from minitopo_dc.link import AnyLeg, Leg
from minitopo_dc.pdcp import (
    Pdu,
    ReceivingEntity,
    ReportMaker,
    SnFormat,
    TransmittingEntity,
    classify_udp,
)
from minitopo_dc.router.delivery import DeliveryStatistics, with_bytes
from minitopo_dc.virtual.loop import AnyLoop
from minitopo_dc.virtual.packet import Packet

T = TypeVar("T")
Carried = tuple[Packet, int | None]
Arrive = Callable[[int, Packet, int], None]
"""Takes a PDU that crossed a leg: the leg's number, the packet, its COUNT."""


class LegDriver:
    """The driver of one direction of a leg."""

    def __init__(self, number: int, leg: AnyLeg[Carried], loop: AnyLoop) -> None:
        self.number = number
        self.leg = leg
        self.arrive: Arrive = _unconnected
        self.other: LegDriver | None = None
        """The other direction, where both share a medium: what happens to one changes both."""
        self._loop = loop
        self._timer = loop.timer(self._fire)

    def push(self, packet: Packet, count: int, size: int) -> None:
        """Put a PDU on the leg, where it counts `size` bytes."""
        self._push((packet, count), size)

    def push_plain(self, packet: Packet) -> None:
        """Put a packet that belongs to no bearer on the leg."""
        self._push((packet, None), packet.size)

    def flush(self, which: Callable[[Carried], bool], now: int) -> Sequence[Carried]:
        """Remove packets from the leg's queue."""
        flushed = self.leg.flush(now, which)
        self.rearm()
        return flushed

    def rearm(self) -> None:
        """Find the leg's next moment anew, after it was changed from outside."""
        self.leg.dropped()  # the leg counts them; nobody waits for a packet of this host's
        self._set_timers()

    def _set_timers(self) -> None:
        self._timer.set(self.leg.next_timeout())
        if self.other is not None:
            self.other._timer.set(self.other.leg.next_timeout())

    def _push(self, carried: Carried, size: int) -> None:
        self.leg.push(carried, size, self._loop.now)
        # Packets under way come out before this one, except those that are sent again.
        if self._timer.at is None or not isinstance(self.leg, Leg):
            self._set_timers()

    def _fire(self) -> None:
        for packet, count in self.leg.poll(self._loop.now):
            if count is None:
                packet.flow.deliver(packet)
            else:
                self.arrive(self.number, packet, count)
        self.rearm()


class TransmitDriver:
    """The driver of the transmitting entity of one bearer."""

    def __init__(
        self,
        bearer: int,
        entity: TransmittingEntity[Packet],
        sn_format: SnFormat,
        legs: Sequence[LegDriver],
        loop: AnyLoop,
        *,
        belongs: Callable[[Carried], bool] = lambda carried: carried[1] is not None,
    ) -> None:
        """Take what tells the bearer's PDUs from all other packets on a leg."""
        self.bearer = bearer
        self.entity = entity
        self._header = sn_format.size
        self._legs = legs
        self._belongs = belongs
        self._loop = loop
        self._follows = entity.follows_legs
        self._needs_facts = entity.needs_facts
        self._timer = loop.timer(self.submit)

    def push(self, packet: Packet) -> None:
        """Give an SDU a number, and put it on the leg or legs of its policy."""
        now = self._loop.now
        facts = classify_udp(packet.data, packet.flow.dscp) if self._needs_facts else None
        self.entity.push(packet, packet.size, now, facts)
        if self._follows:
            self.submit()
        else:
            self._put(self.entity.poll(now))

    def submit(self) -> None:
        """Put on the legs as many PDUs as they take now."""
        now = self._loop.now
        while pdus := self.entity.poll(now):
            self._put(pdus)
        self.entity.dropped()  # nobody else holds them
        self._timer.set(self.entity.next_timeout())

    def legs_changed(self) -> None:
        """Tell the entity that legs went down or up, or got another rate."""
        if not self._follows:
            return
        now = self._loop.now
        for position in self.entity.lost_legs(now):
            flushed = self._legs[position].flush(self._belongs, now)
            numbers = [count for _, count in flushed if count is not None]
            self.entity.leg_lost(position, numbers, now)
        self.submit()

    def _put(self, pdus: Sequence[Pdu[Packet]]) -> None:
        for pdu in pdus:
            packet = pdu.sdu
            self._legs[pdu.leg].push(packet, pdu.count, packet.size + self._header)


class ReceiveDriver:
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
        self.bearer = bearer
        self.entity = entity
        self.reports = reports
        self._positions = positions
        self._loop = loop
        self._timer = loop.timer(self._deliver)
        self._delivered_bytes = 0

    def push(self, arrived: tuple[int, Packet, int]) -> None:
        """Take a PDU that arrived (leg, packet, COUNT), and deliver what is in order then."""
        number, packet, count = arrived
        leg = self._positions[number]
        if self.reports is not None:
            self.reports.push(count, packet.size, leg)
        self.entity.push(count, packet, leg, self._loop.now, count)
        self._deliver()

    def _deliver(self) -> None:
        for packet in self.entity.poll(self._loop.now):
            self._delivered_bytes += packet.size
            packet.flow.deliver(packet)
        self._timer.set(self.entity.next_timeout())

    def statistics(self) -> DeliveryStatistics:
        """Return the delivery counters up to now."""
        return with_bytes(self.entity.statistics(), self._delivered_bytes)


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


def _unconnected(_leg: int, _packet: Packet, _count: int) -> None:
    raise LookupError("a leg that leads nowhere")
