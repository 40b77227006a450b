"""A decision tree that a person can read: grown by scikit-learn, kept and evaluated here.

Its thresholds are the shortest numbers that separate the points as the grown ones do, so that the
printed rule is the one that decides. Splits whose two sides say the same are removed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitopo_dc.analysis.learning.factors import Column, Matrix

Verdicts = NDArray[np.bool_]
DEEPEST = 4
"""The most levels of a tree: as many as a person follows."""
FEWEST_POINTS = 5
"""The fewest points of a leaf: a rule of fewer depends on chance."""
MAX_DIGITS = 6
"""The most digits of a threshold: as many as a design's values have."""


@dataclass(frozen=True)
class Leaf:
    """The end of a tree's branch, where it decides."""

    verdict: bool
    points: int
    """The number of points that it was grown from."""
    right: int
    """The number of these points for which its verdict is right."""


@dataclass(frozen=True)
class Split:
    """A node where a tree compares a column with a threshold."""

    column: int
    threshold: float
    below: Node
    """The side below the threshold or at it."""
    above: Node


Node = Leaf | Split


@dataclass(frozen=True)
class Rule:
    """The conditions on the way to one leaf, in words."""

    conditions: tuple[str, ...]
    leaf: Leaf


def grow(values: Matrix, verdicts: Verdicts, columns: Sequence[Column]) -> list[Node]:
    """Return trees of 0, 1, ... `DEEPEST` levels (CART: Breiman, Friedman, Olshen, Stone 1984).

    Args:
        values: a row per point.
        verdicts: the verdict of each point.
        columns: the columns of `values`.
    """
    if not len(columns):
        return [_leaf(verdicts)] * (DEEPEST + 1)
    grown = fitted(values, verdicts, 0, max_depth=DEEPEST, min_samples_leaf=FEWEST_POINTS)
    taken = _Taken(grown, values, verdicts, columns)
    rows = np.arange(len(verdicts))
    return [taken.node(0, depth, rows) for depth in range(DEEPEST + 1)]


def fitted(values: Matrix, verdicts: Verdicts, seed: int, **how: Any) -> Any:
    """Return scikit-learn's tree of some points; `how` has its parameters.

    The variance of 0 and 1 is half of Gini's impurity, so that a regression tree splits as a
    classifier of two classes does; but a classifier takes most of its time for its classes when the
    tree is small.
    """
    # Imported here, as it takes a second, and few commands need it.
    from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415

    tree = DecisionTreeRegressor(random_state=seed, **how)
    plain = np.ascontiguousarray(values, dtype=np.float32)
    return tree.fit(plain, verdicts.astype(np.float64), check_input=False).tree_


def decide(node: Node, values: Matrix) -> Verdicts:
    """Return a tree's verdict on each row."""
    if isinstance(node, Leaf):
        return np.full(len(values), node.verdict)
    above = values[:, node.column] > node.threshold
    return np.where(above, decide(node.above, values), decide(node.below, values))


def rules(node: Node, columns: Sequence[Column]) -> list[Rule]:
    """Return every leaf of a tree with its conditions, those of one column joined."""
    return [
        Rule(tuple(_words(columns[column], *limits) for column, limits in way.items()), leaf)
        for way, leaf in _ways(node, {})
    ]


def splits(node: Node | None) -> Iterator[Split]:
    """Yield the splits of a tree, from its root downwards, level by level."""
    there = [node]
    while there:
        found = [each for each in there if isinstance(each, Split)]
        yield from found
        there = [side for each in found for side in (each.below, each.above)]


Way = dict[int, tuple[float, float]]
"""The limits of each column on the way to a leaf: above the first number, at most the second."""


def _ways(node: Node, way: Way) -> Iterator[tuple[Way, Leaf]]:
    if isinstance(node, Leaf):
        yield way, node
        return
    low, high = way.get(node.column, (-math.inf, math.inf))
    yield from _ways(node.below, way | {node.column: (low, node.threshold)})
    yield from _ways(node.above, way | {node.column: (node.threshold, high)})


def _words(column: Column, low: float, high: float) -> str:
    if math.isinf(low):
        return column.below(high)
    return column.above(low) if math.isinf(high) else column.between(low, high)


@dataclass(frozen=True)
class _Taken:
    """A converter from scikit-learn's arrays to nodes."""

    tree: Any
    values: Matrix
    verdicts: Verdicts
    columns: Sequence[Column]

    def node(self, place: int, depth: int, rows: NDArray[np.intp]) -> Node:
        if depth == 0 or self.tree.children_left[place] < 0:
            return _leaf(self.verdicts[rows])
        column = int(self.tree.feature[place])
        asked = self.values[rows, column]
        is_above = asked > self.tree.threshold[place]
        below = self.node(int(self.tree.children_left[place]), depth - 1, rows[~is_above])
        above = self.node(int(self.tree.children_right[place]), depth - 1, rows[is_above])
        if isinstance(below, Leaf) and isinstance(above, Leaf) and below.verdict == above.verdict:
            return _leaf(self.verdicts[rows])
        low, high = float(asked[~is_above].max()), float(asked[is_above].min())
        return Split(column, _threshold(self.columns[column], low, high), below, above)


def _leaf(verdicts: Verdicts) -> Leaf:
    """Return a leaf with the majority verdict of its points, which is no for a tie."""
    yes = int(verdicts.sum())
    verdict = 2 * yes > len(verdicts)
    return Leaf(verdict, len(verdicts), yes if verdict else len(verdicts) - yes)


def _threshold(column: Column, low: float, high: float) -> float:
    """Return the shortest number from `low` to below `high`; of few levels the lower one."""
    if column.level is not None:
        return 0.5
    if column.factor.few:
        return low
    middle = math.sqrt(low * high) if low > 0 else (low + high) / 2
    for digits in range(1, MAX_DIGITS + 1):
        short = float(f"{middle:.{digits}g}")
        if low <= short < high:
            return short
    return middle
