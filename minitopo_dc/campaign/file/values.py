"""The values of expressions: their kinds, how large they may be, and functions of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_BITS = 10_000
"""The most bits of a whole number: far more than a field needs, as the next limits are."""
MAX_CHARACTERS = 10_000
"""The most characters of a text."""
MAX_ITEMS = 1_000
"""The most items of a list or a dictionary, with those of the lists in it."""
MAX_PLACES = 15
"""Decimal places of `round`: a number has no more digits."""

Column = NDArray[np.float64]
Functions = Mapping[str, Callable[..., Any]]


class Keys(ABC):
    """A mapping whose values are worked out when they are asked for: `dc` of `dc.goodput_mbps`."""

    @abstractmethod
    def look_up(self, key: Any) -> Any:
        """Return the value of a key.

        Raises:
            LookupError: there is no such key; the message says so.
        """


def kind(value: Any) -> str:
    """Return in words what kind of value this is."""
    if value is None:
        return "none"
    words = {
        bool: "true or false",
        int | float: "a number",
        str: "a text",
        list | tuple: "a list",
        dict: "a dictionary",
        np.ndarray: "a column",
        Keys: "a configuration",
    }
    return next(word for of, word in words.items() if isinstance(value, of))


def plain(value: Any) -> Any:
    """Return a value that is neither a column nor a configuration.

    Raises:
        TypeError: it is one of these.
    """
    if isinstance(value, np.ndarray | Keys):
        raise TypeError(f"{kind(value)} stands where one value is wanted")
    return value


def check_size(value: Any) -> None:
    """Refuse a value that is too large, or of a type that expressions do not have.

    Raises:
        TypeError, ValueError: it is refused; the message names the limit.
    """
    waiting, seen = [value], 0
    while waiting:
        item = waiting.pop()
        if isinstance(item, list | tuple | dict):
            seen += len(item)
            if seen > MAX_ITEMS:
                raise ValueError(f"more than {MAX_ITEMS} items of a list or dictionary")
            waiting += item
            waiting += item.values() if isinstance(item, dict) else ()
        elif isinstance(item, int) and item.bit_length() > MAX_BITS:
            raise ValueError(f"a whole number of more than {MAX_BITS} bits")
        elif isinstance(item, str) and len(item) > MAX_CHARACTERS:
            raise ValueError(f"a text of more than {MAX_CHARACTERS} characters")
        elif not isinstance(item, int | float | str | Keys | None):
            raise TypeError(f"a value of type {type(item).__name__}")


def _number(value: Any) -> Any:
    if not isinstance(value, int | float):
        raise TypeError(f"a number is wanted, not {kind(value)}")
    return value


def _column(values: Any) -> Column:
    """Return the numbers of a column or a list, at least one."""
    if not isinstance(values, np.ndarray | list | tuple):
        raise TypeError(f"a list or a column is wanted, not {kind(values)}")
    if not len(values):
        raise ValueError("a list without numbers")
    if isinstance(values, np.ndarray):
        return values
    return np.array([float(_number(value)) for value in values])


def _minimum(*values: Any) -> Any:
    return _extreme(min, values)


def _maximum(*values: Any) -> Any:
    return _extreme(max, values)


def _extreme(choose: Callable[..., Any], values: Any) -> Any:
    """Return the extreme of the values, or of a list or column; NaN where any is NaN.

    Python's own functions skip some NaN.
    """
    given = values[0] if len(values) == 1 else values
    column = _column(given)
    if np.isnan(column).any():
        return math.nan
    if isinstance(given, np.ndarray):
        return float(np.min(column) if choose is min else np.max(column))
    return choose(given)


def _share(condition: Any) -> float:
    column = _column(condition)
    if not ((column == 0) | (column == 1)).all():
        raise ValueError("a condition is wanted, such as gain > 1")
    return float(np.mean(column))


def _quantile(values: Any, share: Any) -> float:
    if not 0 <= _number(share) <= 1:
        raise ValueError("a share from 0 to 1 is wanted")
    ordered = _ordered(values)
    # The least value that a part of `share` or more does not exceed (NumPy: `inverted_cdf`).
    return float(ordered[max(math.ceil(len(ordered) * share - 1), 0)])


def _rank_correlation(first: Any, second: Any) -> float:
    """Return Spearman's coefficient; 0 if all of one side are alike, as these have no order."""
    sides = _column(first), _column(second)
    if len(sides[0]) != len(sides[1]):
        raise ValueError("as many values are wanted on both sides")
    if any(np.isnan(side).any() for side in sides):
        return math.nan
    if any(np.ptp(side) == 0 for side in sides):
        return 0.0
    return float(np.corrcoef(_ranks(sides[0]), _ranks(sides[1]))[0, 1])


def _ranks(column: Column) -> Column:
    """Return the rank of each value, of equal ones the mean of theirs."""
    _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def _median(values: Any) -> float:
    ordered = _ordered(values)
    middle = len(ordered) // 2
    return float(ordered[middle] + ordered[middle - 1 + len(ordered) % 2]) / 2


def _ordered(values: Any) -> Column:
    """Return the values in ascending order; NaN only where any is NaN.

    NumPy's own functions need ten times as long.
    """
    ordered = np.sort(_column(values))
    return ordered[-1:] if math.isnan(ordered[-1]) else ordered


def _rounded_to(value: Any, places: Any = None) -> Any:
    """Return a number as Python rounds it; an infinite number stays the same."""
    if not math.isfinite(_number(value)):
        return value
    if places is None:
        return round(value)
    if type(places) is not int or not 0 <= places <= MAX_PLACES:
        raise ValueError(f"0 to {MAX_PLACES} places are allowed")
    return round(value, places)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(_number(value))


FUNCTIONS: Functions = {
    "min": _minimum,
    "max": _maximum,
    "least": _minimum,
    "most": _maximum,
    "sum": lambda values: float(np.sum(_column(values))),
    "mean": lambda values: float(np.mean(_column(values))),
    "median": _median,
    "quantile": _quantile,
    "share": _share,
    "rank_correlation": _rank_correlation,
    "abs": lambda value: abs(_number(value)),
    "round": _rounded_to,
    "int": lambda value: int(_number(value)),
    "floor": lambda value: math.floor(_number(value)),
    "ceil": lambda value: math.ceil(_number(value)),
    "sqrt": lambda value: float(np.sqrt(float(_number(value)))),
    "exp": lambda value: float(np.exp(float(_number(value)))),
    "log": lambda value: float(np.log(float(_number(value)))),
    "str": _text,
}
"""Functions by their names in expressions. The first ten take lists and columns, the others one
value."""
