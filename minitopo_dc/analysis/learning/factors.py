"""The factors of a design's points as columns of numbers, and in words.

A factor whose values are all numbers is one column. Any other one, e.g. a congestion control, has a
column for each of its levels: 1 where a point has it, else 0. Where a point has no value of a
factor, this is a level of its own (`ABSENT`); in a column of numbers it then has the median.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
ABSENT = "not given"
"""The level of a point without a value."""
UNITS = {"ms": "ms", "s": "s", "mb": "MB", "mbps": "Mbit/s", "percent": "%", "bytes": "byte"}
"""Units by the ends of the names of scenarios' fields."""
_WITH_UNIT = re.compile(r"(?P<words>.*\S) *\((?P<unit>[^()]*)\)")


@dataclass(frozen=True)
class Factor:
    """A factor that varies over a table's points."""

    path: str
    """The factor's column of the table."""
    words: str
    unit: str
    """The unit; empty: none."""
    levels: tuple[str, ...]
    """The levels of a factor that is not only numbers, in the table's order."""
    numeric: bool
    median: float
    """The median of the numbers; NaN without any."""
    few: tuple[float, ...]
    """The values of numbers, if they are no more than `FEW`: a border between two is the lower
    one."""


FEW = 8
"""The most values that count as levels: a design's range has as many values as points."""


@dataclass(frozen=True)
class Column:
    """A column of a matrix: a factor's numbers, or whether a point has a level of it."""

    factor: Factor
    level: str | None

    def above(self, threshold: float) -> str:
        """Return in words that the factor is above a threshold, or has the level."""
        if self.level is not None:
            return f"{self.factor.words} is {self.level}"
        return f"{self.factor.words} > {self.number(threshold)}"

    def below(self, threshold: float) -> str:
        """Return in words that the factor is a threshold or less, or does not have the level."""
        if self.level is not None:
            return f"{self.factor.words} is not {self.level}"
        return f"{self.factor.words} <= {self.number(threshold)}"

    def between(self, low: float, high: float) -> str:
        """Return in words that the factor is above `low`, and `high` or less."""
        return f"{self.factor.words} > {low:g} and <= {self.number(high)}"

    def number(self, value: float) -> str:
        """Return a value as text with the factor's unit."""
        unit = self.factor.unit
        return f"{value:g}{'' if unit in ('', '%') else ' '}{unit}"


def read_factors(
    table: pd.DataFrame, paths: Sequence[str], words: Mapping[str, str]
) -> list[Factor]:
    """Return the factors whose values differ between a table's points.

    Args:
        table: one row per point.
        paths: names of columns that are factors; names of no column are left out.
        words: a factor's name by its path, with its unit in brackets; none: made from the path.
    """
    there = [path for path in paths if path in table]
    found = [_factor(path, table[path], words.get(path) or in_words(path)) for path in there]
    return [factor for factor in found if len(_distinct(table[factor.path])) > 1]


def in_words(path: str) -> str:
    """Return a path in words: `label.delay_ratio` is delay ratio."""
    *_, last = (part for part in path.split(".") if part != "*")
    parts = last.split("_")
    unit = UNITS.get(parts[-1]) if len(parts) > 1 else None
    return f"{' '.join(parts[:-1])} ({unit})" if unit else " ".join(parts)


def columns_of(factors: Sequence[Factor]) -> list[Column]:
    """Return the columns of `matrix`, in its order."""
    return [
        Column(factor, level)
        for factor in factors
        for level in ((None,) if factor.numeric else ()) + factor.levels
    ]


def matrix(table: pd.DataFrame, factors: Sequence[Factor]) -> Matrix:
    """Return a row per point with a column for each of `columns_of`, without NaN.

    A level that the factors do not know is 0 in all columns of its factor.
    """
    columns = [_column(table[each.factor.path], each) for each in columns_of(factors)]
    return np.column_stack(columns) if columns else np.empty((len(table), 0))


def as_level(value: Any) -> str:
    """Return a value as the name of a level."""
    if isinstance(value, bool | np.bool_):
        return "on" if value else "off"
    if isinstance(value, list | tuple | dict):
        return json.dumps(value)
    return ABSENT if pd.isna(value) else str(value)


def _factor(path: str, values: pd.Series[Any], words: str) -> Factor:
    match = _WITH_UNIT.fullmatch(words)
    name, unit = (match["words"], match["unit"]) if match else (words, "")
    given = [value for value in values if as_level(value) != ABSENT]
    numeric = all(_is_number(value) for value in given) and bool(given)
    levels = () if numeric else tuple(dict.fromkeys(map(as_level, values)))
    if numeric and len(given) < len(values):
        levels = (ABSENT,)
    numbers = sorted({float(value) for value in given}) if numeric else []
    median = float(np.median([float(value) for value in given])) if numeric else float("nan")
    few = tuple(numbers) if len(numbers) <= FEW else ()
    return Factor(path, name, unit, levels, numeric, median, few)


def _column(values: pd.Series[Any], column: Column) -> Matrix:
    if column.level is not None:
        return np.array([as_level(value) == column.level for value in values], dtype=float)
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
    return np.where(np.isnan(numbers), column.factor.median, numbers)


def _distinct(values: pd.Series[Any]) -> set[str]:
    return {as_level(value) for value in values}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
