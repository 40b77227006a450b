"""A rule of at most three terms that a person can carry in his head, and what obeying it costs.

Its terms are asked one after the other; the first that is true decides. A rule may abstain: then
either of two things will do, and who obeys it tosses a coin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from minitopo_dc.analysis.learning.factors import Matrix, as_level
from minitopo_dc.settings import Settings
from minitopo_dc.statistics import bootstrap_interval

MAX_TERMS = 3
Choice = Literal["first", "second", "either"]
"""One of two sides, or abstention."""
Choices = NDArray[np.str_]


class Term(Settings):
    """One condition on one factor, and what is chosen where it is true."""

    factor: str
    """The factor's column of the table of points."""
    relation: Literal["above", "at most", "is", "is not"]
    value: float | str
    """A number of `above` and `at most`, or the name of a level."""
    choice: Choice

    def is_true(self, table: pd.DataFrame) -> NDArray[np.bool_]:
        """Return at which points the condition is true; it is false where a number is missing.

        Raises:
            KeyError: the table has no such factor.
        """
        its = table[self.factor]
        if self.relation in ("is", "is not"):
            same = np.array([as_level(each) == self.value for each in its], dtype=np.bool_)
            return same if self.relation == "is" else ~same
        numbers = pd.to_numeric(its, errors="coerce").to_numpy(dtype=float)
        above = numbers > float(self.value)
        return np.asarray(above if self.relation == "above" else numbers <= float(self.value))

    def words(self, names: Mapping[str, str]) -> str:
        """Return the condition as text; `names` are factors in words."""
        name = names.get(self.factor, self.factor)
        sign = {"above": ">", "at most": "<="}.get(self.relation, self.relation)
        value = self.value if isinstance(self.value, str) else f"{self.value:g}"
        return f"{name} {sign} {value}"


class ThresholdRule(Settings):
    """Which of two sides to choose, by at most three conditions; what a file of a rule holds."""

    measure: str
    """The ratio of the first side to the second that it was made for."""
    first: str
    second: str
    """What the sides are called."""
    points: Annotated[int, Field(ge=0)]
    """The number of points that it was made from."""
    terms: Annotated[tuple[Term, ...], Field(max_length=MAX_TERMS)]
    """The conditions in their order."""
    otherwise: Choice
    """The choice where none of them is true."""

    def choices(self, table: pd.DataFrame) -> Choices:
        """Return the choice at each point.

        Raises:
            KeyError: the table lacks a factor.
        """
        found = np.full(len(table), self.otherwise)
        for term in reversed(self.terms):
            found = np.where(term.is_true(table), term.choice, found)
        return found

    def side(self, choice: Choice) -> str:
        """Return the name of a choice."""
        return {"first": self.first, "second": self.second}.get(choice, "either of the two")


def losses(ratios: Matrix) -> Matrix:
    """Return which part of the goodput each choice loses against the better one: 0 to 1.

    Args:
        ratios: the first side's goodput over the second's at each point; 0 or infinite where one
            delivered nothing.

    Returns:
        Three rows: of choosing the first, the second, either by a coin.
    """
    with np.errstate(divide="ignore"):
        first, second = 1 - np.minimum(1, ratios), 1 - np.minimum(1, 1 / ratios)
    return np.stack([first, second, (first + second) / 2])


@dataclass(frozen=True)
class Regret:
    """The goodput that is lost by a way to choose, as a part of that of the better side."""

    way: str
    """The way to choose, in words."""
    points: int
    mean: float
    low: float
    high: float
    """The ends of the mean's 95 % interval (bootstrap over points)."""


ROWS = {"first": 0, "second": 1, "either": 2}


def lost(choices: Choices, ratios: Matrix) -> Matrix:
    """Return the part of the goodput that is lost at each point by the choice there."""
    rows = np.array([ROWS[str(each)] for each in choices], dtype=int)
    return np.asarray(losses(ratios)[rows, np.arange(len(ratios))], dtype=float)


def regret(way: str, values: Matrix) -> Regret:
    """Return the mean of values over points with its interval; NaN without points."""
    if not len(values):
        return Regret(way, 0, math.nan, math.nan, math.nan)
    ends = bootstrap_interval(values[np.newaxis, np.newaxis], lambda drawn: float(drawn.mean()))
    return Regret(way, len(values), float(values.mean()), ends.low, ends.high)
