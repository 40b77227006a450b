"""The verdict on one stack: choose on some seeds, judge on others, add seeds until it is decided.

docs/advise.md says how. With a seed both sides meet the same losses and jitter: they are a pair.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from minitopo_dc.advice.candidates import Candidates, Row
from minitopo_dc.advice.criterion import Criterion
from minitopo_dc.advice.verdict import Difference, Stopped, Verdict
from minitopo_dc.campaign.executors import Workers
from minitopo_dc.comparison import RowCampaign
from minitopo_dc.numbers import significant
from minitopo_dc.results.measures.limiting_factors import reason
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.perform import Retries
from minitopo_dc.statistics import CONFIDENCE, look_confidence, mean_interval, outcome

CHOOSING = 2
"""Seeds on which variants are chosen: variants that are closer than the scatter of two runs are
closer than the margin in most networks."""
FEWEST = 4
"""Seeds of the first analysis: of fewer the interval is so wide that it decides nothing."""
GROWTH = 1.5
"""Of the seeds from one analysis to the next."""
MAX_SEEDS = 200
"""To judge on: what they leave open is on the border between two outcomes."""
PRECISE = 0.25
"""Of the margin: an interval that is narrower and not on one side of a border is at the border."""
REAL_SEEDS = 3
"""A run on packets takes as long as it takes, and seconds beside it."""
Progress = Callable[[str], object]
"""Hears in a few words what is under way."""


def comparison_of(root: Path, rows: Sequence[Row]) -> RowCampaign:
    """Return the comparison of rows whose runs are kept in a directory."""
    scenarios, variants = [row.scenario for row in rows], [row.variant for row in rows]
    return RowCampaign(root, scenarios, variants=variants)


@dataclass
class Runs:
    """Runs of one stack's rows, which are some of a comparison's, and their scores.

    A repetition (1, 2, ...) has the base's seed plus the repetition - 1.
    """

    comparison: RowCampaign
    rows: Sequence[Row]
    """All of the comparison's, in its order."""
    criterion: Criterion
    workers: Workers
    until: float = math.inf
    """By `time.monotonic`, in s: when the workers give up."""
    progress: Progress = str
    results: dict[tuple[str, int], RunResult] = field(default_factory=dict, init=False)
    """By the name of the row and the repetition."""
    scores: pd.DataFrame = field(default_factory=pd.DataFrame, init=False)
    """A column a row, a line a repetition; NaN of a run that failed, or was not made."""

    @property
    def is_late(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() >= self.until

    def make(self, rows: Sequence[Row], repetitions: range) -> None:
        """Make the runs that are not there, a seed after the other; one that fails stops none."""
        new = [
            (self.comparison.run_of(self.rows.index(row), repetition), row)
            for repetition, row in itertools.product(repetitions, rows)
            if (row.name, repetition) not in self.results
        ]
        named = {run.name: (run, row) for run, row in new}
        done = self.comparison.finished((run for run, _ in new), Retries())
        missing = [run for run, _ in new if run.name not in done]
        made = self.comparison.run(missing, self.workers, Retries())
        for name, result in itertools.chain(done.items(), made):
            run, row = named[name]
            self.results[row.name, run.repetition] = result
            self.scores.loc[run.repetition, row.name] = self.criterion.score(result)
            if name not in done:
                self.progress(f"seed {run.repetition}: {row.name} ({result.status})")

    def pairs(self, rows: Sequence[Row], after: int) -> pd.DataFrame:
        """Return the scores of rows, over the seeds after some of which all have one."""
        scores = self.scores.reindex(columns=[row.name for row in rows]).sort_index()
        return scores.loc[after + 1 :].dropna()

    def best(self, rows: Sequence[Row]) -> tuple[Row | None, float]:
        """Return the best row on the first seeds, and its mean score; None: none has all runs."""
        first = self.scores.reindex(range(1, CHOOSING + 1), columns=[row.name for row in rows])
        means = first.mean(skipna=False).dropna()
        known = [row for row in rows if row.name in means]
        if not known:
            return None, -math.inf
        best = max(known, key=lambda row: means[row.name])
        return best, float(means[best.name])

    def failures(self, rows: Sequence[Row]) -> tuple[str, ...]:
        """Say of each row how many of its runs failed, and the first reason."""
        sentences = []
        for row in rows:
            own = [run for (name, _), run in self.results.items() if name == row.name]
            if failed := [run for run in own if math.isnan(self.criterion.score(run))]:
                why = failed[0].reason or "a request had no answer"
                many = f"{len(failed)} of {len(own)} runs failed and are left out"
                sentences.append(f"{row.name}: {many}: {' '.join(why.split())}")
        return tuple(sentences)

    def difference(
        self, rows: Sequence[Row], confidence: float, after: int, fewest: int
    ) -> Difference | None:
        """Return by how much the first row is better, over the seeds after some; None: no seed.

        Less than the `fewest` seeds, as the time was up, are not enough evidence.
        """
        pairs = self.pairs(rows, after)
        if pairs.empty:
            return None
        first, second = (pairs[row.name] for row in rows)
        interval = mean_interval((first - second).tolist(), confidence=confidence)
        judged = outcome(interval, self.criterion.limit) if len(pairs) >= fewest else "open"
        means = float(first.mean()), float(second.mean())
        return Difference(*means, interval, confidence, len(pairs), judged)


def decide(stack: Candidates, runs: Runs) -> Verdict:
    """Return the verdict, as far as there is one at the end of the time.

    Raises:
        ResultError: a file of a run is broken.
    """
    runs.make(stack.rows, range(1, CHOOSING + 1))
    (dual, dual_score), (multipath, score) = runs.best(stack.dual), runs.best(stack.multipath)
    verdict = Verdict(stack.stack, runs.criterion, dual, multipath, "time")
    if dual is not None and multipath is not None:
        difference, stopped = _sampled(runs, (dual, multipath))
        why = _why(runs, (dual, multipath), difference)
        verdict = replace(verdict, stopped=stopped, difference=difference, why=why)
        leg, alone = runs.best(stack.alone)
        if leg is not None and alone - max(dual_score, score) > runs.criterion.limit:
            verdict = replace(verdict, alone=_warning(leg, alone, runs.criterion))
    elif runs.is_late:
        return verdict
    else:
        verdict = replace(verdict, stopped="runs failed")
    return replace(verdict, failed=runs.failures([*stack.dual, *stack.multipath]))


def on_packets(verdict: Verdict, root: Path, workers: Workers) -> Difference | None:
    """Return by how much the verdict's rows differ on the real clock; None: no seed has both.

    A run that the machine disturbed is in no pair. There is no limit of time. The runs are kept in
    `root`, which goes on.
    """
    if verdict.dual is None or verdict.multipath is None:
        return None
    rows = [
        replace(row, scenario=row.scenario.on_clock("real").of_its_clock())
        for row in (verdict.dual, verdict.multipath)
    ]
    runs = Runs(comparison_of(root, rows), rows, verdict.criterion, workers)
    with runs.comparison.held():
        runs.make(rows, range(1, REAL_SEEDS + 1))
    return runs.difference(rows, CONFIDENCE, after=0, fewest=1)


def _sampled(runs: Runs, rows: Sequence[Row]) -> tuple[Difference | None, Stopped]:
    """Add seeds until they decide, or cannot; return the difference, and why they end."""
    difference, number, analysis = None, FEWEST, 1
    while number <= MAX_SEEDS:
        runs.make(rows, range(CHOOSING + 1, CHOOSING + number + 1))
        difference = runs.difference(rows, look_confidence(analysis), CHOOSING, FEWEST)
        if difference is not None and difference.outcome != "open":
            return difference, "decided"
        if difference is not None and difference.pairs >= FEWEST:
            width = difference.interval.high - difference.interval.low
            if width < PRECISE * runs.criterion.limit:
                return difference, "border"
        if runs.is_late:
            return difference, "time"
        number, analysis = math.ceil(number * GROWTH), analysis + 1
    return difference, "most seeds"


def _warning(leg: Row, score: float, judged: Criterion) -> str:
    number = f"{significant(judged.value(score))} {judged.unit}"
    return f"Warning: {leg.name} was better than both with the first {CHOOSING} seeds: {number}."


def _why(runs: Runs, rows: Sequence[Row], difference: Difference | None) -> str:
    """Say what held the worse one back, by the pair in the middle; empty where neither clearly is.

    A tie has no reason, nor has a difference whose interval holds 0.
    """
    if difference is None or difference.outcome == "tie" or not difference.of_the_better[1] > 0:
        return ""
    worse, better = rows[::-1] if difference.first > difference.second else rows
    pairs = runs.pairs(rows, CHOOSING)
    order = (pairs[worse.name] - pairs[better.name]).sort_values(kind="stable").index
    middle = int(order[len(order) // 2])
    directories = (Path(runs.results[row.name, middle].directory) for row in (worse, better))
    return reason(*directories).sentence(worse.name)
