"""SDUs of a leg with RLC: to be sent, to be sent again, and to be complete at the receiver."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Generic, TypeVar

from minitopo_dc.link.any_leg import NEVER
from minitopo_dc.link.discipline import LegPacket
from minitopo_dc.link.propagation import Propagation

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class RlcSdu(LegPacket[T]):
    """A packet in RLC, counted in bits of the packet and of its headers."""

    header_bytes: int = 0
    retransmitted: int = 0
    """How often RLC was to send some of it again."""
    begun: int = 0
    sent: int = 0
    """The begin of the first slot that carried some of it, and the end of the slot by which all of
    it was sent once (ns)."""
    complete: bool = False
    gone: bool = False
    """Whether it was dropped: bits of it that still come are ignored."""
    bits: int = field(init=False)
    """Of the packet and its headers."""
    unsent: int = field(init=False)
    """Bits that no block has carried yet."""
    missing: int = field(init=False)
    """Bits that the receiver does not have yet."""

    def __post_init__(self) -> None:
        self.bits = self.unsent = self.missing = 8 * (self.size + self.header_bytes)

    @property
    def started(self) -> bool:
        """Return whether some of it was sent."""
        return self.unsent < self.bits

    @property
    def pending(self) -> bool:
        """Return whether it is neither complete nor dropped."""
        return not (self.complete or self.gone)


Segment = tuple[RlcSdu[T], int]
"""Some of an SDU's bits; which of them is no matter."""


class RetransmissionBuffer(Generic[T]):
    """Segments that RLC sends again, in order of time.

    A segment that the receiver does not miss yet is due `NEVER`: nothing sent later has arrived.
    """

    def __init__(self) -> None:
        self._segments: list[tuple[int, int, Segment[T]]] = []

    @property
    def bits(self) -> int:
        """Return the bits of all segments."""
        return sum(bits for _, _, (_, bits) in self._segments)

    def put(self, due: int, first: int, segment: Segment[T]) -> None:
        """Add a segment of a block sent first at `first`, to be sent from `due` on (ns)."""
        insort(self._segments, (due, first, segment), key=itemgetter(0))

    @property
    def has_unmissed(self) -> bool:
        """Return whether the receiver does not miss some segment yet."""
        return bool(self._segments) and self._segments[-1][0] == NEVER

    def miss(self, before: int, due: int) -> None:
        """Let what the receiver misses now, sent before a moment, be sent from `due` on (ns)."""
        place = bisect_left(self._segments, NEVER, key=itemgetter(0))
        unmissed, self._segments = self._segments[place:], self._segments[:place]
        for _, first, segment in unmissed:
            self.put(due if first < before else NEVER, first, segment)

    def first_due(self) -> int | None:
        """Return when the next segment may be sent (ns), None if there is none."""
        first = self._segments[0][0] if self._segments else NEVER
        return None if first == NEVER else first

    def take(self, room: int, begin: int) -> Iterator[Segment[T]]:
        """Yield the segments due at `begin`, up to `room` bits; the last may be cut."""
        while room and self._segments and self._segments[0][0] <= begin:
            due, first, (sdu, bits) = self._segments.pop(0)
            sent = min(bits, room)
            if sent < bits:
                self._segments.insert(0, (due, first, (sdu, bits - sent)))
            room -= sent
            yield sdu, sent

    def purge(self) -> None:
        """Drop the segments of SDUs that were dropped."""
        self._segments = [entry for entry in self._segments if not entry[2][0].gone]


class Sdus(Generic[T]):
    """SDUs from joining the leg's queue until they arrive or are dropped.

    Those that are not completely sent yet are in the queue, whose first may be sent in part.

    Args:
        air: takes what is delivered.
        in_order: whether an SDU that is complete waits for those before it.
        discard: discardTimer (TS 38.323, clause 5.3) in ns, None: infinity. It holds for SDUs of
            which nothing was sent.
    """

    def __init__(self, air: Propagation[T], *, in_order: bool, discard: int | None) -> None:
        self._air = air
        self._in_order = in_order
        self._discard = discard
        # In order of joining: SDUs neither delivered nor dropped, and some that are.
        self._active: deque[RlcSdu[T]] = deque()
        self.queue: deque[RlcSdu[T]] = deque()
        self.bytes = 0
        """Bytes of the queue's SDUs, with those of the first that are sent already."""
        self.settled = 0
        """SDUs delivered or dropped."""

    def join(self, sdu: RlcSdu[T]) -> None:
        """Add an SDU behind the others."""
        self._active.append(sdu)
        self.queue.append(sdu)
        self.bytes += sdu.size

    def take_back(self) -> None:
        """Forget the SDU that joined last."""
        self.bytes -= self.queue.pop().size
        self._active.pop()

    def first(self) -> RlcSdu[T] | None:
        """Return the first SDU of the queue and leave it where it is."""
        return self.queue[0] if self.queue else None

    def pop(self) -> None:
        """Remove the first SDU from the queue."""
        self.bytes -= self.queue.popleft().size

    @property
    def unsent_bits(self) -> int:
        """Return the bits in the queue that were not sent."""
        if not self.queue:
            return 0
        first = self.queue[0]
        headers = len(self.queue) * (first.bits - first.size * 8)
        return self.bytes * 8 + headers - first.bits + first.unsent

    def expiry(self) -> int | None:
        """Return when discardTimer ends for the first SDU of which nothing was sent (ns)."""
        position = self._first_whole()
        if self._discard is None or len(self.queue) <= position:
            return None
        return self.queue[position].pushed + self._discard

    def expire(self) -> RlcSdu[T]:
        """Remove the first SDU of which nothing was sent from the queue, and return it."""
        position = self._first_whole()
        sdu = self.queue[position]
        del self.queue[position]
        self.bytes -= sdu.size
        return sdu

    def flush(self, which: Callable[[T], bool]) -> list[RlcSdu[T]]:
        """Drop the SDUs neither complete nor dropped for whose packet `which` is true."""
        flushed = [sdu for sdu in self._active if sdu.pending and which(sdu.packet)]
        for sdu in flushed:
            self.give_up(sdu)
        self.queue = deque(sdu for sdu in self.queue if not sdu.gone)
        self.bytes = sum(sdu.size for sdu in self.queue)
        return flushed

    def give_up(self, sdu: RlcSdu[T]) -> None:
        """Drop an SDU, which will never arrive."""
        sdu.gone = True
        self.settled += 1

    def receive(self, segments: Iterable[Segment[T]], now: int) -> None:
        """Take in the segments of a block that was decoded at `now` (ns)."""
        for sdu, bits in segments:
            sdu.missing -= bits
            if not sdu.missing and not sdu.gone:
                sdu.complete = True
                if not self._in_order:
                    self._deliver(sdu, now)

    def release(self, now: int) -> None:
        """Remove from the front what is complete or dropped; in order, this delivers it."""
        active = self._active
        while active and not active[0].pending:
            sdu = active.popleft()
            if sdu.complete and self._in_order:
                self._deliver(sdu, now)

    def _first_whole(self) -> int:
        return 1 if self.queue and self.queue[0].started else 0

    def _deliver(self, sdu: RlcSdu[T], now: int) -> None:
        self.settled += 1
        self._air.send(sdu, sdu.begun, sdu.sent, now)
