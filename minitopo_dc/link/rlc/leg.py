"""One direction of a radio link with HARQ and RLC: errors become delay, capacity and order.

In this order: queue -> transport blocks, slot by slot -> HARQ -> RLC (what HARQ gave up,
in acknowledged mode; order) -> propagation delay -> random loss. Rules:

* Time is an argument: `now` in ns, and it never descends from call to call.
* Slots count from :meth:`RlcLeg.start`. A slot's bits carry, in this order, HARQ's retransmissions
  that are due, a status report of the other direction, RLC's retransmissions, then packets that
  were pushed by its begin: the last two make one new block, of segments of as many SDUs as fit (TS
  38.322, clause 5.2). So retransmissions cost capacity. Control PDUs come before data, and what was
  sent before comes first of that (TS 38.322, clause 5.2.3.1.1; TS 36.322, clause 5.1.3.1.1).
* In acknowledged mode each decoded block asks for a status report, as if each polled. It goes in
  the first slot of the other direction that begins `status_prohibit_ns` or more after the slot of
  the last one, and at most fills it. A slot that nothing else needs carries it at no cost: it waits
  for no grant, and neither delays nor spares a request of a packet.
* Directions of one process see each other's work up to any slot. Those of two processes see it when
  it is done, which is when a packet arrives or leaves: a report then goes with the first data.
* The receiver knows that it lacks a block by the slot of the first later one that it decodes, and
  has told `status_ns` after its begin; then RLC sends again what HARQ has given up. If nothing
  later arrives, it does so `status_ns` after the latest new block. What is lost again is told in
  the next report, `status_prohibit_ns` later (t-Reassembly and t-PollRetransmit of TS 38.322,
  clause 5.3).
* Whether a block was decoded is known at the end of its slot; an SDU is complete with its last one.
* The queue counts what is not sent once to its last bit by the end of a slot. Its discipline, if
  any, is asked of a packet when it joins, and at the begin of the slot that would carry its first
  bit; there is none that reorders.
* A packet that finds nothing to send waits for a grant: before it, no packet of the queue is sent.
  discardTimer runs meanwhile.
* Down: nothing is sent, retransmissions neither; what is in propagation arrives. A slot in which
  the leg was down carries nothing.
* Flushed (RLC is re-established, TS 38.322, clause 5.1.2; TS 36.322, clause 5.4): queue, blocks and
  segments are gone, all or one bearer's; what the receiver has completely is delivered, what is in
  propagation arrives.
* A dropped SDU keeps those behind it waiting no longer: RLC here knows at once what the standard's
  receiver learns by t-Reordering, which is 35 ms by default, about as long as HARQ takes.
* A packet that will be lost behind the radio takes its place and its capacity like any other. That
  it will be lost is known when it is pushed.
* Losses, delays and block errors have a random generator each: the k-th packet that joins the queue
  has the k-th draw of loss, the k-th delivered one that of delay, the k-th block that of errors.
* Not modelled: the number of HARQ processes, transport block sizes, errors of status reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableSequence
from dataclasses import replace
from random import Random
from typing import Any, TypeVar

from minitopo_dc.link.any_leg import NEVER, NOT_STARTED, AnyLeg, LegParameters
from minitopo_dc.link.capacity import Capacity
from minitopo_dc.link.leg import CapacityLeg
from minitopo_dc.link.rlc.harq import Block, Harq, Slots
from minitopo_dc.link.rlc.parameters import NACK_BYTES, STATUS_BYTES, RlcParameters, RlcStatistics
from minitopo_dc.link.rlc.sdus import RetransmissionBuffer, RlcSdu, Sdus, Segment
from minitopo_dc.units import earliest

T = TypeVar("T")
LONG_AGO = -(1 << 63)
"""In ns, the least of 64 bits."""
ACTIVE, BUSY, SLOT, BITS, SLOT_BEFORE, BITS_BEFORE = range(6)
"""What a direction shows the other one: the begin of its latest new block, whether it has something
to send, and its receiver's last two status reports: the begins of their slots, and their bits."""
SHOWN_BYTES = 6 * 8


