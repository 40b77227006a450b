"""Virtual time: a queue of events, in int nanoseconds."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

START_NS = 1_000_000_000
"""Time of the first event. Not 0: NewReno in aioquic takes what is sent at 0 for in recovery."""


class AnyTimer(Protocol):
    """One moment at which something wants to be called, on either core."""

    @property
    def at(self) -> int | None:
        """When (ns); None: not at all."""

    def set(self, moment: int | None) -> None:
        """Fire at `moment` and not when it was set for before; None: not at all."""

    def bring_forward(self, moment: int) -> None:
        """Fire at `moment` unless it fires before."""


class AnyLoop(Protocol):
    """Virtual time on either core."""

    @property
    def now(self) -> int:
        """The time in ns."""

    def timer(self, fire: Callable[[], None]) -> AnyTimer:
        """Return a timer that is not set yet."""

    def stop(self) -> None:
        """End `run` after the current event."""

    def run(self, end: int) -> None:
        """Fire what is due until `stop`, until `end` (ns), or until nothing is left to do."""


class Loop:
    """Fires timers in order of time; timers of the same moment in the order they were set."""

    def __init__(self) -> None:
        self.now = START_NS
        self.events: list[tuple[int, int, Timer]] = []
        """What `Timer` has asked for, with a number that tells which came first."""
        self.number = 0
        self._stopping = False

    def timer(self, fire: Callable[[], None]) -> Timer:
        """Return a timer that is not set yet."""
        return Timer(self, fire)

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


class Timer:
    """One moment at which something wants to be called; `fire` may set it again."""

    __slots__ = ("_loop", "at", "fire")

    def __init__(self, loop: Loop, fire: Callable[[], None]) -> None:
        self.at: int | None = None
        self.fire = fire
        self._loop = loop

    def set(self, moment: int | None) -> None:
        """Fire at `moment` and not when it was set for before; None: not at all."""
        if moment != self.at:
            self.at = moment
            if moment is not None:
                loop = self._loop
                loop.number += 1
                heappush(loop.events, (moment, loop.number, self))

    def bring_forward(self, moment: int) -> None:
        """Fire at `moment` unless it fires before."""
        if self.at is None or moment < self.at:
            self.set(moment)


class Timed(Protocol):
    """Something that has to act at a moment it names, as in the element's loop."""

    def next_timeout(self) -> int | None:
        """Return when (ns)."""

    def handle(self, now: int) -> None:
        """Do what is due at `now`."""


class TimedPart:
    """Lets a part act when it wants to."""

    def __init__(self, loop: AnyLoop, part: Timed) -> None:
        self._loop = loop
        self._part = part
        self._timer = loop.timer(self._fire)

    def rearm(self) -> None:
        """Ask the part for its moment; to be called at the start."""
        self._timer.set(self._part.next_timeout())

    def _fire(self) -> None:
        self._part.handle(self._loop.now)
        self.rearm()
