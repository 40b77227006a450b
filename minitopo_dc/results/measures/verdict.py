"""The verdict of a comparison, in sentences (`row_pairs` says which ways they are about).

Rules:

* Only ways of one stack are compared, where there are some. The caller says which transports are of
  one stack. Else the best way of Dual Connectivity and of multipath are, or the best two.
* Runs of one seed meet the same losses and jitter: they are a pair. What is judged is the mean
  difference of their scores (`named.Criterion`), with Student's 95 % interval over pairs. Of
  goodputs it is their ratio, of videos and calls each number that viewers and callers feel: the
  main one, and those that differ by more than their margin. The intervals are not widened for
  their number.
* Fewer than four pairs have an interval that says nothing, and their sentence says so.
* The reason is the sign by which the worse run of the first pair differs most from the better one
  (`limiting_factors`), if the first number is clearly worse, or there is one pair.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc import statistics
from minitopo_dc.numbers import for_json, short, significant
from minitopo_dc.results.measures.limiting_factors import Reason, reason
from minitopo_dc.results.measures.named import Criterion, criteria_of
from minitopo_dc.results.measures.row_pairs import RowPair, row_pairs
from minitopo_dc.statistics import CONFIDENCE, Interval, Outcome, Paired

FEWEST = 4
"""Pairs of an interval that is told: of fewer it is so wide that it tells nothing."""


@dataclass(frozen=True)
class Difference:
    """By how much the first of two ways is better in one measure, over seeds that both have."""

    criterion: Criterion
    ways: tuple[str, str]
    means: tuple[float, float]
    """Of the measure, over pairs."""
    scores: tuple[float, float]
    """Their mean scores."""
    paired: Paired
    """Of the scores, the first less the second; above 0 the first is better."""
    confidence: float = CONFIDENCE
    """The level of its interval, which is higher the more often seeds were added."""

    @property
    def outcome(self) -> Outcome:
        """Return the outcome of the first way; less than `FEWEST` pairs are not enough evidence."""
        is_enough = self.paired.pairs >= FEWEST
        return (
            statistics.outcome(self.paired.interval, self.criterion.limit) if is_enough else "open"
        )

    def of_the_better(self, interval: Interval) -> tuple[float, float]:
        """Return the ends of an interval, as seen from the better way."""
        low, high = interval.low, interval.high
        return (-high, -low) if self.paired.mean < 0 else (low, high)

    @property
    def seeds(self) -> int:
        """Return the number of pairs that were asked for."""
        return self.paired.pairs + sum(self.paired.lost.values())

    @property
    def seeds_shown(self) -> str:
        """Return of how many of all seeds both ways have a run: `3 seeds`, `2 of 3 seeds`."""
        if self.paired.pairs < self.seeds:
            return f"{self.paired.pairs} of {self.seeds} seeds"
        return "1 seed" if self.seeds == 1 else f"{self.seeds} seeds"

    @property
    def is_seen(self) -> bool:
        """Return whether there is a difference in three digits."""
        if self.criterion.is_ratio:
            return f"{math.exp(self.paired.mean):.3g}" != "1"
        first, second = map(significant, self.means)
        return first != second

    @property
    def better(self) -> str:
        """Return the way that is clearly better; empty: neither is, as one pair never tells."""
        interval = self.paired.interval
        if not self.is_seen or not (interval.low > 0 or interval.high < 0):
            return ""
        return self.ways[0] if self.paired.mean > 0 else self.ways[1]

    @property
    def is_worse(self) -> bool:
        """Return whether the first way is clearly worse by more than the margin.

        Of a ratio one pair is enough.
        """
        if abs(self.paired.mean) <= self.criterion.limit:
            return False
        is_single = self.criterion.is_ratio and self.paired.pairs == 1 and self.is_seen
        return self.better == self.ways[1] or (is_single and self.paired.mean < 0)

    @property
    def matters(self) -> bool:
        """Return whether the difference is beyond the measure's margin, and no chance is seen."""
        is_chance = self.paired.pairs >= FEWEST and not self.better
        return abs(self.paired.mean) > self.criterion.limit and not is_chance

    @property
    def sentence(self) -> str:
        """Return both means, which way is better, by how much, and how sure that is."""
        named = zip(self.ways, self.means, strict=True)
        shown = ", ".join(f"{way} {significant(mean)}" for way, mean in named)
        name = "" if self.criterion.words == "goodput" else self.criterion.words
        before = f"{name[:1].upper()}{name[1:]}: " if name else ""
        return f"{before}{f'{shown} {self.criterion.unit}'.rstrip()}: {self._outcome()}."

    def _outcome(self) -> str:
        paired, judged = self.paired, self.criterion
        way = self.ways[paired.mean < 0]
        low, high = self.of_the_better(paired.interval)
        far = f"{way} is {judged.by(abs(paired.mean))}" if self.is_seen else "no difference"
        if not paired.pairs:
            words = "ratio" if judged.is_ratio else "difference"
            return f"no {words}, as no seed has a number{' above 0' * judged.is_ratio} of both"
        if math.isclose(low, high, abs_tol=1e-9):
            words = f"{far} (the same with {self.seeds_shown})"
        elif paired.pairs < FEWEST:
            words = f"{far} ({self.seeds_shown}, more are needed for an interval)"
        else:
            words = far if self.better else "no clear difference"
            words += f" ({judged.shown(low, high)}, {self.seeds_shown})"
        if paired.lost:
            ends = judged.shown(*self.of_the_better(paired.other[1]))
            lost = ", ".join(f"{number} {why}" for why, number in paired.lost.items())
            words += f"; {lost}: if it went the other way there, {ends}"
        return words

    @property
    def phrase(self) -> str:
        """Return the measure with both values, that of the better way first."""
        values = [significant(mean) for mean in self.means]
        first, second = values[::-1] if self.paired.mean < 0 else values
        return f"{self.criterion.words} ({f'{first}, not {second} {self.criterion.unit}'.rstrip()})"

    def to_json(self) -> dict[str, Any]:
        """Return it for programs; above 0 the first way is better, whatever is judged."""
        judged, paired = self.criterion, self.paired
        scores = {"difference": paired.mean, "low": paired.interval.low}
        scores |= {"high": paired.interval.high}
        scores |= {"other_low": paired.other[1].low, "other_high": paired.other[1].high}
        numbers = {"first_mean": self.means[0], "second_mean": self.means[1]}
        numbers |= {name: judged.in_unit(score) for name, score in scores.items()}
        return {
            **{"measure": judged.measure, "unit": judged.unit},
            **{"difference_unit": judged.difference_unit, "better": self.better},
            **{"pairs": paired.pairs, "seeds": self.seeds, "lost": dict(paired.lost)},
            **for_json(numbers),
        }


