"""The event loop of virtual time, in int nanoseconds.

The loop takes the earliest timer from a heap, sets the time to the timer's moment, and calls it.
Timers of the same moment fire in the order in which they were set.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Generic, TypeVar

from minitopo_dc.router.drivers import Timed

T = TypeVar("T")
START_NS = 1_000_000_000
"""The time of the first event. It is not 0, as NewReno in aioquic takes what is sent at 0 for in
recovery."""


class VirtualLoop:
    """An event loop that fires timers in order of time, and of one moment in order of setting."""

    def __init__(self) -> None:
        self.now = START_NS
        self.events: list[tuple[int, int, LoopTimer]] = []
        """The events that timers have asked for, with a number that tells which came first."""
        self.number = 0
        self._stopping = False

    def timer(self, fire: Callable[[], None]) -> LoopTimer:
        """Return a timer that is not set yet."""
        return LoopTimer(self, fire)

    def add_timed(self, part: Timed, *, first: bool = False) -> Callable[[], None]:  # noqa: ARG002
        """Call a part at the moments that it names, whose order is of time.

        Returns:
            what asks the part for its next moment; to be called once at the start, too.
        """
        handle, next_timeout = part.handle, part.next_timeout

        def fire() -> None:
            handle(self.now)
            timer.set(next_timeout())

        timer = self.timer(fire)
        return lambda: timer.set(next_timeout())

    def stop(self) -> None:
        """End `run` after the current event."""
        self._stopping = True

    def run(self, end: int) -> None:
        """Fire what is due until `stop`, until `end` (ns), or until nothing is left to do."""
        events = self.events
        while events and not self._stopping:
            moment, _, timer = heappop(events)
            if timer.at != moment:
                continue  # set to another time since
            if moment > end:
                return
            self.now = moment
            timer.at = None
            timer.fire()


class LoopTimer:
    """A timer with one moment at which it calls `fire`, which may set it again."""

    __slots__ = ("_loop", "at", "fire")

    def __init__(self, loop: VirtualLoop, fire: Callable[[], None]) -> None:
        self.at: int | None = None
        self.fire = fire
        self._loop = loop

    def set(self, moment: int | None) -> None:
        """Fire at `moment` (ns) instead of the moment set before; None: not at all."""
        if moment != self.at:
            self.at = moment
            if moment is not None:
                loop = self._loop
                loop.number += 1
                heappush(loop.events, (moment, loop.number, self))

    def bring_forward(self, moment: int) -> None:
        """Fire at `moment` (ns) unless the timer fires before."""
        if self.at is None or moment < self.at:
            self.set(moment)


class WaitingLine(Generic[T]):
    """A queue whose items wait for their moments, none of which is before that of the one ahead."""

    def __init__(self, loop: VirtualLoop, take: Callable[[T], None]) -> None:
        """Give each item to `take` at its moment."""
        self._loop = loop
        self._take = take
        self._items: deque[tuple[int, T]] = deque()
        self._timer = loop.timer(self._fire)

    def push(self, item: T, due: int) -> None:
        """Hold an item until `due` (ns)."""
        self._items.append((due, item))
        self._timer.bring_forward(due)

    def _fire(self) -> None:
        items, now = self._items, self._loop.now
        while items and items[0][0] <= now:
            self._take(items.popleft()[1])
        self._timer.set(items[0][0] if items else None)
