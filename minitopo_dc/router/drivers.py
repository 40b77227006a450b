"""Drivers of a router host's legs and PDCP entities, the same on both clocks.

They run the cores without input or output over what a host gives them: a loop that calls them at
the moments that they name (`Loop`), and packets that go on or are discarded (`HeldPacket`). On real
packets to let one go is to give the kernel its verdict, in virtual time it is a call.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Protocol

from minitopo_dc.link import AnyLeg
from minitopo_dc.pdcp import PacketFacts, Pdu, ReceivingEntity, ReportMaker, TransmittingEntity
from minitopo_dc.pdcp.statistics import ReceiveStatistics


class Timed(Protocol):
    """A part that names the moment at which it has to act next."""

    def next_timeout(self) -> int | None:
        """Return when to act next (ns of the host's clock); None: not at all."""

    def handle(self, now: int) -> None:
        """Do what is due at `now` (ns)."""


class Loop(Protocol):
    """What calls the timed parts of a host, by the kernel's clock or in virtual time."""

    def add_timed(self, part: Timed, *, first: bool = False) -> Callable[[], None]:
        """Call a part when it is due; one that changes what others wait for comes first.

        Returns:
            what asks the part for its next moment, after something else than the loop changed it.
        """


Action = Callable[[int], None]
"""Takes the time at which it is done."""
Planned = tuple[int, Action]
"""When (ns after the start) something is to be done, and what."""


class Schedule:
    """What is to be done to legs, at its moments; a timed part of the loop."""

    def __init__(self, planned: Iterator[Planned], after: Action = lambda _: None) -> None:
        """Plan what is in order of time; `after` is called after each action."""
        self._planned = planned
        self._after = after
        self._next = next(planned, None)
        self._start: int | None = None

    def start(self, now: int) -> None:
        """Start the schedule's time at `now` (ns)."""
        self._start = now

    def next_timeout(self) -> int | None:
        """Return when the next action is due (ns), None if none is."""
        if self._start is None or self._next is None:
            return None
        return self._start + self._next[0]

    def handle(self, now: int) -> None:
        """Do what is next, and call what is to follow it."""
        assert self._next is not None
        _, action = self._next
        self._next = next(self._planned, None)
        action(now)
        self._after(now)


class HeldPacket(Protocol):
    """A packet that waits while a core holds it."""

    @property
    def bearer(self) -> int | None:
        """Return the number of the bearer whose PDU it is; None: it is none."""

    @property
    def number(self) -> int:
        """Return the PDU's COUNT, or its SN where nobody knows more of it."""

    def accept(self) -> None:
        """Let the packet go on: on its leg, or up to who waits for it."""

    def drop(self) -> None:
        """Discard the packet for good."""


class LegDriver:
    """The driver of one direction of a leg; a timed part."""

    mtu: int | None = None
    """What is larger (bytes) is answered by ICMP; None: nothing is."""
    answer: Callable[[Any], None]
    """Takes a packet that is larger than `mtu`, whose source is to be told."""

    def __init__(self, number: int, leg: AnyLeg[Any], loop: Loop) -> None:
        """Run the leg of this number on a host's loop."""
        self.number = number
        self.leg = leg
        self.next_timeout = leg.next_timeout
        self.other: LegDriver | None = None
        """The other direction, where both share a medium: what happens to one changes both."""
        self._rearm = loop.add_timed(self)

    def push(self, packet: HeldPacket, size: int, now: int) -> None:
        """Put a packet of `size` bytes on the leg."""
        if self.mtu is not None and size > self.mtu:
            self.answer(packet)
        if not self.leg.push(packet, size, now):
            packet.drop()
        self.rearm()

    def flush(self, which: Callable[[HeldPacket], bool], now: int) -> Sequence[HeldPacket]:
        """Take packets out of the leg's queue; the caller has to drop them."""
        flushed = self.leg.flush(now, which)
        self.rearm()
        return flushed

    def handle(self, now: int) -> None:
        """Let go of packets that have crossed the leg, and drop those that never will."""
        for packet in self.leg.poll(now):
            packet.accept()
        for packet in self.leg.dropped():
            packet.drop()
        if self.other is not None:
            self.rearm()

    def rearm(self) -> None:
        """Find the leg's next moment anew, after it was changed from outside."""
        self._rearm()
        if self.other is not None:
            self.other._rearm()


Carry = Callable[[Pdu[Any], LegDriver], tuple[HeldPacket, int]]
"""Makes the packet of a PDU on a leg, and says how many bytes it has."""


class TransmitDriver:
    """The driver of one bearer's transmitting entity; a timed part that comes before the legs."""

    def __init__(
        self,
        bearer: int,
        entity: TransmittingEntity[Any],
        legs: Sequence[LegDriver],
        loop: Loop,
        carry: Carry,
    ) -> None:
        """Put the PDUs of a bearer of this number on these legs, as packets that `carry` makes."""
        self.bearer = bearer
        self.entity = entity
        self.next_timeout = entity.next_timeout
        self._carry = carry
        self._legs = list(legs)
        self._ways = self._legs
        self._rearm = loop.add_timed(self, first=True) if entity.follows_legs else None

    def push(self, sdu: Any, size: int, now: int, facts: PacketFacts | None) -> None:
        """Give an SDU a number, and put it on the leg or legs of its policy.

        Args:
            sdu: a packet.
            size: of it, in bytes.
            now: in ns.
            facts: what its policy knows of it, if `entity.needs_facts`.
        """
        if not self.entity.push(sdu, size, now, facts):
            sdu.drop()
        if self._rearm is None:
            self._put(self.entity.poll(now), now)
        else:
            self.legs_changed(now)

    def handle(self, now: int) -> None:
        """Put on the legs as many PDUs as they take now; first take back what lost legs hold."""
        for position in self.entity.lost_legs(now):
            flushed = self._legs[position].flush(self._is_own, now)
            for packet in flushed:
                packet.drop()
            self.entity.leg_lost(position, [packet.number for packet in flushed], now)
        while pdus := self.entity.poll(now):
            self._put(pdus, now)
        for sdu in self.entity.dropped():
            sdu.drop()

    def legs_changed(self, now: int) -> None:
        """React to legs that went down or up or got another rate, or to the receiver's report."""
        if self._rearm is not None:
            self.handle(now)
            self._rearm()

    def use(self, present: Sequence[bool]) -> None:
        """Send what is meant for an absent leg on the next one that is present, from now on.

        If none is present, it goes on the one that is meant. The policy does not notice: the number
        of its legs stays the same.
        """
        legs = self._legs
        self._ways = []
        for position in range(len(legs)):
            order = (*range(position, len(legs)), *range(position))
            self._ways.append(legs[next((i for i in order if present[i]), position)])

    def _is_own(self, packet: HeldPacket) -> bool:
        return packet.bearer == self.bearer

    def _put(self, pdus: Sequence[Pdu[Any]], now: int) -> None:
        """Put PDUs on their legs."""
        if self._ways != self._legs:
            pdus = self._without_merged_copies(pdus)
        for pdu in pdus:
            leg = self._ways[pdu.leg]
            packet, size = self._carry(pdu, leg)
            leg.push(packet, size, now)

    def _without_merged_copies(self, pdus: Sequence[Pdu[Any]]) -> list[Pdu[Any]]:
        """Return the PDUs without duplicates whose own leg is absent and that share another leg."""
        first = {(pdu.count, self._ways[pdu.leg]): pdu for pdu in reversed(pdus)}
        return [pdu for pdu in pdus if first[pdu.count, self._ways[pdu.leg]] is pdu]


class ReceiveDriver:
    """The driver of one bearer's receiving entity; a timed part."""

    def __init__(
        self,
        bearer: int,
        entity: ReceivingEntity[Any],
        loop: Loop,
        *,
        reports: ReportMaker | None = None,
    ) -> None:
        """Deliver the SDUs of a bearer of this number; `reports` are made of what arrives."""
        self.bearer = bearer
        self.entity = entity
        self.reports = reports
        self.next_timeout = entity.next_timeout
        self._delivered_bytes = 0
        self._rearm = loop.add_timed(self)

    def push(self, pdu: Pdu[Any], now: int) -> None:
        """Take a PDU that arrived at `now` (ns), and deliver what is in order then."""
        if self.reports is not None:
            self.entity.note(pdu)
        if not self.entity.push(pdu, now):
            pdu.sdu.drop()
        self.handle(now)
        self._rearm()

    def handle(self, now: int) -> None:
        """Let go of SDUs that are in order, or have waited long enough."""
        for sdu in self.entity.poll(now):
            self._delivered_bytes += sdu.size
            sdu.accept()

    def statistics(self) -> ReceiveStatistics:
        """Return the entity's counters up to now, with the bytes that it delivered."""
        return replace(self.entity.statistics(), delivered_bytes=self._delivered_bytes)


Way = tuple[Any, Callable[[bytes, int], None]]
"""A leg, which says whether it `is_up`, and what puts a report on it at a time (ns)."""


class ReportSender:
    """Puts each report of one bearer on a leg when it is due; a timed part, to come before legs.

    Args:
        maker: of the reports.
        ways: those that reports may take, in this order.
        every_leg: whether each report takes all legs that are up, not one.
    """

    def __init__(self, maker: ReportMaker, ways: Sequence[Way], *, every_leg: bool = False) -> None:
        self._maker = maker
        self._ways = ways
        self._most = len(ways) if every_leg else 1
        self.next_timeout = maker.next_timeout
        self.start = maker.start

    def handle(self, now: int) -> None:
        """Send the report that is due, on the first leg that is up or on all of them."""
        report = self._maker.poll(now)
        if report is None:
            return
        up = [way for way in self._ways if way[0].is_up] or self._ways
        for _, send in up[: self._most]:
            send(report, now)


# Echoes measure the round-trip times of a bearer's legs, as PMFP does (TS 24.193, clause 5.4): a
# request goes out on each leg, and the other end returns it on the same leg.
REQUEST, ANSWER = 1, 2
FORMAT = struct.Struct("!Bq")
"""The kind, and when the request was sent (ns of the sender's clock)."""
Send = Callable[[bytes, int], None]
"""Puts a datagram's data on a leg at a time (ns)."""


def echoing(ways: Sequence[Send], interval: int) -> Schedule:
    """Return what sends an echo on each leg of a bearer from the start on, at every interval (ns).

    Args:
        ways: what puts a datagram on each leg.
        interval: from one echo to the next, ns.
    """

    def send_all(now: int) -> None:
        for send in ways:
            send(FORMAT.pack(REQUEST, now), now)

    return Schedule((moment, send_all) for moment in count(0, interval))


def measuring(answered: Callable[[int, int, int], None], leg: int) -> Send:
    """Return the function that takes the answers that come by a leg; what is none is ignored.

    Args:
        answered: takes the leg (from 0) of an echo, its round-trip time and the present time (ns).
        leg: the leg.
    """

    def take(data: bytes, now: int) -> None:
        sent = _read(data, ANSWER)
        if sent is not None and sent <= now:
            answered(leg, now - sent, now)

    return take


def answering(send: Send) -> Send:
    """Return the function that takes what arrives by a leg, and returns each request by `send`."""

    def take(data: bytes, now: int) -> None:
        if (sent := _read(data, REQUEST)) is not None:
            send(FORMAT.pack(ANSWER, sent), now)

    return take


def _read(data: bytes, kind: int) -> int | None:
    """Return when an echo of a kind was sent (ns); None: it is none."""
    if len(data) != FORMAT.size or data[0] != kind:
        return None
    return int(FORMAT.unpack(data)[1])