def difference(
    scored: pd.DataFrame,
    ways: Sequence[str],
    criterion: Criterion,
    confidence: float = CONFIDENCE,
) -> Difference:
    """Return by how much the first of two ways is better.

    Args:
        scored: runs of a comparison (`Criterion.scored`).
        ways: the two.
        criterion: what is judged.
        confidence: the level of the interval.
    """
    first, second = ways
    paired = statistics.paired_difference(
        scored, "way", first, second, measure="score", pairs=["seed"], confidence=confidence
    )
    known = scored[scored["score"].notna() & scored["way"].isin(ways)]
    both = known.pivot_table(index="seed", columns="way", values=["number", "score"])
    columns = pd.MultiIndex.from_product([["number", "score"], ways])
    one, other, score, its = both.reindex(columns=columns).dropna().mean().tolist()
    of_both = (one, other), (score, its)
    return Difference(criterion, (first, second), *of_both, paired, confidence)


@dataclass(frozen=True)
class Finding:
    """Two ways that were compared."""

    stack: str
    """Of both; empty: there is no stack that has two ways to compare."""
    differences: tuple[Difference, ...]
    """In each measure that is judged, the main one first."""
    reason: Reason
    """Why the worse one was worse."""
    warning: bool = False
    """Whether it warns that a way over several legs is worse than one leg alone."""
    protocol: str = ""
    """By which multipath is done, if Dual Connectivity is set against it: `mpquic`, `mptcp`."""

    @property
    def main(self) -> Difference:
        """Return the difference in the main measure."""
        return self.differences[0]

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for a missing interval."""
        first, second = self.main.ways
        return {
            **{"stack": self.stack, "first": first, "second": second, "warning": self.warning},
            "differences": [difference.to_json() for difference in self.differences],
            **for_json({**self.reason.to_json(), "sentence": self.sentence}),
        }

    @property
    def sentence(self) -> str:
        """Return what was found and how sure it is, what else differs, and why."""
        main = self.main
        lines = [f"{'Warning: ' if self.warning else ''}{main.sentence}"]
        lines += [] if self.warning else [_of_others(self.differences[1:])]
        lines += [self.reason.sentence(main.ways[main.paired.mean >= 0])]
        return " ".join(filter(None, lines))


def _of_others(differences: Iterable[Difference]) -> str:
    """Return in which measures beside the main one which way is better beyond their margins."""
    better: dict[str, list[str]] = {}
    for found in differences:
        if found.matters:
            better.setdefault(found.ways[found.paired.mean < 0], []).append(found.phrase)
    return " ".join(f"{way} is better in {', '.join(phrases)}." for way, phrases in better.items())


def beside_main(runs: pd.DataFrame, ways: tuple[str, str]) -> Iterator[str]:
    """Yield in which measures beside the main one two ways differ, where they do.

    Raises:
        ResultError: a file of a run is missing or broken.
    """
    others = criteria_of(runs)[1:]
    made = (difference(criterion.scored(runs), ways, criterion) for criterion in others)
    yield from filter(None, [_of_others(made)])


def findings(results: pd.DataFrame, stacks: Mapping[str, str]) -> list[Finding]:
    """Compare ways by the pairs of `row_pairs`, those of multipath first; else the best two.

    Args:
        results: runs of one comparison (`results_table`).
        stacks: the stack of each transport; other transports are left out.

    Raises:
        ResultError: a file of a run is missing or broken.
    """
    criteria = criteria_of(results)
    scored = [criterion.scored(results) for criterion in criteria]
    known = scored[0][scored[0]["score"].notna()]
    pairs = list(row_pairs(known, stacks, lambda runs: criteria[0].sign * runs["number"].mean()))
    pairs.sort(key=lambda pair: pair.runs["mode_y"].iloc[0] != "multipath")
    return [*filter(None, (_finding(pair, criteria, scored) for pair in pairs))]


def _finding(
    pair: RowPair, criteria: Sequence[Criterion], scored: Sequence[pd.DataFrame]
) -> Finding | None:
    """Return what was found of two ways; None: it would be a warning, and there is none."""
    ways = pair.first, pair.second
    main = difference(scored[0], ways, criteria[0])
    if pair.warning and not main.is_worse:
        return None
    others = zip(scored[1:], criteria[1:], strict=True)
    differences = (main, *(difference(runs, ways, criterion) for runs, criterion in others))
    first, second = (Path(pair.runs[f"directory_{end}"].iloc[0]) for end in "xy")
    places = (first, second) if main.paired.mean < 0 else (second, first)
    tells = main.better or (main.criterion.is_ratio and main.paired.pairs == 1)
    why = reason(*places) if tells else Reason()
    row, protocol = pair.runs.iloc[0], ""
    if (row["mode_x"], row["mode_y"]) == ("dc", "multipath"):
        protocol = row["transport_y"].partition("-")[0]
    return Finding(pair.stack, differences, why, pair.warning, protocol)


SIDES: Mapping[Outcome, str] = {"better": "DC", "worse": "multipath"}
OTHERS: Mapping[Outcome, str] = {"tie": "a tie", "open": "not enough evidence"}
DEPENDS, AGREE = "it depends on the stack", "the stacks agree"


def of_stacks(known: Mapping[str, tuple[Outcome, Difference]]) -> str:
    """Return whether what is better depends on the stack, in a sentence; empty: there is one.

    Args:
        known: by stack the outcome of Dual Connectivity against multipath, and the difference.
    """
    if len(known) < 2:
        return ""
    words = []
    for stack, (side, found) in known.items():
        by = found.criterion.by(abs(found.paired.mean))
        words.append(f"with {stack} {f'{SIDES[side]} is {by}' if side in SIDES else OTHERS[side]}")
    depends = len({side for side, _ in known.values()}) > 1
    text = ", ".join(words)
    return f"{text[0].upper()}{text[1:]}: {DEPENDS if depends else AGREE}."


def agreement(found: Sequence[Finding], margin: float) -> str:
    """Return `of_stacks` of what was found over several stacks of MP-QUIC, by their means.

    Args:
        found: of one comparison.
        margin: of a ratio, up to which there is a tie; other differences are ties unless clear.
    """
    known: dict[str, tuple[Outcome, Difference]] = {}
    for finding in found:
        if finding.protocol == "mpquic":
            mean, clear = finding.main.paired.mean, finding.main.better
            limit = math.log1p(margin)
            if not finding.main.criterion.is_ratio:
                limit = 0 if clear else math.inf
            side: Outcome = "better" if mean > limit else "worse" if mean < -limit else "tie"
            known[finding.stack] = side, finding.main
    return of_stacks(known)


def with_primary(way: str, leg: int) -> str:
    """Return the name of a way with another primary leg than the scenario's."""
    return f"{way}; primary leg {leg}"


