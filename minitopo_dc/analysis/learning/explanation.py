"""An explanation which factors decide whether a measure reaches a limit, and how sure that is.

A limit is the least value for a yes, or the most (`less`) where less is better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from minitopo_dc.analysis.learning.factors import Factor, columns_of, matrix, read_factors
from minitopo_dc.analysis.learning.hold_out import Learnt, learn
from minitopo_dc.analysis.learning.importance import Importance, importances
from minitopo_dc.analysis.learning.tree import Rule, Verdicts, decide, rules, splits
from minitopo_dc.statistics import Proportion

SEED = 1
"""The seed of folds, forests and permutations: the same table gives the same answer."""
CLOSE = 0.05
"""The part of the limit within which points may be on its other side by scatter between runs
alone."""


@dataclass(frozen=True)
class Counted:
    """The points of a table, each on one side of a limit or without a value."""

    yes: Proportion
    """Points at the limit or on its better side, of those with a value."""
    without_value: int
    """Points without a value: a run of theirs is missing or unsupported, or neither side of a ratio
    ended."""
    endless: int
    """Points whose value is infinite or 0, as a run failed."""
    close: int
    """Points whose value is within `CLOSE` of the limit."""

    @property
    def usual(self) -> bool:
        """Return the majority verdict, which is no for a tie."""
        return 2 * self.yes.count > self.yes.points

    @property
    def majority(self) -> float:
        """Return the accuracy of the majority baseline, as a share from 0.5 to 1."""
        return max(self.yes.share, 1 - self.yes.share)


@dataclass(frozen=True)
class Unseen:
    """The verdicts of a tree on points that it was not grown from."""

    right: Proportion
    majority: Proportion
    """The accuracy of the majority baseline, which always gives the majority verdict of the tree's
    points."""
    without_value: int


@dataclass(frozen=True)
class Limit:
    """The results with one limit."""

    limit: float
    counted: Counted
    learnt: Learnt | None
    """The tree; None: too few points on one side."""
    decides: tuple[str, ...]
    """The factors in the tree, in words, from its root downwards."""


@dataclass(frozen=True)
class Explanation:
    """The explanation of one measure, with its tree and importances."""

    at: Limit
    """The results with the limit that was asked for."""
    others: tuple[Limit, ...]
    factors: tuple[Factor, ...]
    """The factors that vary."""
    rules: tuple[Rule, ...]
    """The rules of the tree, one per leaf."""
    importances: tuple[Importance, ...]
    """The importances, the greatest first."""
    unseen: Unseen | None


def explain(
    table: pd.DataFrame,
    measure: str,
    limit: float,
    *,
    factors: Sequence[str],
    words: Mapping[str, str],
    unseen: pd.DataFrame | None = None,
    others: Sequence[float] = (),
    less: bool = False,
) -> Explanation:
    """Explain where a measure reaches a limit.

    Args:
        table: one row per point: factors, and the measure (NaN where a point has none).
        measure: the measure's column.
        limit: the value from which on the verdict is yes.
        factors: columns that may explain the verdict.
        words: returns a column's name in words, with its unit in brackets.
        unseen: points of another design, to test the tree on.
        others: limits whose results are shown beside it.
        less: whether a yes is at most the limit.
    """
    known = table[table[measure].notna()]
    varied = read_factors(known, factors, words)
    at = _limit_answer(table[measure], limit, less, known, varied)
    learnt = at.learnt
    return Explanation(
        at=at,
        others=tuple(
            _limit_answer(table[measure], each, less, known, varied)
            for each in others
            if each != limit
        ),
        factors=tuple(varied),
        rules=tuple(rules(learnt.tree, columns_of(varied))) if learnt else (),
        importances=importances(
            matrix(known, varied), reached(known[measure], limit, less=less), varied, SEED
        )
        if learnt
        else (),
        unseen=None if unseen is None else _tested(at, varied, unseen, measure, less=less),
    )


def count(values: pd.Series[float], limit: float, *, less: bool = False) -> Counted:
    """Count the points on each side of a limit, and those without a value."""
    known = values.dropna()
    endless = int((np.isinf(known) | (known == 0)).sum())
    return Counted(
        yes=Proportion(int(reached(known, limit, less=less).sum()), len(known)),
        without_value=len(values) - len(known),
        endless=endless,
        close=int(((known - limit).abs() <= CLOSE * abs(limit)).sum()),
    )


def reached(values: pd.Series[float], limit: float, *, less: bool = False) -> Verdicts:
    """Return which values are at the limit or on its better side."""
    plain = values.to_numpy(dtype=float)
    return np.asarray(plain <= limit if less else plain >= limit, dtype=np.bool_)


def _limit_answer(
    values: pd.Series[float],
    limit: float,
    less: bool,
    known: pd.DataFrame,
    factors: Sequence[Factor],
) -> Limit:
    verdicts = reached(values.dropna(), limit, less=less)
    learnt = learn(matrix(known, factors), verdicts, factors, SEED)
    columns = columns_of(factors)
    asked = (columns[each.column].factor.words for each in splits(learnt.tree if learnt else None))
    counted = count(values, limit, less=less)
    return Limit(limit, counted, learnt, tuple(dict.fromkeys(asked)))


def _tested(
    at: Limit, factors: Sequence[Factor], table: pd.DataFrame, measure: str, *, less: bool
) -> Unseen | None:
    """Return the accuracy on unseen points; without a tree, that of the majority verdict."""
    known = table[table[measure].notna()]
    truth = reached(known[measure], at.limit, less=less)
    usual = truth == at.counted.usual
    right = decide(at.learnt.tree, matrix(known, factors)) == truth if at.learnt else usual
    return Unseen(
        right=Proportion(int(right.sum()), len(truth)),
        majority=Proportion(int(usual.sum()), len(truth)),
        without_value=len(table) - len(known),
    )
