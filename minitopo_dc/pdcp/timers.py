"""The values of PDCP's timers (TS 38.331 clause 6.3.2, PDCP-Config), and an adaptive one."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from minitopo_dc.units import NS_PER_MS, check_within

INFINITY: Final = "infinity"
ADAPTIVE: Final = "adaptive"

T_REORDERING_MS: Final = (
    *(0, 1, 2, 4, 5, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120, 140, 160, 180, 200, 220, 240),
    *(260, 280, 300, 500, 750, 1000, 1250, 1500, 1750, 2000, 2250, 2500, 2750, 3000),
)
"""What t-Reordering may be, beside infinity, which it is where RRC leaves it out."""
DISCARD_TIMER_MS: Final = (10, 20, 30, 40, 50, 60, 75, 100, 150, 200, 250, 300, 500, 750, 1500)
"""What discardTimer may be, beside infinity."""


@dataclass(frozen=True, slots=True)
class Timer:
    """How long a timer runs: a time, to infinity, or as long as the receiver finds to do.

    Attributes:
        ns: the time; None where there is none.
        is_adaptive: of t-Reordering: the receiving entity sets it (`AdaptiveTReordering`).

    Raises:
        ValueError: a negative time.
    """

    ns: int | None = None
    is_adaptive: bool = False

    def __post_init__(self) -> None:
        check_within(self, 0, math.inf, "ns")

    @property
    def setting(self) -> float | str:
        """Return what a setting has for it: ms, `infinity` or `adaptive`."""
        if self.ns is None:
            return ADAPTIVE if self.is_adaptive else INFINITY
        return self.ns / NS_PER_MS

    def __str__(self) -> str:
        """Return the setting as text."""
        return self.setting if isinstance(self.setting, str) else f"{self.setting:g}"

    @classmethod
    def t_reordering(cls, value: float | str) -> Timer:
        """Return the t-Reordering of a setting: ms of the standard, `infinity` or `adaptive`.

        Raises:
            ValueError: another value.
        """
        if value == ADAPTIVE:
            return cls(is_adaptive=True)
        return cls._of("t-Reordering", value, T_REORDERING_MS, f"{INFINITY}, or {ADAPTIVE}")

    @classmethod
    def discard(cls, value: float | str) -> Timer:
        """Return the discardTimer of a setting: ms of the standard, or `infinity`.

        Raises:
            ValueError: another value.
        """
        return cls._of("discardTimer", value, DISCARD_TIMER_MS, INFINITY)

    @classmethod
    def _of(cls, name: str, value: float | str, standard: Sequence[int], words: str) -> Timer:
        if value == INFINITY:
            return cls()
        if value not in standard:
            allowed = ", ".join(map(str, standard))
            raise ValueError(f"{name} {value!r} ms: must be one of {allowed}, {words}")
        return cls(int(value) * NS_PER_MS)


INFINITE: Final = Timer()


VALUES_NS: Final = tuple(value * NS_PER_MS for value in T_REORDERING_MS)
"""The finite values of the standard."""
LOWEST_NS: Final = VALUES_NS[1]
"""1 ms: with 0 nothing is ever waited for, and so nothing learned but from what is too late."""
HIGHEST_NS: Final = VALUES_NS[-1]
INITIAL_NS: Final = 200 * NS_PER_MS
"""The papers' value (thesis, table 4.3)."""
WINDOW_NS: Final = 2_000 * NS_PER_MS
MARGIN: Final = 2


class AdaptiveTReordering:
    """Learns a t-Reordering from the gaps that a receiving entity tells it of; times in ns.

    1. A gap opens when a PDU arrives with a COUNT above RX_NEXT. When a COUNT of the gap arrives,
       its reordering delay is the time since then. A COUNT that arrives after it was given up
       counts as well: t-Reordering was too short for it.
    2. Each leg remembers the longest reordering delay of the PDUs that it delivered in the last
       `WINDOW_NS` in which there were any.
    3. The value is `MARGIN` times the longest delay of all legs, rounded up to a value of the
       standard, from `LOWEST_NS` to the longest finite value. It is `INITIAL_NS` while no leg
       remembers a delay, and at least that until a window has passed since the first gap.

    In the standard RRC configures t-Reordering (TS 38.331, PDCP-Config). Here the receiving entity
    takes the value each time that the timer starts; RRC could have configured each such value.

    The rule uses a maximum, not the smoothed value plus four deviations of RFC 6298. In a batch of
    the split policy each COUNT is missing for longer than the one before, and on some legs no PDU
    is late. Mean and deviation of these delays are far below the delay of a batch's last PDU, and a
    timer that is slightly too short loses PDUs that would have arrived.

    Args:
        legs: number of legs that PDUs come from.
    """

    def __init__(self, legs: int) -> None:
        # Time and delay, of each leg: a delay is kept until a longer one comes, so they descend.
        self._longest: list[deque[tuple[int, int]]] = [deque() for _ in range(legs)]
        # First COUNT, COUNT after the last, and since when: COUNTs and times ascend.
        self._gaps: deque[tuple[int, int, int]] = deque()
        self._learns_until: int | None = None

    def opened(self, first: int, end: int, now: int) -> None:
        """Note a gap: a PDU arrived at `now` with COUNT `end`, from `first` on all are missing.

        These COUNTs have never been received, and no COUNT from `first` on has.
        """
        gaps = self._gaps
        while gaps and now - gaps[0][2] > HIGHEST_NS:
            gaps.popleft()  # for what is still missing there no value would be long enough
        gaps.append((first, end, now))
        if self._learns_until is None:
            self._learns_until = now + WINDOW_NS

    def arrived(self, count: int, leg: int, now: int) -> None:
        """Note that a missing COUNT arrived on `leg` at `now`, whether it was given up or not."""
        index = bisect_right(self._gaps, count, key=itemgetter(1))
        if index < len(self._gaps) and self._gaps[index][0] <= count:
            delay, kept = now - self._gaps[index][2], self._longest[leg]
            while kept and kept[-1][1] <= delay:
                kept.pop()
            kept.append((now, delay))

    def value(self, now: int) -> int:
        """Return the t-Reordering (ns, a value of the standard) of a timer that starts at `now`."""
        for kept in self._longest:
            while kept and now - kept[0][0] > WINDOW_NS:
                kept.popleft()
        known = [kept[0][1] for kept in self._longest if kept]
        needed = max(known) * MARGIN if known else INITIAL_NS
        if self._learns_until is None or now < self._learns_until:
            needed = max(needed, INITIAL_NS)
        needed = min(max(needed, LOWEST_NS), HIGHEST_NS)
        return VALUES_NS[bisect_left(VALUES_NS, needed)]