class RlcLeg(AnyLeg[T]):
    """One direction of a leg, carrying packets of any type `T`. See the module's rules."""

    def __init__(
        self, parameters: LegParameters, rlc: RlcParameters, capacity: Capacity, rng: Random
    ) -> None:
        """Take a capacity of its own (it keeps state) and draw three seeds from `rng`."""
        super().__init__(parameters, rng)
        self._rlc = rlc
        self._sdus: Sdus[T] = Sdus(self._air, in_order=rlc.in_order, discard=rlc.discard_ns)
        self._harq: Harq[T] = Harq(rlc, Random(rng.getrandbits(64)))
        self._slots = Slots(capacity, rlc, NOT_STARTED)
        self._grant = parameters.grant_ns
        self._waits = bool(parameters.grant_ns or rlc.sr_ns or rlc.drx)
        self._shown: MutableSequence[int] = [LONG_AGO, 0, LONG_AGO, 0, LONG_AGO, 0]
        self._is_shared = False
        self._reported = LONG_AGO  # the slot of the latest report that this direction has carried
        self._other: RlcLeg[Any] | None = None
        self._retransmissions: RetransmissionBuffer[T] = RetransmissionBuffer()
        self._free = -NEVER  # from when on slots can be used
        self._granted = -NEVER  # from when on the queue is sent
        self._begin = self._wake = NEVER  # of the next slot with work; when something happens
        self._dropped_discard = self._dropped_radio = self._resent = 0
        self._nacks = 0  # of blocks that HARQ has given up since the last report

    def _next_event(self) -> int | None:
        first = self._air.first()
        if first is not None and not self._air.reorder:
            return first  # in order, nothing comes before what is in propagation
        return earliest(first, None if self._wake == NEVER else self._wake)

    def start(self, now: int) -> None:
        """Start a slot and the capacity's time 0 at `now`; a slot in progress carries nothing."""
        self._pause(now)
        self._slots.anchor(now)
        self._resume(now)

    def _flush(self, now: int, which: Callable[[T], bool]) -> list[RlcSdu[T]]:
        self._advance(now)
        flushed = self._sdus.flush(which)
        self._harq.purge()
        self._retransmissions.purge()
        self._sdus.release(now)
        self._plan()
        return flushed

    def _set_block_error(self, block_error: float) -> None:
        self._rlc = replace(self._rlc, block_error=block_error)
        self._harq.error = block_error

    def _set_capacity(self, capacity: Capacity, now: int) -> None:  # noqa: ARG002 (any leg's)
        self._slots.anchor(self._slots.zero, capacity)
        self._plan()

    def _resume(self, now: int) -> None:
        self._free = now
        self._plan()

    @property
    def mean_delay_ns(self) -> int:
        """Return the mean propagation delay in ns, and what HARQ and TDD add on average."""
        return super().mean_delay_ns + self._rlc.mean_wait_ns()

    @property
    def slot_lead_ns(self) -> int:
        """Return in what time (ns) the mean rate passes two of the largest slots of the pattern."""
        return self._rlc.slot_lead_ns()

    def _backlog(self, now: int) -> int:  # noqa: ARG002 (any leg's)
        # With those to be sent again (TS 38.322, clause 5.5).
        return -(-(self._sdus.unsent_bits + self._retransmissions.bits) // 8)

    def _first_number(self) -> int | None:
        first = self._sdus.first()
        return None if first is None else first.number

    def _service_end(self) -> int | None:
        # The end of the next slot that may carry data of the queue.
        first = self._sdus.first()
        if first is None or self._begin == NEVER:
            return None
        earliest = self._slots.following(self._sendable(first))
        return max(self._begin, earliest) + self._slots.length

    def _rate(self, now: int) -> int:
        return self._slots.rate_at(now)  # of which HARQ's retransmissions take some, not known now

    def statistics(self) -> RlcStatistics:
        """Return the counters and gauges as of the last call."""
        under_way = self.joined_packets - self._sdus.settled - len(self._sdus.queue)
        return RlcStatistics(
            **self._counted(under_way + len(self._air)),
            dropped_discard=self._dropped_discard,
            dropped_radio=self._dropped_radio,
            blocks=self._harq.blocks,
            harq_retransmissions=self._harq.retries,
            harq_failures=self._harq.failures,
            rlc_retransmissions=self._resent,
        )

    def _occupancy(self) -> tuple[int, int]:
        return len(self._sdus.queue), self._sdus.bytes

    def _join(self, packet: T, size: int, now: int, lost: bool, ecn: int) -> int:
        if self._waits and self._ready() is None:
            heard = self._slots.heard(now, self._activity(now)) if self._rlc.drx else now
            self._granted = self._slots.requested(heard) + self._grant
        number, headers = self.joined_packets, self._rlc.header_bytes
        sdu = RlcSdu(packet, size, number, now, lost=lost, ecn=ecn, header_bytes=headers)
        self._sdus.join(sdu)
        waiting = len(self._sdus.queue)
        if waiting <= 2:  # behind an SDU that is partly sent, discardTimer has a new first
            self._plan()
        if self._stopped:
            self._sdus.take_back()
            self._plan()
            return 0
        return waiting

    def pair(self, other: AnyLeg[Any]) -> None:
        """Let the leg's other direction carry status reports, and keep the terminal awake."""
        if isinstance(other, RlcLeg):
            self._other = other

    def share(self, memory: MutableSequence[int]) -> None:
        """Keep what the other direction sees in memory that its process has, too.

        A leg that carries nothing, with the other process's memory, stands for its direction there.
        """
        self._shown, self._is_shared = memory, True

    def _activity(self, now: int) -> int:
        """Return when the terminal was active last (ns): it is while it has something to send."""
        other = self._other
        if other is None:
            return self._shown[ACTIVE]
        other._run(now)
        return max(self._shown[ACTIVE], now if other._shown[BUSY] else other._shown[ACTIVE])

    def _advance(self, now: int) -> None:
        self._run(now)
        if self._dropped:
            self._news = now

    def _run(self, until: int) -> None:
        """Run all slots that have ended by `until` (ns)."""
        if self._wake > until:
            return
        while self._begin + self._slots.length <= until:
            self._carry(self._begin, self._slots.bits(self._begin))
            self._plan()
        self._discard(until)
        self._plan()

    def _plan(self) -> None:
        """Find the next slot with work, and when something happens next."""
        self._begin = NEVER
        self._stopped = False
        ready = self._ready()
        self._shown[BUSY] = ready is not None
        if self.is_up and ready is not None:
            begin = self._slots.carrying(self._slots.following(max(ready, self._free)))
            self._stopped = begin is None
            self._begin = NEVER if begin is None else begin
        self._wake = min(self._begin + self._slots.length, self._expiry())

    def _ready(self) -> int | None:
        """Return from when on there is something to send (ns), None if there is nothing."""
        first = self._sdus.first()
        queued = None if first is None else self._sendable(first)
        again = self._retransmissions
        polled = self._polled() if again.has_unmissed else None
        return earliest(queued, polled, self._harq.first_due(), again.first_due())

    def _polled(self) -> int:
        """Return when what the receiver does not miss goes again, if no new block is sent (ns)."""
        return self._shown[ACTIVE] + self._rlc.status_ns

    def _sendable(self, sdu: RlcSdu[T]) -> int:
        """Return from when on an SDU of the queue may be sent (ns)."""
        return max(sdu.pushed, self._granted)

    def _expiry(self) -> int:
        """Return when the next SDU is discarded (ns), which is at the begin of a slot."""
        expiry = self._sdus.expiry()
        return NEVER if expiry is None else self._slots.following(expiry)

    def _carry(self, begin: int, bits: int) -> int:
        """Use `bits` of the slot that begins at `begin` (ns), and learn what was decoded.

        Returns:
            The bits that were not needed.
        """
        status = self._status(begin)
        self._discard(begin)
        self._free = end = begin + self._slots.length
        blocks, room = self._harq.resend(bits, begin)
        room -= min(room, status)
        if self._retransmissions.has_unmissed and begin >= self._polled():
            self._retransmissions.miss(NEVER, begin)
        segments = list(self._segments(room, begin))
        if segments:
            self._shown[ACTIVE] = begin
            blocks.append(self._harq.new_block(segments, begin))
            room -= blocks[-1].bits
        for block in blocks:
            if self._harq.decodes(block):
                self._sdus.receive(block.segments, end)
                self._miss(block, begin, end)
                self._report(end)
            elif not self._harq.repeat(block, self._slots.again(begin)):
                self._given_up(block, end)
        self._sdus.release(end)
        return room

    def _segments(self, room: int, begin: int) -> Iterator[Segment[T]]:
        """Yield the segments that a new block of `room` bits carries."""
        for segment in self._retransmissions.take(room, begin):
            self._resent += 1
            room -= segment[1]
            yield segment
        while room and (sdu := self._sdus.first()) is not None and self._sendable(sdu) <= begin:
            if not self._passes(sdu, begin):
                continue
            if not sdu.started:
                sdu.begun = begin
            bits = min(room, sdu.unsent)
            sdu.unsent -= bits
            room -= bits
            if not sdu.unsent:
                sdu.sent = begin + self._slots.length
                self._sdus.pop()
            yield sdu, bits

    def _passes(self, sdu: RlcSdu[T], begin: int) -> bool:
        """Ask the queue's discipline of an SDU of which nothing was sent; drop it if it says so."""
        if self._discipline is None or sdu.started:
            return True
        if self._dequeue(sdu, begin):
            return True
        self._sdus.pop()
        self._sdus.give_up(sdu)
        return False

    def _report(self, now: int) -> None:
        """Let the receiver report at `now` (ns), unless a report to come has what it knows."""
        shown, last = self._shown, self._shown[SLOT]
        if self._other is None or not self._rlc.acknowledged or now <= last:
            return
        slot = self._other._slots.following(max(now, last + self._rlc.status_prohibit_ns))
        bits = 8 * (STATUS_BYTES + NACK_BYTES * self._nacks)
        shown[SLOT_BEFORE], shown[BITS_BEFORE] = last, shown[BITS]
        shown[SLOT], shown[BITS] = slot, bits
        self._nacks = 0

    def _status(self, begin: int) -> int:
        """Return the bits of the other direction's report that the slot from `begin` on carries."""
        if self._other is None:
            return 0
        self._other._run(begin)
        shown = self._other._shown
        for slot, bits in ((SLOT, BITS), (SLOT_BEFORE, BITS_BEFORE)):
            is_late = self._reported < shown[slot] < begin and self._is_shared
            if is_late or shown[slot] == begin:
                self._reported = shown[slot]
                return shown[bits]
        return 0

    def _given_up(self, block: Block[T], end: int) -> None:
        """Let RLC send the segments of a block again that HARQ gave up, or drop their SDUs."""
        self._nacks += 1
        for sdu in dict.fromkeys(sdu for sdu, _ in block.segments):
            sdu.retransmitted += 1
            if not self._rlc.acknowledged or sdu.retransmitted > self._rlc.max_retx_threshold:
                self._lose(sdu)
        for segment in block.segments:
            if not segment[0].gone:
                self._send_again(block, segment, end)

    def _send_again(self, block: Block[T], segment: Segment[T], end: int) -> None:
        """Let RLC send a segment again as soon as the receiver has reported that it lacks it."""
        due = NEVER if block.missed is None else max(end, block.missed + self._rlc.status_ns)
        if segment[0].retransmitted > 1:
            due = end + self._rlc.status_prohibit_ns
        self._retransmissions.put(due, block.first, segment)

    def _miss(self, decoded: Block[T], begin: int, end: int) -> None:
        """Let the receiver miss what was sent before a block that was decoded at `end` (ns)."""
        self._harq.miss(decoded.first, begin)
        self._retransmissions.miss(decoded.first, max(end, begin + self._rlc.status_ns))

    def _lose(self, sdu: RlcSdu[T]) -> None:
        """Give up an SDU, so that the rest of it is not sent."""
        if sdu.gone:
            return
        if sdu.unsent:
            self._sdus.pop()
        self._dropped_radio += 1
        self._drop(sdu)
        self._retransmissions.purge()

    def _discard(self, now: int) -> None:
        """Drop the SDUs whose discardTimer has expired before a slot that begins by `now`."""
        while self._expiry() <= now:
            self._dropped_discard += 1
            self._drop(self._sdus.expire())

    def _drop(self, sdu: RlcSdu[T]) -> None:
        self._sdus.give_up(sdu)
        if not sdu.lost:
            self._dropped.append(sdu.packet)


def make_leg(
    parameters: LegParameters, capacity: Capacity, rng: Random, rlc: RlcParameters | None = None
) -> AnyLeg[Any]:
    """Return a leg, with RLC and HARQ if `rlc` says how."""
    if rlc is None:
        return CapacityLeg(parameters, capacity, rng)
    return RlcLeg(parameters, rlc, capacity, rng)
