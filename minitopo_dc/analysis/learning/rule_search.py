"""The exhaustive search of a rule of at most three terms.

All lists of up to three conditions are tried on one half of the points. The other half says how
many of the terms are worth having (the fewest whose regret is within one standard error of the
best), and what each may say: where its choice is not better there beyond the 95 % interval, the
rule abstains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from minitopo_dc.analysis.learning.factors import Factor, Matrix
from minitopo_dc.analysis.learning.threshold_rule import (
    MAX_TERMS,
    Choice,
    Term,
    ThresholdRule,
    losses,
)
from minitopo_dc.statistics import mean_interval

THRESHOLDS = np.linspace(0.1, 0.9, 9)
"""The parts of the points below a threshold, which is then written with one digit."""
MIN_PART = 0.08
"""The least part of the points that each term, and what is left, must decide."""
Truths = NDArray[np.bool_]


@dataclass(frozen=True)
class _Half:
    """Points, what is true of them, and what the first side loses there more than the second."""

    truths: Truths
    """A row per condition, a column per point."""
    more: Matrix

    @property
    def fewest(self) -> float:
        return MIN_PART * len(self.more)


def find_rule(
    table: pd.DataFrame,
    measure: str,
    factors: Sequence[Factor],
    sides: tuple[str, str],
    seed: int,
) -> ThresholdRule:
    """Return the rule of the points.

    Args:
        table: one row per point: factors, and a ratio of goodputs, first side over second.
        measure: the ratio's column; every point has one.
        factors: the factors that terms may ask for.
        sides: what the sides are called.
        seed: the seed of the halves.
    """
    ratios = table[measure].to_numpy(dtype=float)
    mixed = np.random.default_rng(seed).permutation(len(table))
    train, check = np.sort(mixed[: len(table) // 2]), np.sort(mixed[len(table) // 2 :])
    terms = list(_conditions(table.iloc[train], factors))
    truths = np.array([each.is_true(table) for each in terms], dtype=np.bool_)
    truths = truths.reshape(len(terms), len(table))
    lost = losses(ratios)
    more = lost[0] - lost[1]
    halves = [_Half(truths[:, rows], more[rows]) for rows in (train, check)]
    chosen = _fewest_terms(*halves)
    said = _sure_choices(chosen, *halves)
    kept = [
        terms[each].model_copy(update={"choice": choice})
        for each, choice in zip(chosen, said, strict=False)
    ]
    while kept and kept[-1].choice == said[-1]:
        kept.pop()
    return ThresholdRule(
        measure=measure,
        first=sides[0],
        second=sides[1],
        points=len(table),
        terms=tuple(kept),
        otherwise=said[-1],
    )


def _conditions(table: pd.DataFrame, factors: Sequence[Factor]) -> Iterator[Term]:
    for factor in factors:
        for level in factor.levels:
            for relation in ("is", "is not"):
                yield Term(factor=factor.path, relation=relation, value=level, choice="either")
        if factor.numeric:
            values = pd.to_numeric(table[factor.path], errors="coerce").dropna().to_numpy()
            found = np.quantile(values, THRESHOLDS) if len(values) else []
            for value in sorted({float(f"{each:.1g}") for each in found}):
                for relation in ("above", "at most"):
                    yield Term(factor=factor.path, relation=relation, value=value, choice="either")


def _fewest_terms(train: _Half, check: _Half) -> tuple[int, ...]:
    """Return the conditions of the shortest list within one standard error of the best."""
    found = [_best(number, train)[1] for number in range(MAX_TERMS + 1)]
    lost = [_lost(each, train, check) for each in found]
    best = min(range(len(found)), key=lambda number: lost[number].mean())
    for conditions, its in zip(found, lost, strict=True):
        behind = its - lost[best]
        error = behind.std(ddof=1) / np.sqrt(len(behind)) if len(behind) > 1 else 0.0
        if behind.mean() <= error:
            return conditions
    return found[best]


def _lost(conditions: Sequence[int], train: _Half, check: _Half) -> Matrix:
    """Return what choices made on one half lose on the other, more than always the second."""
    total = np.zeros(len(check.more))
    for here, there in zip(_parts(conditions, train), _parts(conditions, check), strict=True):
        if train.more[here].sum() < 0:
            total[there] = check.more[there]
    return total


def _sure_choices(conditions: Sequence[int], train: _Half, check: _Half) -> list[Choice]:
    """Return the choice of each part; none where the other half does not confirm it."""
    said: list[Choice] = []
    for here, there in zip(_parts(conditions, train), _parts(conditions, check), strict=True):
        first = train.more[here].sum() < 0
        ends = mean_interval((check.more if first else -check.more)[there].tolist())
        sure = ends.high < 0
        said.append(("first" if first else "second") if sure else "either")
    return said


def _parts(conditions: Sequence[int], half: _Half) -> list[Truths]:
    """Return the points that each condition decides, and last those that none does."""
    rest = np.ones(len(half.more), dtype=np.bool_)
    parts = []
    for each in conditions:
        parts.append(rest & half.truths[each])
        rest = rest & ~half.truths[each]
    return [*parts, rest]


Found = tuple[float, tuple[int, ...]]
"""What a list of conditions gains against always the second side, summed, and the list."""


def _best(number: int, half: _Half, rest: Truths | None = None) -> Found:
    """Return the list of so many conditions, or fewer, that gains most on the points left."""
    if rest is None:
        rest = np.ones(len(half.more), dtype=np.bool_)
    found: Found = (_gain(float(half.more[rest].sum())), ())
    if number == 0 or not len(half.truths):
        return found
    if number == 1:
        (gain,), (place,) = _last(half, rest[np.newaxis])
        return max([found, (float(gain), (int(place),))], key=lambda each: each[0])
    return max([found, *_longer(number, half, rest)], key=lambda each: each[0])


def _longer(number: int, half: _Half, rest: Truths) -> Iterator[Found]:
    """Yield for each first condition the best list that begins with it."""
    parts, left = half.truths & rest, ~half.truths & rest
    gains = np.maximum(0, -(parts @ half.more))
    counts = np.minimum(parts.sum(axis=1), left.sum(axis=1))
    allowed = np.flatnonzero(counts >= half.fewest)
    if number == 2:
        more, places = _last(half, left[allowed])
        for first, gain, second in zip(allowed, gains[allowed] + more, places, strict=True):
            yield float(gain), (int(first), int(second))
        return
    for first in allowed:
        gain, others = _best(number - 1, half, left[first])
        yield float(gains[first]) + gain, (int(first), *others)


def _last(half: _Half, left: Truths) -> tuple[Matrix, NDArray[np.intp]]:
    """Return for each row of points what the best single condition gains, and which one it is."""
    rows = left.astype(float)
    columns = half.truths.T.astype(float)
    sums, counts = (rows * half.more) @ columns, rows @ columns
    points, total = rows.sum(axis=1)[:, np.newaxis], (rows @ half.more)[:, np.newaxis]
    gains = np.maximum(0, -sums) + np.maximum(0, sums - total)
    allowed = (counts >= half.fewest) & (points - counts >= half.fewest)
    gains = np.where(allowed, gains, -np.inf)
    places = gains.argmax(axis=1)
    return gains[np.arange(len(rows)), places], places


def _gain(more: float) -> float:
    """Return what the better choice gains where the first side loses so much more."""
    return max(0.0, -more)