def of_roles(runs: pd.DataFrame, pairs: Iterable[tuple[str, str]], legs: int) -> Iterator[str]:
    """Yield what another primary leg makes of pairs of ways, or that it makes no difference.

    Args:
        runs: of the ways, and of the same with another primary leg (`with_primary`).
        pairs: those that were compared.
        legs: how many there are.

    Raises:
        ResultError: a file of a run is missing or broken.
    """
    criterion = criteria_of(runs)[0]
    scored, known, matters = criterion.scored(runs), set(runs["way"]), False
    tried = [
        (pair, leg, others)
        for pair, leg in product(pairs, range(1, legs + 1))
        for others in [tuple(with_primary(way, leg) for way in pair)]
        if known.issuperset(others)
    ]
    for pair, leg, others in tried:
        changes = [difference(scored, both, criterion) for both in zip(others, pair, strict=True)]
        if any(change.matters for change in changes):
            matters = True
            by = " and ".join(_change(change) for change in changes)
            found = replace(difference(scored, others, criterion), ways=pair)
            yield f"With leg {leg} as the primary one ({by}): {found.sentence}"
    if tried and not matters:
        limit = criterion.in_unit(criterion.limit)
        unit = criterion.difference_unit.removesuffix("s" if limit == 1 else "")
        words = f"changes {criterion.words} of neither way by more than"
        yield f"Another primary leg {words} {limit:.3g} {unit}."


def _change(change: Difference) -> str:
    """Return by how much a measure changes: `-45 %`, `+3.2 ms`."""
    judged, mean = change.criterion, change.criterion.sign * change.paired.mean
    value = judged.in_unit(mean)
    return f"{'+' if value > 0 else ''}{short(value)} {judged.difference_unit}"
