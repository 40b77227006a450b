"""The values of PDCP's timers (TS 38.331 clause 6.3.2, PDCP-Config)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from minitopo_dc.units import NS_PER_MS

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
        """Refuse a negative time."""
        if self.ns is not None and self.ns < 0:
            raise ValueError(f"a timer of {self.ns} ns; allowed: 0 or more, None for infinity")

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
