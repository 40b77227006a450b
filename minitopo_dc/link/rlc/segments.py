"""SDUs of RLC on their way, and the segments of them that are to be sent again."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")


class Sdu(Generic[T]):
    """A packet in RLC, counted in bits of the packet alone.

    Headers of RLC and MAC are not modelled.
    """

    __slots__ = (
        *("complete", "gone", "lost", "missing", "number", "packet", "pushed"),
        *("retransmitted", "size", "unsent"),
    )

    def __init__(self, packet: T, size: int, *, number: int, pushed: int, lost: bool) -> None:
        self.packet = packet
        self.size = size
        self.number = number
        self.pushed = pushed
        self.lost = lost
        """Whether it will be lost behind the radio."""
        self.unsent = size * 8
        """Bits that no block has carried yet."""
        self.missing = size * 8
        """Bits that the receiver does not have yet."""
        self.retransmitted = 0
        """How often RLC was to send some of it again."""
        self.complete = False
        self.gone = False
        """Whether it was dropped: bits of it that still come are ignored."""

    @property
    def started(self) -> bool:
        """Return whether some of it was sent."""
        return self.unsent < self.size * 8

    @property
    def pending(self) -> bool:
        """Return whether it is neither complete nor dropped."""
        return not (self.complete or self.gone)


Segment = tuple[Sdu[T], int]
"""Some of an SDU's bits; which of them is no matter."""


class RetransmissionBuffer(Generic[T]):
    """Segments that RLC sends again, each from its due time (ns) on."""

    __slots__ = ("_number", "_segments", "bits")

    def __init__(self) -> None:
        self._segments: list[tuple[int, int, Sdu[T], int]] = []
        self._number = 0  # decides between equal times, so that SDUs are never compared
        self.bits = 0
        """Bits of all segments in the buffer."""

    def put(self, due: int, segment: Segment[T]) -> None:
        """Add a segment that may be sent from `due` (ns) on."""
        self._number += 1
        heappush(self._segments, (due, self._number, *segment))
        self.bits += segment[1]

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
        self.bits = sum(entry[3] for entry in self._segments)
