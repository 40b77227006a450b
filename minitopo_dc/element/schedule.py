"""Outages: legs that go down and come up at set times after the start."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from minitopo_dc.element.settings import ElementLeg
from minitopo_dc.link import Leg

NS_PER_S = 1_000_000_000


class HasLeg(Protocol):
    """A leg's driver, over real packets or in virtual time."""

    @property
    def leg(self) -> Leg[Any]:
        """The leg."""


class Schedule:
    """The outages of all legs; a timed part of the loop."""

    def __init__(self, legs: Iterable[ElementLeg], drivers: Mapping[int, HasLeg]) -> None:
        self._drivers = drivers
        self._start: int | None = None
        moments = (
            (round(moment * NS_PER_S), leg.leg, up)
            for leg in legs
            for outage in leg.radio.outages
            for moment, up in zip(outage, (False, True), strict=True)
        )
        self._changes = deque(sorted(moments))

    def start(self, now: int) -> None:
        """Outages count from ``now``."""
        self._start = now

    def next_timeout(self) -> int | None:
        """When the next leg changes."""
        if self._start is None or not self._changes:
            return None
        return self._start + self._changes[0][0]

    def handle(self, now: int) -> None:
        """Make the next change."""
        _, leg, up = self._changes.popleft()
        self._drivers[leg].leg.set_up(up, now)
