"""Accumulated local effects: how a model's answer changes with one factor.

Within each bin of a factor's values, the points of the bin are moved from its lower edge to its
upper one, and what the answer changes is summed up from bin to bin. No point is moved to where no
point is, as a partial dependence does with factors that go together (Apley and Zhu, Visualizing the
Effects of Predictor Variables in Black Box Supervised Learning Models, JRSS B 82, 2020).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minitopo_dc.analysis.learning.factors import Matrix

BINS = 8
"""The bins, each with equally many points."""


@dataclass(frozen=True)
class LocalEffects:
    """The effect of one factor at the edges of its bins; its mean over the points is 0."""

    at: Matrix
    effect: Matrix


def local_effects(
    predict: Callable[[Matrix], Matrix], values: Matrix, column: int
) -> LocalEffects | None:
    """Return the accumulated local effects of a column; None where it has a single value.

    Args:
        predict: a model's answers to a matrix with a row per point.
        values: the points' factors.
        column: the column of numbers that is asked about.
    """
    its = values[:, column]
    edges = np.unique(np.quantile(its, np.linspace(0, 1, BINS + 1)))
    if len(edges) < 2:
        return None
    place = np.clip(np.searchsorted(edges, its, side="left") - 1, 0, len(edges) - 2)
    low, high = values.copy(), values.copy()
    low[:, column], high[:, column] = edges[place], edges[place + 1]
    changes = predict(high) - predict(low)
    counts = np.bincount(place, minlength=len(edges) - 1)
    sums = np.bincount(place, weights=changes, minlength=len(edges) - 1)
    steps = sums / np.maximum(counts, 1)
    effect = np.concatenate([[0.0], np.cumsum(steps)])
    middles = (effect[1:] + effect[:-1]) / 2
    return LocalEffects(edges, effect - float((middles * counts).sum() / counts.sum()))
