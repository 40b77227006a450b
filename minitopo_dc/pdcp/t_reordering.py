"""The values that t-Reordering may have."""

from __future__ import annotations

from typing import Final, Literal

Infinity = Literal["infinity"]
ADAPTIVE: Final = "adaptive"
"""In place of a value: it follows what is seen (`adaptive_t_reordering`)."""

# TS 38.331 clause 6.3.2, PDCP-Config, field t-Reordering; left out there, it means infinity.
T_REORDERING_VALUES: Final[tuple[int | Infinity, ...]] = (
    *(0, 1, 2, 4, 5, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120, 140, 160, 180, 200, 220, 240),
    *(260, 280, 300, 500, 750, 1000, 1250, 1500, 1750, 2000, 2250, 2500, 2750, 3000),
    "infinity",
)
"""What the standard allows, in milliseconds."""


def check_t_reordering(value: float | str) -> int | None:
    """A value of the standard (ms, or `"infinity"`) in ns, None for infinity.

    Raises:
        ValueError: the standard does not have it.
    """
    if value not in T_REORDERING_VALUES:
        allowed = ", ".join(map(str, T_REORDERING_VALUES))
        raise ValueError(f"t-Reordering {value!r} ms: must be one of {allowed}, or {ADAPTIVE}")
    return None if value == "infinity" else int(value) * 1_000_000
