"""How much a trace may say: what is beyond is a wrong unit, or more than memory holds."""

from __future__ import annotations

import math

MOST_BPS = 10**12
"""1 Tbit/s, as of a leg's rate."""
LONGEST_S = 604_800
"""A week: a longer trace has times in another unit than is said, or two logs in one."""
SHORTEST_NS = 1_000_000
"""1 ms, the finest step of Mahimahi's format: of a leg's trace, which may loop."""
MOST_STEPS = 10_000_000
"""Of what is made: windows, steps, opportunities. Some 1 GB of memory."""
LONGEST_LINE = 100_000
"""Characters; the widest known table has some hundred columns."""
LONGEST_FILE = 1_000_000_000
"""Bytes."""


def in_range(name: str, value: float, least: float, most: float, unit: str = "") -> None:
    """Refuse a number outside its range, and NaN.

    Raises:
        ValueError: naming it and what is allowed.
    """
    if not least <= value <= most or math.isnan(value):
        allowed = f"{least:,g} to {most:,g} {unit}".strip()
        raise ValueError(f"{name} = {value:g}: must be {allowed}")
