"""Checks of split policies' parameters."""

from __future__ import annotations

import math
from typing import Any

from minitopo_dc.pdcp.policy import PolicyError


def checked_number(policy: str, name: str, value: Any, low: float, high: float = math.inf) -> float:
    """`value` if it is a finite number from `low` to `high`.

    Raises:
        PolicyError: it is not; the message names policy, parameter and range.
    """
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not known or not math.isfinite(value) or not low <= value <= high:
        raise _refused(policy, f"{name} is {value!r}, must be a number", low, high)
    return float(value)


def checked_whole(policy: str, name: str, value: Any, low: int, high: float = math.inf) -> int:
    """`value` if it is a whole number from `low` to `high`; PolicyError as `checked_number`."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _refused(policy, f"{name} is {value!r}, must be a whole number", low, high)
    return value


def _refused(policy: str, what: str, low: float, high: float) -> PolicyError:
    allowed = f">= {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
    return PolicyError(f"split policy {policy!r}: {what} {allowed}")
