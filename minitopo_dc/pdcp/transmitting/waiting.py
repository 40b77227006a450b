"""The buffer of SDUs that wait until a leg takes them, with a limit and discardTimer."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Generic, TypeVar

from minitopo_dc.pdcp.formats.classify import PacketFacts

T = TypeVar("T")


@dataclass(slots=True)
class Waiting(Generic[T]):
    """An SDU of `size` bytes that came at `arrived` (ns), with facts of its headers if needed."""

    sdu: T
    size: int
    arrived: int
    facts: PacketFacts | None
    count: int | None
    """Its COUNT; None: it gets one when it is sent."""


class SduBuffer(Generic[T]):
    """SDUs in order of arrival, each for as long as discardTimer (TS 38.323 clauses 5.2.1, 5.3).

    Args:
        packets: the most that may wait here and in the legs' queues together, None: any number.
            One more is dropped as it arrives.
        discard_timer: ns, None: infinity. An SDU that has waited so long is discarded then, by
            the call that is the first at or after that moment.
        size: the same of their bytes.
    """

    def __init__(
        self, packets: int | None, discard_timer: int | None, size: int | None = None
    ) -> None:
        self._packets = packets
        self._size = size
        self._discard_timer = discard_timer
        self._waiting: deque[Waiting[T]] = deque()
        self._expired: list[T] = []
        self.bytes = 0
        """Bytes of the SDUs that wait."""
        self.dropped = 0
        """SDUs that found the buffer full."""
        self.discarded = 0
        """SDUs that discardTimer has ended for."""
        self.most = 0
        """The most SDUs that ever waited."""

    def __len__(self) -> int:
        """Return how many SDUs wait."""
        return len(self._waiting)

    def push(
        self,
        sdu: T,
        size: int,
        now: int,
        *,
        facts: PacketFacts | None = None,
        on_legs: tuple[int, int] = (0, 0),
        count: int | None = None,
    ) -> bool:
        """Take an SDU of `size` bytes beside the SDUs and bytes `on_legs`.

        Returns:
            False: there is no room, it is dropped.
        """
        self.expire(now)
        if self.is_full(size, on_legs):
            self.dropped += 1
            return False
        self._waiting.append(Waiting(sdu, size, now, facts, count))
        self.bytes += size
        self.most = max(self.most, len(self._waiting))
        return True

    def without_number(self, *, early: bool) -> int:
        """Return how many SDUs came and used no COUNT; `early`: all that wait have one."""
        return self.dropped if early else self.dropped + self.discarded + len(self)

    def is_full(self, size: int, on_legs: tuple[int, int]) -> bool:
        """Return whether no SDU of `size` may wait beside the SDUs and bytes in legs' queues."""
        packets, filled = on_legs
        if self._packets is not None and len(self._waiting) + packets >= self._packets:
            return True
        return self._size is not None and self.bytes + filled + size > self._size

    def expire(self, now: int) -> None:
        """Discard what has waited for discardTimer by `now` (ns)."""
        while (end := self.next_timeout()) is not None and end <= now:
            self._expired.append(self.pop().sdu)
            self.discarded += 1

    def first(self) -> Waiting[T] | None:
        """Return the SDU that is next and leave it where it is."""
        return self._waiting[0] if self._waiting else None

    @property
    def bytes_behind(self) -> int:
        """Return the bytes of the SDUs behind the first."""
        return self.bytes - self._waiting[0].size if self._waiting else 0

    def pop(self) -> Waiting[T]:
        """Remove and return the SDU that is next."""
        first = self._waiting.popleft()
        self.bytes -= first.size
        return first

    def take_expired(self) -> list[T]:
        """Return the SDUs discarded since the last call."""
        expired, self._expired = self._expired, []
        return expired

    def next_timeout(self) -> int | None:
        """Return when discardTimer of the first SDU ends (ns), None if it is infinite."""
        if self._discard_timer is None or not self._waiting:
            return None
        return self._waiting[0].arrived + self._discard_timer
