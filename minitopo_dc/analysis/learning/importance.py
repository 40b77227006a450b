"""The permutation importance of each factor for a verdict.

A forest learns from some folds. On the fold that it has not seen the values of one factor are
permuted among the points; the fall of the share of right verdicts is the factor's importance
(Breiman, Random Forests, Machine Learning 45, 2001, section 10). Factors that follow from each
other share theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitopo_dc.analysis.learning.factors import Factor, Matrix, columns_of
from minitopo_dc.analysis.learning.tree import Verdicts, fitted

FOLDS, REPEATS = 5, 2
PERMUTATIONS = 10
"""The permutations of each factor in each fold."""
HALF = 0.5
LEAST = 0.01
"""The least importance of a factor that is named: one verdict in a hundred."""
TREES = 50
"""The trees of a forest, half of scikit-learn's default: the mean over ten forests scatters no more
than between folds."""


@dataclass(frozen=True)
class Importance:
    """The permutation importance of one factor."""

    factor: Factor
    mean: float
    """The mean over the folds of the fall of the share of right verdicts."""
    sd: float
    """The standard deviation between the folds (sample)."""

    @property
    def is_clear(self) -> bool:
        """Return whether the mean exceeds the scatter: with ten folds, three standard errors."""
        return self.mean > max(self.sd, LEAST)


def importances(
    values: Matrix, verdicts: Verdicts, factors: Sequence[Factor], seed: int
) -> tuple[Importance, ...]:
    """Return the importance of each factor, the greatest first.

    Args:
        values: `matrix` of the factors.
        verdicts: the verdict of each point; each verdict occurs at least `FOLDS` times.
        factors: the factors, at least one.
        seed: the seed of the forests, folds and permutations.
    """
    # Imported here, as it takes a second, and few commands need it.
    from sklearn import config_context  # noqa: PLC0415
    from sklearn.model_selection import RepeatedStratifiedKFold  # noqa: PLC0415

    folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=seed)
    random = np.random.default_rng(seed)
    falls = []
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for learn, test in folds.split(values, verdicts):
            forest = _forest(values[learn], verdicts[learn], random)
            falls.append(_falls(forest, values[test], verdicts[test], factors, random))
    table = np.array(falls)
    found = [
        Importance(factor, float(column.mean()), float(column.std(ddof=1)))
        for factor, column in zip(factors, table.T, strict=True)
    ]
    return tuple(sorted(found, key=lambda each: -each.mean))


def _forest(values: Matrix, verdicts: Verdicts, random: np.random.Generator) -> list[Any]:
    """Return a forest; each tree has points drawn with replacement.

    Each split chooses among a random part of the columns.
    """
    trees = []
    for _ in range(TREES):
        rows = random.integers(0, len(verdicts), len(verdicts))
        seed = int(random.integers(1 << 31))
        trees.append(fitted(values[rows], verdicts[rows], seed, max_features="sqrt"))
    return trees


def _falls(
    forest: Sequence[Any],
    values: Matrix,
    verdicts: Verdicts,
    factors: Sequence[Factor],
    random: np.random.Generator,
) -> list[float]:
    """Return the fall of the accuracy by each factor on one fold.

    The forest is asked for all permutations at once, as each call takes its time.
    """
    owners = np.array([factors.index(column.factor) for column in columns_of(factors)])
    asked = [values]
    for number in range(len(factors)):
        for _ in range(PERMUTATIONS):
            mixed = values.copy()
            places = random.permutation(len(values))
            mixed[:, owners == number] = values[places][:, owners == number]
            asked.append(mixed)
    points = np.concatenate(asked).astype(np.float32)
    mean = np.mean([tree.predict(points).ravel() for tree in forest], axis=0)
    said = (mean > HALF).reshape(len(asked), len(values))
    right = (said == verdicts).mean(axis=1)
    without = right[1:].reshape(len(factors), PERMUTATIONS).mean(axis=1)
    return [float(right[0] - each) for each in without]
