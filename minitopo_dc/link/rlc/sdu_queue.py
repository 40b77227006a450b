"""The queue of a leg with RLC at the transmitting half: drop-tail, with discardTimer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from minitopo_dc.link.any_leg import LegParameters
from minitopo_dc.link.rlc.segments import Sdu

T = TypeVar("T")

_UNLIMITED: Final = 1 << 100
"""In packets or bytes: beyond any run."""


class SduQueue(Generic[T]):
    """SDUs that are not completely sent yet; the first may be sent in part.

    Args:
        parameters: the queue's limits.
        discard: discardTimer (TS 38.323, clause 5.3) in ns, None: infinity. It holds for SDUs of
            which nothing was sent.
    """

    __slots__ = ("_discard", "_limit_bytes", "_limit_packets", "_sdus", "bytes")

    def __init__(self, parameters: LegParameters, discard: int | None) -> None:
        self._limit_packets = parameters.queue_packets or _UNLIMITED
        self._limit_bytes = parameters.queue_bytes or _UNLIMITED
        self._discard = discard
        self._sdus: deque[Sdu[T]] = deque()
        self.bytes = 0
        """Bytes of its SDUs, with those of the first that are sent already."""

    def __len__(self) -> int:
        """Return the number of SDUs in the queue."""
        return len(self._sdus)

    def __iter__(self) -> Iterator[Sdu[T]]:
        """Return an iterator over the SDUs, from the first."""
        return iter(self._sdus)

    def has_room(self, more: int) -> bool:
        """Return whether the queue takes an SDU of `more` bytes."""
        return len(self._sdus) < self._limit_packets and self.bytes + more <= self._limit_bytes

    def append(self, sdu: Sdu[T]) -> None:
        """Add an SDU behind the others."""
        self._sdus.append(sdu)
        self.bytes += sdu.size

    def first(self) -> Sdu[T] | None:
        """Return the first SDU and leave it where it is."""
        return self._sdus[0] if self._sdus else None

    def pop(self) -> Sdu[T]:
        """Remove and return the first SDU."""
        sdu = self._sdus.popleft()
        self.bytes -= sdu.size
        return sdu

    def take_back(self) -> Sdu[T]:
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
        return self.bytes * 8 - first.size * 8 + first.unsent

    def expiry(self) -> int | None:
        """Return when discardTimer ends for the first SDU of which nothing was sent (ns)."""
        position = self._first_whole()
        if self._discard is None or len(self._sdus) <= position:
            return None
        return self._sdus[position].pushed + self._discard

    def expire(self) -> Sdu[T]:
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
