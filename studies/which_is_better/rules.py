"""A rule of at most three terms that a person can carry in his head, and what obeying it costs.

Its terms are asked one after the other; the first that is true decides. A rule may abstain: then
either of two sides will do, and who obeys it tosses a coin.

All lists of up to three conditions are tried on one half of the points. The other half says how
many of the terms are worth having (the fewest whose regret is within one standard error of the
best), and what each may say: where its choice is not better there beyond the 95 % interval, the
rule abstains.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from minitopo_dc.statistics import bootstrap_interval, mean_interval

Truths = NDArray[np.bool_]
Numbers = NDArray[np.float64]
THRESHOLDS = np.linspace(0.1, 0.9, 9)
"""The parts of the points below a threshold, which is then written with one digit."""
MIN_PART = 0.08
"""The least part of the points that each term, and what is left, must decide."""
MOST_TERMS = 3
SEED = 1
"""Of the halves: the same points give the same rule."""


class Term(NamedTuple):
    """A condition on a factor, and the choice where it is true: `first`, `second`, `either`."""

    factor: str
    relation: str
    """`above` or `at most` a number, `is` or `is not` a level."""
    value: Any
    choice: str = "either"

    def is_true(self, table: pd.DataFrame) -> Truths:
        """Return at which points it is."""
        its = table[self.factor]
        if self.relation in ("is", "is not"):
            return np.asarray((its == self.value) == (self.relation == "is"))
        return np.asarray((its > self.value) == (self.relation == "above"))

    def __str__(self) -> str:
        """Return the condition in words."""
        return f"{self.factor} {self.relation} {self.value}"


@dataclass(frozen=True)
class Rule:
    """Which of two sides to choose."""

    terms: tuple[Term, ...]
    otherwise: str

    def choices(self, table: pd.DataFrame) -> NDArray[np.str_]:
        """Return the choice at each point."""
        made = np.full(len(table), self.otherwise)
        for term in reversed(self.terms):
            made = np.where(term.is_true(table), term.choice, made)
        return made

    def __str__(self) -> str:
        """Return the rule in words."""
        said = [f"{term}: {term.choice}" for term in self.terms]
        return "; else ".join([*said, self.otherwise])


def read_rule(path: Path) -> tuple[Rule, str]:
    """Return a rule that was fixed before its test, and the SHA-256 of its file."""
    content = path.read_bytes()
    rule = json.loads(content)
    terms = tuple(Term(**term) for term in rule["terms"])
    return Rule(terms, rule["otherwise"]), hashlib.sha256(content).hexdigest()


def losses(ratios: Numbers) -> dict[str, Numbers]:
    """Return which part of the goodput each choice loses at each point against the better one."""
    with np.errstate(divide="ignore"):
        first, second = 1 - np.minimum(1, ratios), 1 - np.minimum(1, 1 / ratios)
    return {"first": first, "second": second, "either": (first + second) / 2}


def regrets(rule: Rule, points: pd.DataFrame, measure: str, sides: tuple[str, str]) -> pd.DataFrame:
    """Return the goodput that is lost (%) by the rule and by either side always.

    The last rows are what either side always loses more than the rule: above 0 the rule is better.
    """
    known = points[points[measure].notna()]
    lost, choices = losses(known[measure].to_numpy(dtype=float)), rule.choices(known)
    by_rule = np.select([choices == name for name in lost], list(lost.values()))
    speaks = choices != "either"
    rows = {"the rule": by_rule, f"always {sides[0]}": lost["first"],
            f"always {sides[1]}": lost["second"]}  # fmt: skip
    more = {f"{name}, more than the rule": its - by_rule for name, its in list(rows.items())[1:]}
    return pd.DataFrame.from_dict(
        {name: _regret(its, speaks) for name, its in (rows | more).items()}, orient="index"
    ).rename_axis("way to choose")


def _regret(lost: Numbers, speaks: Truths) -> dict[str, Any]:
    silent = f"where the rule speaks ({int(speaks.sum())} of {len(speaks)})"
    return {"regret (%)": _mean(lost), silent: _mean(lost[speaks])}


def _mean(values: Numbers) -> str:
    if not len(values):
        return ""
    ends = bootstrap_interval(values[np.newaxis, np.newaxis], lambda drawn: float(drawn.mean()))
    return f"{100 * values.mean():.1f} ({100 * ends.low:.1f} to {100 * ends.high:.1f})"


class Half(NamedTuple):
    """Points, which conditions are true of them, and what the first side loses more there."""

    truths: Truths
    """A row a condition, a column a point."""
    more: Numbers


def find_rule(points: pd.DataFrame, measure: str, factors: Sequence[str]) -> Rule:
    """Return the rule of some points, each of which has a ratio `measure`."""
    mixed = np.random.default_rng(SEED).permutation(len(points))
    places = np.sort(mixed[: len(points) // 2]), np.sort(mixed[len(points) // 2 :])
    terms = list(_conditions(points.iloc[places[0]], factors))
    truths = np.array([term.is_true(points) for term in terms])
    lost = losses(points[measure].to_numpy(dtype=float))
    more = lost["first"] - lost["second"]
    train, check = (Half(truths[:, rows], more[rows]) for rows in places)
    chosen = _fewest(train, check)
    said = list(_sure(chosen, train, check))
    kept = [
        terms[place]._replace(choice=choice)
        for place, choice in zip(chosen, said[:-1], strict=True)
    ]
    while kept and kept[-1].choice == said[-1]:
        kept.pop()
    return Rule(tuple(kept), said[-1])


def _conditions(points: pd.DataFrame, factors: Sequence[str]) -> Iterator[Term]:
    for name in factors:
        if not pd.api.types.is_numeric_dtype(points[name]):
            for level in dict.fromkeys(points[name]):
                yield from (Term(name, relation, level) for relation in ("is", "is not"))
            continue
        values = np.quantile(points[name], THRESHOLDS)
        for value in sorted({float(f"{value:.1g}") for value in values}):
            yield from (Term(name, relation, value) for relation in ("above", "at most"))


def _fewest(train: Half, check: Half) -> tuple[int, ...]:
    """Return the shortest list of conditions within one standard error of the best."""
    everywhere = np.ones(len(train.more), dtype=bool)
    lists = [_best(number, train, everywhere)[1] for number in range(MOST_TERMS + 1)]
    lost = [_lost(conditions, train, check) for conditions in lists]
    least = min(lost, key=lambda its: its.mean())
    for conditions, its in zip(lists, lost, strict=True):
        behind = its - least
        if behind.mean() <= behind.std(ddof=1) / np.sqrt(len(behind)):
            return conditions
    raise AssertionError("the best list is not behind itself")


def _lost(conditions: Sequence[int], train: Half, check: Half) -> Numbers:
    """Return what choices made on one half lose on the other, more than always the second."""
    total = np.zeros(len(check.more))
    for here, there in zip(_parts(conditions, train), _parts(conditions, check), strict=True):
        if train.more[here].sum() < 0:
            total[there] = check.more[there]
    return total


def _sure(conditions: Sequence[int], train: Half, check: Half) -> Iterator[str]:
    """Yield the choice of each part; none where the other half does not confirm it."""
    for here, there in zip(_parts(conditions, train), _parts(conditions, check), strict=True):
        first = train.more[here].sum() < 0
        ends = mean_interval((check.more if first else -check.more)[there].tolist())
        yield ("first" if first else "second") if ends.high < 0 else "either"


def _parts(conditions: Sequence[int], half: Half) -> list[Truths]:
    """Return the points that each condition decides, and last those that none does."""
    rest, parts = np.ones(len(half.more), dtype=bool), []
    for place in conditions:
        parts.append(rest & half.truths[place])
        rest = rest & ~half.truths[place]
    return [*parts, rest]


def _best(number: int, half: Half, rest: Truths) -> tuple[float, tuple[int, ...]]:
    """Return the gain of the best list of so many conditions or fewer on the points left.

    The gain is that of the better choice in each part, against always the second side, summed.
    """
    found: tuple[float, tuple[int, ...]] = (max(0.0, -float(half.more[rest].sum())), ())
    if number == 0:
        return found
    parts = half.truths & rest
    counts, sums = parts.sum(axis=1), parts @ half.more
    fewest, total = MIN_PART * len(half.more), half.more[rest].sum()
    allowed = (counts >= fewest) & (rest.sum() - counts >= fewest)
    if number == 1:
        gains = np.where(allowed, np.maximum(0, -sums) + np.maximum(0, sums - total), -np.inf)
        place = int(gains.round(9).argmax())  # of a condition and its opposite the first
        return max(found, (float(gains[place]), (place,)), key=lambda one: one[0])
    for place in np.flatnonzero(allowed).tolist():
        gain, others = _best(number - 1, half, rest & ~half.truths[place])
        gain += max(0.0, -float(sums[place]))
        found = max(found, (gain, (place, *others)), key=lambda one: one[0])
    return found
