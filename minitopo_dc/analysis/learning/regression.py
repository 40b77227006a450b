"""Gradient boosting of a number over a design's points, and how much of it stays unexplained.

The error is that on points which a model has not seen (cross-validation). It stands between two
others: that of a constant, and the noise floor, which is how much repetitions of a point differ.
Trees are those of Friedman, Greedy Function Approximation, Annals of Statistics 29, 2001.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitopo_dc.analysis.learning.factors import Factor, Matrix, columns_of
from minitopo_dc.analysis.learning.importance import Importance
from minitopo_dc.statistics import Interval, bootstrap_interval

FOLDS, REPEATS = 5, 3
FEWEST = 5 * FOLDS
"""The fewest points of a model: a fold of fewer than five tells nothing."""
PERMUTATIONS = 5
"""The permutations of each factor in each fold."""
BOOSTING = {
    "n_estimators": 150,
    "learning_rate": 0.05,
    "max_depth": 3,
    "min_samples_leaf": 5,
    "subsample": 0.7,
}
"""Shallow trees, slowly learnt, from a part of the points each: fixed beforehand, never tuned."""


@dataclass(frozen=True)
class Regressed:
    """A model of all points, and the errors of models made like it on points they had not seen."""

    factors: tuple[Factor, ...]
    values: Matrix
    """The matrix of the points' factors."""
    points: int
    r2: float
    """The part of the variance that is explained, the mean over the repeats."""
    r2_interval: Interval
    error: float
    """The mean absolute error."""
    constant: float
    """The mean absolute error of a constant, the median of the points that a model learns from."""
    variance: float
    """The variance of the number over the points."""
    importances: tuple[Importance, ...]
    """How much the mean absolute error rises when a factor's values are permuted, the greatest
    first."""
    model: Any

    def predict(self, values: Matrix) -> Matrix:
        """Return what the model of all points says of a matrix of factors."""
        return np.asarray(self.model.predict(values), dtype=float)


@dataclass(frozen=True)
class Noise:
    """The scatter of repetitions of a point: no model can be nearer to a single run."""

    points: int
    """The points with two repetitions or more."""
    variance: float
    """The mean over the points of the variance between repetitions (sample)."""
    error: float
    """The mean absolute distance of a repetition from its point's expected value."""

    def most_r2(self, variance: float) -> float:
        """Return the greatest part of a variance over points that a model can explain."""
        return 1 - self.variance / variance if variance else math.nan


def noise_floor(repetitions: Matrix) -> Noise:
    """Return the scatter of a number between repetitions of the same points.

    Args:
        repetitions: a row per repetition, a column per point; NaN where a repetition has none.
    """
    several = repetitions[:, (~np.isnan(repetitions)).sum(axis=0) > 1]
    if not several.size:
        return Noise(0, math.nan, math.nan)
    counts = (~np.isnan(several)).sum(axis=0)
    away = np.abs(several - np.nanmean(several, axis=0))
    # A mean of n values is nearer to them than the expected value is, by this much.
    nearer = np.sqrt(counts / (counts - 1))
    return Noise(
        several.shape[1],
        float(np.nanvar(several, axis=0, ddof=1).mean()),
        float((np.nanmean(away, axis=0) * nearer).mean()),
    )


def regress(
    values: Matrix, target: Matrix, factors: Sequence[Factor], seed: int
) -> Regressed | None:
    """Learn a number from all points; return None of fewer than `FEWEST`, or without a factor.

    Args:
        values: `matrix` of the factors.
        target: the finite number of each point.
        factors: the factors.
        seed: the seed of folds, models and permutations.
    """
    if len(target) < FEWEST or not factors:
        return None
    # Imported here, as it takes a second, and few commands need it.
    from sklearn.model_selection import RepeatedKFold  # noqa: PLC0415

    folds = RepeatedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=seed)
    random = np.random.default_rng(seed)
    said, constant = np.zeros(len(target)), np.zeros(len(target))
    squared, rises = 0.0, []
    for number, (known, test) in enumerate(folds.split(values)):
        model = _fitted(values[known], target[known], seed + number)
        there = model.predict(values[test])
        said[test] += there / REPEATS
        squared += float(((there - target[test]) ** 2).sum()) / REPEATS
        constant[test] += np.abs(np.median(target[known]) - target[test]) / REPEATS
        rises.append(_rises(model, values[test], target[test], factors, random))
    total = float(((target - target.mean()) ** 2).sum())
    return Regressed(
        factors=tuple(factors),
        values=values,
        points=len(target),
        r2=1 - squared / total if total else math.nan,
        r2_interval=bootstrap_interval(np.stack([target, said])[:, np.newaxis], _r2),
        error=float(np.abs(said - target).mean()),
        constant=float(constant.mean()),
        variance=float(target.var(ddof=1)),
        importances=_ranked(factors, np.array(rises)),
        model=_fitted(values, target, seed),
    )


def _fitted(values: Matrix, target: Matrix, seed: int) -> Any:
    from sklearn.ensemble import GradientBoostingRegressor  # noqa: PLC0415 (a second)

    return GradientBoostingRegressor(random_state=seed, **BOOSTING).fit(values, target)


def _r2(target: Matrix, said: Matrix) -> float:
    total = float(((target - target.mean()) ** 2).sum())
    return 1 - float(((target - said) ** 2).sum()) / total if total else math.nan


def _ranked(factors: Sequence[Factor], rises: Matrix) -> tuple[Importance, ...]:
    found = [
        Importance(factor, float(column.mean()), float(column.std(ddof=1)))
        for factor, column in zip(factors, rises.T, strict=True)
    ]
    return tuple(sorted(found, key=lambda each: -each.mean))


def _rises(
    model: Any,
    values: Matrix,
    target: Matrix,
    factors: Sequence[Factor],
    random: np.random.Generator,
) -> list[float]:
    """Return the rise of the mean absolute error by each factor on one fold."""
    owners = np.array([factors.index(column.factor) for column in columns_of(factors)])
    asked = [values]
    for number in range(len(factors)):
        for _ in range(PERMUTATIONS):
            mixed = values.copy()
            places = random.permutation(len(values))
            mixed[:, owners == number] = values[places][:, owners == number]
            asked.append(mixed)
    said = model.predict(np.concatenate(asked)).reshape(len(asked), len(values))
    errors = np.abs(said - target).mean(axis=1)
    with_each = errors[1:].reshape(len(factors), PERMUTATIONS).mean(axis=1)
    return [float(each - errors[0]) for each in with_each]
