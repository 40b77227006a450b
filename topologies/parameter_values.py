"""Values of parameters, in whatever type a Mininet script or `mn` passes them.

Arithmetic makes floats of counts, NumPy has numbers of its own, and `mn` passes text. What is meant
without doubt is read; of the rest the caller says which values are allowed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_WITH_UNIT = re.compile(rf"({_NUMBER})\s*([^\s0-9.]\S*)?")


def plain(value: Any) -> Any:
    """Return a value of NumPy as Python's own: a number, a bool or a list; others as they are."""
    return value.tolist() if hasattr(value, "tolist") else value


def number(value: Any, units: Mapping[str, float] | None = None) -> float:
    """Return the number that a value is, NaN if it is none.

    Args:
        value: a number that is no bool, or text of one in digits, perhaps with a unit behind it.
        units: the factor of each unit that the text may have.
    """
    value = plain(value)
    if isinstance(value, str):
        text = _WITH_UNIT.fullmatch(value.strip())
        factor = (units or {}).get(text[2], math.nan) if text and text[2] else 1.0
        return float(text[1]) * factor if text else math.nan
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):  # a signalling NaN; too large
        return math.nan


def whole(name: str, value: Any, default: int, allowed: Sequence[int]) -> int:
    """Return a whole number, also one that is a float (2.0) or text; None is the default.

    Raises:
        ValueError: it is none of the allowed ones.
    """
    read = default if value is None else number(value)
    if read not in allowed:
        words = " and ".join(str(one) for one in allowed)
        if isinstance(allowed, range):
            words = f"{allowed[0]} to {allowed[-1]}"
        raise ValueError(f"{name}={value!r:.80}: allowed are {words}")
    return int(read)


def truth(value: Any) -> bool | None:
    """Return the truth value that a value is, also as a number or text; None if it is none."""
    word = str(plain(value)).strip().lower()
    return True if word in ("true", "1") else False if word in ("false", "0") else None


def in_json(value: Any) -> Any:
    """Return a value as JSON has it, NumPy's as Python's; None if JSON has no such value."""
    try:
        return json.loads(json.dumps(value, default=_from_numpy, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return None


def _from_numpy(value: Any) -> Any:
    if not hasattr(value, "tolist"):
        raise TypeError("no value of JSON")
    return plain(value)
