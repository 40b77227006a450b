"""A decision tree of as many levels as the points support, and its hold-out accuracy.

The levels are the fewest whose cross-validated accuracy is within one standard error of the best
(Breiman, Friedman, Olshen, Stone, Classification and Regression Trees, 1984, section 3.4.3), so
that a tree on noise has none. The choice is made anew in each fold: the accuracy is that of the
whole procedure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitopo_dc.analysis.learning.factors import Factor, Matrix, columns_of
from minitopo_dc.analysis.learning.tree import DEEPEST, Node, Verdicts, decide, grow
from minitopo_dc.statistics import Proportion, mean_interval

FOLDS = 5
"""The usual number of folds (Hastie, Tibshirani, Friedman, The Elements of Statistical Learning,
section 7.10)."""
REPEATS = 3
"""The number of divisions into folds: a single division of few points depends on chance."""
Rows = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Learnt:
    """A tree, and the accuracy of trees made like it on points that they have not seen."""

    tree: Node
    accuracy: Proportion
    """The cross-validated accuracy, a mean over the repeats."""
    is_better: bool
    """Whether it is better than the majority baseline: the 95 % interval of the mean of the points'
    differences is above 0."""


def learn(
    values: Matrix, verdicts: Verdicts, factors: Sequence[Factor], seed: int
) -> Learnt | None:
    """Learn from all points; return None when fewer than `FOLDS` have one of the verdicts.

    Args:
        values: `matrix` of the factors.
        verdicts: the verdict of each point.
        factors: the factors; without one nothing is learnt.
        seed: the seed of the folds.
    """
    yes = int(verdicts.sum())
    if not factors or min(yes, len(verdicts) - yes) < FOLDS:
        return None
    # Imported here, as it takes a second, and few commands need it.
    from sklearn import config_context  # noqa: PLC0415

    with config_context(assume_finite=True, skip_parameter_validation=True):
        return _learnt(values, verdicts, factors, seed)


def _learnt(values: Matrix, verdicts: Verdicts, factors: Sequence[Factor], seed: int) -> Learnt:
    right = np.zeros(len(verdicts))
    for number, (known, test) in enumerate(_stratified_folds(verdicts, REPEATS, seed)):
        tree = _chosen(values[known], verdicts[known], factors, seed + number)
        right[test] += (decide(tree, values[test]) == verdicts[test]) / REPEATS
    usual = verdicts == (2 * int(verdicts.sum()) > len(verdicts))
    ahead = right - usual
    return Learnt(
        _chosen(values, verdicts, factors, seed),
        Proportion(float(right.sum()), len(verdicts)),
        mean_interval(ahead.tolist()).low > 0,
    )


def _chosen(values: Matrix, verdicts: Verdicts, factors: Sequence[Factor], seed: int) -> Node:
    columns = columns_of(factors)
    scores = []
    for known, test in _stratified_folds(verdicts, 1, seed):
        trees = grow(values[known], verdicts[known], columns)
        scores.append([(decide(tree, values[test]) == verdicts[test]).mean() for tree in trees])
    return grow(values, verdicts, columns)[_fewest_levels(np.array(scores))]


def _fewest_levels(scores: Matrix) -> int:
    """Return the fewest levels within one standard error of the best mean accuracy.

    Args:
        scores: accuracies, with a row per fold and a column per number of levels.
    """
    if not len(scores):
        return 0
    means = scores.mean(axis=0)
    best = int(means.argmax())
    error = scores[:, best].std(ddof=1) / np.sqrt(len(scores))
    return next(depth for depth in range(DEEPEST + 1) if means[depth] >= means[best] - error)


def _stratified_folds(verdicts: Verdicts, repeats: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield rows to learn from and rows to test on; each has both verdicts in their proportion."""
    # Imported here, as it takes a second, and few commands need it.
    from sklearn.model_selection import RepeatedStratifiedKFold  # noqa: PLC0415

    rarer = min(int(verdicts.sum()), int((~verdicts).sum()))
    if rarer >= 2:
        folds = RepeatedStratifiedKFold(
            n_splits=min(FOLDS, rarer), n_repeats=repeats, random_state=seed
        )
        yield from folds.split(np.zeros(len(verdicts)), verdicts)
