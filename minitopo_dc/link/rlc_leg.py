"""One direction of a radio link with HARQ and RLC: errors become delay, capacity and order.

In this order: drop-tail queue -> transport blocks, slot by slot -> HARQ -> RLC (what HARQ gave up,
in acknowledged mode; order) -> propagation delay -> random loss. Rules:

* Time is an argument: `now` in ns, and it never descends from call to call.
* Slots count from :meth:`RlcLeg.start`. A slot's bits carry, in this order, HARQ's retransmissions
  that are due, RLC's, then packets that were pushed by its begin: the last two make one new block,
  of segments of as many SDUs as fit (TS 38.322, clause 5.2). So retransmissions cost capacity.
* Whether a block was decoded is known at the end of its slot; an SDU is complete with its last one.
* The queue counts what is not sent once to its last bit by the end of a slot.
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
* Not modelled: headers of RLC and MAC, the number of HARQ processes, transport block sizes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from copy import copy
from random import Random
from typing import Generic, TypeVar

from minitopo_dc.link.capacity import Capacity
from minitopo_dc.link.delay import DelayModel
from minitopo_dc.link.harq import Block, Harq, Outcome
from minitopo_dc.link.leg import LegParameters
from minitopo_dc.link.loss import LossModel
from minitopo_dc.link.propagation import OrderedPropagation, ReorderingPropagation
from minitopo_dc.link.rlc_parameters import RlcParameters, RlcStatistics, check_block_error
from minitopo_dc.link.segments import RetransmissionBuffer, Sdu, Segment
from minitopo_dc.link.slots import Slots
from minitopo_dc.units import NS_PER_S

T = TypeVar("T")

_NEVER = 1 << 100
"""In ns, packets or bytes: beyond any run."""
_NOT_STARTED = 1 << 62
"""In ns: a time zero that every clock reading is before."""


class RlcLeg(Generic[T]):
    """One direction of a leg, carrying packets of any type `T`. See the module's rules."""

    __slots__ = (
        *("_air", "_delay", "_delay_rng", "_loss", "_loss_rng", "_reorder", "_rlc", "_slots"),
        *("_limit_bytes", "_limit_packets", "_queue", "_queue_bytes", "_queue_max"),
        *("_active", "_dropped", "_harq", "_news", "_retransmissions", "_settled"),
        *("_begin", "_free", "_stopped", "_up", "_wake"),
        *("_dropped_discard", "_dropped_flush", "_dropped_loss", "_dropped_queue"),
        *("_dropped_radio", "_dropped_stop", "_resent"),
        *("_joined_packets", "_pushed_bytes", "_pushed_packets"),
    )

    def __init__(
        self, parameters: LegParameters, rlc: RlcParameters, capacity: Capacity, rng: Random
    ) -> None:
        """Take a capacity of its own (it keeps state) and draw three seeds from `rng`."""
        self._rlc = rlc
        self._delay = parameters.delay
        self._loss = copy(parameters.loss)  # it may keep state, and parameters are shared
        self._loss_rng = Random(rng.getrandbits(64))
        self._delay_rng = Random(rng.getrandbits(64))
        self._harq: Harq[T] = Harq(rlc, Random(rng.getrandbits(64)))
        self._slots = Slots(capacity, rlc.slot_ns, _NOT_STARTED)
        self._limit_packets = parameters.queue_packets or _NEVER
        self._limit_bytes = parameters.queue_bytes or _NEVER
        self._reorder = parameters.reorder
        self._air: OrderedPropagation[T] | ReorderingPropagation[T]
        self._air = ReorderingPropagation() if parameters.reorder else OrderedPropagation()
        self._queue: deque[Sdu[T]] = deque()
        self._queue_bytes = self._queue_max = 0
        # In order of joining: what is neither delivered nor dropped, and some that is.
        self._active: deque[Sdu[T]] = deque()
        self._retransmissions: RetransmissionBuffer[T] = RetransmissionBuffer()
        self._dropped: list[T] = []
        self._news: int | None = None  # when something was dropped that no poll has met
        self._up = True
        self._stopped = False
        self._free = -_NEVER  # from when on slots can be used
        self._begin = self._wake = _NEVER  # of the next slot with work; when something happens
        self._pushed_packets = self._pushed_bytes = self._joined_packets = self._settled = 0
        self._dropped_queue = self._dropped_loss = self._dropped_stop = self._dropped_flush = 0
        self._dropped_discard = self._dropped_radio = self._resent = 0

    def push(self, packet: T, size: int, now: int) -> bool:
        """A packet of `size` bytes (> 0) arrives.

        Returns:
            False if it is known that it never comes out: queue full, to be lost behind the radio,
            or the capacity ended. For the others see :meth:`dropped`.
        """
        self._advance(now)
        self._pushed_packets += 1
        self._pushed_bytes += size
        waiting = len(self._queue) + 1
        if waiting > self._limit_packets or self._queue_bytes + size > self._limit_bytes:
            self._dropped_queue += 1
            return False
        lost = self._loss is not None and self._loss.lost(self._loss_rng)
        self._joined_packets += 1
        sdu = Sdu(packet, size, number=self._joined_packets, pushed=now, lost=lost)
        self._queue.append(sdu)
        self._active.append(sdu)
        self._queue_bytes += size
        if waiting <= 2:  # behind an SDU that is partly sent, discardTimer has a new first
            self._plan()
        if self._stopped:
            return self._refuse()
        self._queue_max = max(self._queue_max, waiting)
        return not lost

    def poll(self, now: int) -> list[T]:
        """All that has arrived at the other end by `now`, in order of arrival."""
        self._advance(now)
        self._news = None
        return self._air.take(now)

    def dropped(self) -> list[T]:
        """What :meth:`push` had promised and will never come out, known since the last call."""
        dropped, self._dropped = self._dropped, []
        return dropped

    def next_timeout(self) -> int | None:
        """When to poll next (ns), or None if nothing is under way."""
        if self._news is not None:
            return self._news
        first = self._air.first()
        if self._wake == _NEVER:
            return first
        if first is None:
            return self._wake
        # In order, nothing comes before what is in propagation.
        return min(first, self._wake) if self._reorder else first

    def start(self, now: int) -> None:
        """Make `now` the capacity's time 0 and a slot's begin; what the slot before sent is not."""
        self._advance(now)
        self._slots.anchor(now)
        self._free = now
        self._plan()

    def set_up(self, up: bool, now: int) -> None:
        """Take the leg up or down."""
        if up == self._up:
            return
        self._advance(now)
        self._up = up
        self._free = now
        self._plan()

    def flush(self, now: int, which: Callable[[T], bool] = lambda _: True) -> list[T]:
        """Take packets out of the leg, by default all.

        Returns:
            Those that :meth:`push` had promised and that will not come.
        """
        self._advance(now)
        flushed = [sdu for sdu in self._active if sdu.pending and which(sdu.packet)]
        for sdu in flushed:
            sdu.gone = True
        self._settled += len(flushed)
        self._dropped_flush += len(flushed)
        self._queue = deque(sdu for sdu in self._queue if not sdu.gone)
        self._queue_bytes = sum(sdu.size for sdu in self._queue)
        self._harq.forget_gone()
        self._retransmissions.forget_gone()
        self._release(now)
        self._plan()
        return [sdu.packet for sdu in flushed if not sdu.lost]

    def retune(
        self,
        now: int,
        *,
        capacity: Capacity | None = None,
        delay: DelayModel | None = None,
        loss: LossModel | None = None,
        block_error: float | None = None,
    ) -> None:
        """Change parameters without touching the queue; None leaves one as it is.

        A capacity (its times relative to :meth:`start`'s) and an error probability are for slots
        that end later than now, a delay is for what is not complete, a loss model for packets
        pushed from now on: the fate of the others has been told.

        Raises:
            ValueError: `block_error` is no probability.
        """
        self._advance(now)
        if block_error is not None:
            check_block_error(block_error)
            self._harq.error = block_error
        if capacity is not None:
            self._slots.anchor(self._slots.zero, capacity)
            self._plan()
        if delay is not None:
            self._delay = delay
        if loss is not None:
            self._loss = copy(loss)

    @property
    def is_up(self) -> bool:
        """Whether the leg sends, as :meth:`set_up` said last."""
        return self._up

    @property
    def mean_delay_ns(self) -> int:
        """Mean propagation delay as configured, and what HARQ adds to it on average."""
        return self._delay.mean_ns + self._harq.mean_wait_ns()

    def backlog_bytes(self, now: int) -> int:
        """Bytes not sent yet, and those that RLC is to send again (TS 38.322, clause 5.5)."""
        self._advance(now)
        bits = self._queue_bytes * 8 + self._retransmissions.bits
        if self._queue:
            bits -= self._queue[0].size * 8 - self._queue[0].unsent
        return -(-bits // 8)

    def has_room(self, now: int, more: int) -> bool:
        """Whether the queue would take a packet of `more` bytes at `now`."""
        self._advance(now)
        return (
            len(self._queue) < self._limit_packets and self._queue_bytes + more <= self._limit_bytes
        )

    @property
    def joined_packets(self) -> int:
        """Packets that joined the queue so far: the number of the latest one, from 1."""
        return self._joined_packets

    def served_packets(self, now: int) -> int:
        """Number of the last of them that left the queue with all before it by `now`."""
        self._advance(now)
        return self._queue[0].number - 1 if self._queue else self._joined_packets

    def service_end(self, now: int) -> int | None:
        """The end of the next slot that may carry of the queue (ns); None: none will as it is."""
        self._advance(now)
        if not self._queue or self._begin == _NEVER:
            return None
        earliest = self._slots.following(self._queue[0].pushed)
        return max(self._begin, earliest) + self._slots.length

    def drain_ns(self, now: int, more: int = 0) -> int | None:
        """How long the backlog and `more` bytes behind it take at the rate of `now`.

        HARQ's retransmissions, of which nobody knows before, take some of it.

        Returns:
            ns, or None where no time is known: the leg is down, its rate is 0, or it has ended.
        """
        ahead = self.backlog_bytes(now) + more
        if not self._up or self._stopped:
            return None
        rate = self._slots.rate_at(now)
        return -(-ahead * 8 * NS_PER_S // rate) if rate else None

    def statistics(self) -> RlcStatistics:
        """Counters and gauges as of the last call."""
        return RlcStatistics(
            pushed_packets=self._pushed_packets,
            pushed_bytes=self._pushed_bytes,
            delivered_packets=self._air.taken_packets,
            delivered_bytes=self._air.taken_bytes,
            dropped_queue=self._dropped_queue,
            dropped_loss=self._dropped_loss,
            dropped_stop=self._dropped_stop,
            dropped_flush=self._dropped_flush,
            queue_packets=len(self._queue),
            queue_bytes=self._queue_bytes,
            queue_max=self._queue_max,
            air_packets=(self._joined_packets - self._settled - len(self._queue) + len(self._air)),
            dropped_discard=self._dropped_discard,
            dropped_radio=self._dropped_radio,
            blocks=self._harq.blocks,
            harq_retransmissions=self._harq.retries,
            harq_failures=self._harq.failures,
            rlc_retransmissions=self._resent,
        )

    def _advance(self, now: int) -> None:
        """Let every slot that has ended by `now` carry what it carries."""
        if self._wake > now:
            return
        before = len(self._dropped)
        while self._begin + self._slots.length <= now:
            self._carry(self._begin)
            self._plan()
        self._discard(now)
        self._plan()
        if len(self._dropped) > before:
            self._news = now

    def _plan(self) -> None:
        """Find the next slot with work, and when something happens next."""
        self._begin = _NEVER
        self._stopped = False
        ready = self._ready()
        if self._up and ready is not None:
            begin = self._slots.carrying(self._slots.following(max(ready, self._free)))
            self._stopped = begin is None
            self._begin = _NEVER if begin is None else begin
        self._wake = min(self._begin + self._slots.length, self._expiry())

    def _ready(self) -> int | None:
        """From when on there is something to send."""
        queued = self._queue[0].pushed if self._queue else None
        moments = (queued, self._harq.first_due(), self._retransmissions.first_due())
        return min((moment for moment in moments if moment is not None), default=None)

    def _expiry(self) -> int:
        """When the first SDU of which nothing was sent is discarded: at a slot's begin."""
        discard, queue = self._rlc.discard_ns, self._queue
        if discard is None or not queue:
            return _NEVER
        if not queue[0].started:
            return self._slots.following(queue[0].pushed + discard)
        return self._slots.following(queue[1].pushed + discard) if len(queue) > 1 else _NEVER

    def _carry(self, begin: int) -> None:
        """Use the slot that begins at `begin`, and learn what was decoded."""
        self._discard(begin)
        self._free = end = begin + self._slots.length
        blocks, room = self._harq.resend(self._slots.bits(begin), begin)
        segments = list(self._segments(room, begin))
        if segments:
            blocks.append(self._harq.new_block(segments, begin))
        for block in blocks:
            outcome = self._harq.outcome(block, begin)
            if outcome is Outcome.DECODED:
                self._decoded(block, end)
            elif outcome is Outcome.GIVEN_UP:
                self._given_up(block, end)
        self._release(end)

    def _segments(self, room: int, begin: int) -> Iterator[Segment[T]]:
        """What a new block of `room` bits carries."""
        for segment in self._retransmissions.take(room, begin):
            self._resent += 1
            room -= segment[1]
            yield segment
        queue = self._queue
        while room and queue and queue[0].pushed <= begin:
            sdu = queue[0]
            bits = min(room, sdu.unsent)
            sdu.unsent -= bits
            room -= bits
            if not sdu.unsent:
                self._unqueue()
            yield sdu, bits

    def _decoded(self, block: Block[T], end: int) -> None:
        for sdu, bits in block.segments:
            sdu.missing -= bits
            if not sdu.missing and not sdu.gone:
                sdu.complete = True
                if not self._rlc.in_order:
                    self._deliver(sdu, end)

    def _given_up(self, block: Block[T], end: int) -> None:
        """HARQ could not bring a block over: RLC sends its segments again, or drops their SDUs."""
        for sdu in dict.fromkeys(sdu for sdu, _ in block.segments):
            sdu.retransmitted += 1
            if self._rlc.mode == "um" or sdu.retransmitted > self._rlc.max_retx_threshold:
                self._lose(sdu)
        due = max(end, block.first + self._rlc.status_ns)
        for segment in block.segments:
            if not segment[0].gone:
                self._retransmissions.put(due, segment)

    def _lose(self, sdu: Sdu[T]) -> None:
        """Give up an SDU; the rest of it is not sent."""
        if sdu.gone:
            return
        if sdu.unsent:
            self._unqueue()
        self._dropped_radio += 1
        self._drop(sdu)
        self._retransmissions.forget_gone()

    def _discard(self, now: int) -> None:
        """Drop those whose discardTimer has expired before a slot that begins by `now`."""
        while self._expiry() <= now:
            started = self._queue.popleft() if self._queue[0].started else None
            sdu = self._unqueue()
            if started is not None:
                self._queue.appendleft(started)
            self._dropped_discard += 1
            self._drop(sdu)

    def _drop(self, sdu: Sdu[T]) -> None:
        sdu.gone = True
        self._settled += 1
        if not sdu.lost:
            self._dropped.append(sdu.packet)

    def _release(self, now: int) -> None:
        """Let go from the front what is complete or dropped; in order, this delivers it."""
        active = self._active
        while active and not active[0].pending:
            sdu = active.popleft()
            if sdu.complete and self._rlc.in_order:
                self._deliver(sdu, now)

    def _deliver(self, sdu: Sdu[T], now: int) -> None:
        self._settled += 1
        if sdu.lost:
            self._dropped_loss += 1
        else:
            self._air.put((now + self._delay.sample(self._delay_rng), sdu.size, sdu.packet))

    def _unqueue(self) -> Sdu[T]:
        """Take the queue's first."""
        sdu = self._queue.popleft()
        self._queue_bytes -= sdu.size
        return sdu

    def _refuse(self) -> bool:
        """Take back the newest packet: the capacity has ended."""
        self._active.pop()
        self._queue_bytes -= self._queue.pop().size
        self._joined_packets -= 1
        self._dropped_stop += 1
        self._plan()
        return False
