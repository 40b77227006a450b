"""Numbers as a report writes them: three significant digits, and their unit."""

from __future__ import annotations

import math

from minitopo_dc.statistics import Proportion

NONE = "-"
"""The text in place of a missing number."""
DIGITS = 3
MINUTE_S, HOUR_S = 60, 3600


def significant(value: float | None, *, sign: bool = False) -> str:
    """Return a number with three significant digits: 0.950, 31.0, 1,230."""
    if value is None or math.isnan(value):
        return NONE
    plus = "+" if sign and value > 0 else ""
    if math.isinf(value):
        return f"{'-' if value < 0 else plus}∞"
    rounded = float(f"{value:.{DIGITS}g}")
    places = DIGITS - 1 - (math.floor(math.log10(abs(rounded))) if rounded else 0)
    return f"{plus}{rounded:,.{max(0, places)}f}" if rounded else "0"


def percent(share: float) -> str:
    """Return a share in per cent, with its unit."""
    return f"{significant(100 * share)} %"


def interval(low: float, high: float) -> str:
    """Return the ends of an interval as text; empty where there is none."""
    if math.isnan(low) or math.isnan(high):
        return ""
    return f"{significant(low)} to {significant(high)}"


def share(proportion: Proportion) -> str:
    """Return a share with its 95 % interval: `59.4 % (42.3 to 74.5 %)`."""
    ends = interval(100 * proportion.low, 100 * proportion.high)
    return f"{percent(proportion.share)} ({ends} %)"


def duration(seconds: float) -> str:
    """Return a time in the unit that makes it easy to read."""
    if seconds < 2 * MINUTE_S:
        return f"{significant(seconds)} s"
    if seconds < 2 * HOUR_S:
        return f"{significant(seconds / MINUTE_S)} min"
    return f"{significant(seconds / HOUR_S)} h"


def counted(number: int, one: str) -> str:
    """Return a number with its noun: `1 run`, `2 runs`."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"
