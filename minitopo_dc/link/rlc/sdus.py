"""SDUs of a leg with RLC: to be sent, to be sent again, and to be complete at the receiver."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from minitopo_dc.link.discipline import LegPacket
from minitopo_dc.link.propagation import Propagation

T = TypeVar("T")


class RlcSdu(LegPacket[T]):
    """A packet in RLC, counted in bits of the packet and of its headers."""

    __slots__ = (
        *("begun", "bits", "complete", "gone", "missing", "retransmitted", "sent", "unsent"),
    )

    def __init__(
        self, packet: T, size: int, *joined: int, lost: bool, ecn: int = 0, header_bytes: int = 0
    ) -> None:
        super().__init__(packet, size, *joined, lost=lost, ecn=ecn)
        self.bits = 8 * (size + header_bytes)
        """Of the packet and its headers."""
        self.unsent = self.bits
        """Bits that no block has carried yet."""
        self.missing = self.bits
        """Bits that the receiver does not have yet."""
        self.retransmitted = 0
        """How often RLC was to send some of it again."""
        self.begun = self.sent = 0
        """The begin of the first slot that carried some of it, and the end of the slot by which all
        of it was sent once (ns)."""
        self.complete = False
        self.gone = False
        """Whether it was dropped: bits of it that still come are ignored."""

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
    """Segments that RLC sends again, each from its due time (ns) on.

    A segment that the receiver does not miss yet has no due time: nothing sent later has arrived.
    """

    __slots__ = ("_number", "_segments", "_unmissed", "bits")

    def __init__(self) -> None:
        self._segments: list[tuple[int, int, RlcSdu[T], int]] = []
        self._unmissed: list[tuple[int, Segment[T]]] = []  # with when their blocks were sent first
        self._number = 0  # decides between equal times, so that SDUs are never compared
        self.bits = 0
        """Bits of all segments in the buffer."""

    def put(self, due: int, segment: Segment[T]) -> None:
        """Add a segment that may be sent from `due` (ns) on."""
        self._push(due, segment)
        self.bits += segment[1]

    def put_unmissed(self, first: int, segment: Segment[T]) -> None:
        """Add a segment of a block sent first at `first` (ns), which the receiver does not miss."""
        self._unmissed.append((first, segment))
        self.bits += segment[1]

    @property
    def has_unmissed(self) -> bool:
        """Return whether the receiver does not miss some segment yet."""
        return bool(self._unmissed)

    def miss(self, before: int, due: int) -> None:
        """Let what was sent before a moment be sent again from `due` on (ns)."""
        unmissed, self._unmissed = self._unmissed, []
        for first, segment in unmissed:
            if first < before:
                self._push(due, segment)
            else:
                self._unmissed.append((first, segment))

    def first_due(self) -> int | None:
        """Return when the next segment may be sent (ns), None if there is none."""
        return self._segments[0][0] if self._segments else None

    def take(self, room: int, begin: int) -> Iterator[Segment[T]]:
        """Yield the segments due at `begin`, up to `room` bits; the last may be cut."""
        while room and self._segments and self._segments[0][0] <= begin:
            due, number, sdu, bits = heappop(self._segments)
            sent = min(bits, room)
            if sent < bits:
                heappush(self._segments, (due, number, sdu, bits - sent))
            self.bits -= sent
            room -= sent
            yield sdu, sent

    def purge(self) -> None:
        """Drop the segments of SDUs that were dropped."""
        self._segments = [entry for entry in self._segments if not entry[2].gone]
        heapify(self._segments)
        self._unmissed = [entry for entry in self._unmissed if not entry[1][0].gone]
        self.bits = sum(entry[3] for entry in self._segments)
        self.bits += sum(segment[1] for _, segment in self._unmissed)

    def _push(self, due: int, segment: Segment[T]) -> None:
        self._number += 1
        heappush(self._segments, (due, self._number, *segment))


class SduQueue(Generic[T]):
    """SDUs that are not completely sent yet; the first may be sent in part.

    Args:
        discard: discardTimer (TS 38.323, clause 5.3) in ns, None: infinity. It holds for SDUs of
            which nothing was sent.
    """

    __slots__ = ("_discard", "_sdus", "bytes")

    def __init__(self, discard: int | None) -> None:
        self._discard = discard
        self._sdus: deque[RlcSdu[T]] = deque()
        self.bytes = 0
        """Bytes of its SDUs, with those of the first that are sent already."""

    def __len__(self) -> int:
        """Return the number of SDUs in the queue."""
        return len(self._sdus)

    def __iter__(self) -> Iterator[RlcSdu[T]]:
        """Return an iterator over the SDUs, from the first."""
        return iter(self._sdus)

    def append(self, sdu: RlcSdu[T]) -> None:
        """Add an SDU behind the others."""
        self._sdus.append(sdu)
        self.bytes += sdu.size

    def first(self) -> RlcSdu[T] | None:
        """Return the first SDU and leave it where it is."""
        return self._sdus[0] if self._sdus else None

    def pop(self) -> RlcSdu[T]:
        """Remove and return the first SDU."""
        sdu = self._sdus.popleft()
        self.bytes -= sdu.size
        return sdu

    def take_back(self) -> RlcSdu[T]:
        """Remove and return the last SDU."""
        sdu = self._sdus.pop()
        self.bytes -= sdu.size
        return sdu

    @property
    def unsent_bits(self) -> int:
        """Return the bits in the queue that were not sent."""
        if not self._sdus:
            return 0
        first = self._sdus[0]
        headers = len(self._sdus) * (first.bits - first.size * 8)
        return self.bytes * 8 + headers - first.bits + first.unsent

    def expiry(self) -> int | None:
        """Return when discardTimer ends for the first SDU of which nothing was sent (ns)."""
        position = self._first_whole()
        if self._discard is None or len(self._sdus) <= position:
            return None
        return self._sdus[position].pushed + self._discard

    def expire(self) -> RlcSdu[T]:
        """Remove and return the first SDU of which nothing was sent."""
        position = self._first_whole()
        sdu = self._sdus[position]
        del self._sdus[position]
        self.bytes -= sdu.size
        return sdu

    def purge(self) -> None:
        """Remove the SDUs that were dropped."""
        self._sdus = deque(sdu for sdu in self._sdus if not sdu.gone)
        self.bytes = sum(sdu.size for sdu in self._sdus)

    def _first_whole(self) -> int:
        return 1 if self._sdus and self._sdus[0].started else 0


class Reassembly(Generic[T]):
    """SDUs from the moment they join the leg's queue until they arrive or are dropped.

    Args:
        air: takes what is delivered.
        in_order: whether an SDU that is complete waits for those before it.
    """

    __slots__ = ("_active", "_air", "_in_order", "settled")

    def __init__(self, air: Propagation[T], *, in_order: bool) -> None:
        self._air = air
        self._in_order = in_order
        # In order of joining: SDUs neither delivered nor dropped, and some that are.
        self._active: deque[RlcSdu[T]] = deque()
        self.settled = 0
        """SDUs delivered or dropped."""

    def expect(self, sdu: RlcSdu[T]) -> None:
        """Note that an SDU joins the leg's queue."""
        self._active.append(sdu)

    def forget_last(self) -> None:
        """Forget the SDU that joined last, as it was taken back."""
        self._active.pop()

    def pending(self, which: Callable[[T], bool]) -> list[RlcSdu[T]]:
        """Return the SDUs neither complete nor dropped for whose packet `which` is true."""
        return [sdu for sdu in self._active if sdu.pending and which(sdu.packet)]

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

    def _deliver(self, sdu: RlcSdu[T], now: int) -> None:
        self.settled += 1
        self._air.send(sdu, sdu.begun, sdu.sent, now)
