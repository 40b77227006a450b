"""The verdict on one stack: choose on some seeds, judge on others, add seeds until it is decided.

docs/advise.md says how. With a seed both sides meet the same losses and jitter: they are a pair.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.advice.criterion import Criterion
from minitopo_dc.advice.sides import Row, Sides
from minitopo_dc.advice.verdict import Difference, Stopped, Verdict
from minitopo_dc.clocks import run_checked
from minitopo_dc.comparison_runs import Execute, attempt, kept, run_directory
from minitopo_dc.numbers import significant
from minitopo_dc.pool import Pool
from minitopo_dc.results.measures.verdict import limiting_factor
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario, VirtualSettings
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
UNITS = {"waiting": "round trips", "needless": "times", "bytes_per_byte": "bytes a byte"}
"""Of the counters that tell why one is slower (docs/results.md); others are shares."""
Progress = Callable[[str], object]
"""Hears in a few words what is under way."""
Place = tuple[str, int]
"""A row's name and a repetition (1, 2, ...), which has the base's seed plus the repetition - 1."""


class ThisProcess:
    """Makes runs one after the other, as a `Pool` makes several at once."""

    def results(self, calls: Sequence[tuple[Any, ...]], until: float) -> Iterator[tuple[int, Any]]:
        """Yield index and outcome of each call that begins before a moment, in s."""
        for index, call in enumerate(calls):
            if time.monotonic() >= until:
                return
            yield index, attempt(*call)


@dataclass
class Runs:
    """Runs over the legs of `base`, each in its directory of `root`, and their scores."""

    base: Scenario
    criterion: Criterion
    root: Path
    pool: Pool | ThisProcess = field(default_factory=ThisProcess)
    until: float = math.inf
    """By `time.monotonic`, in s: what has not ended then is given up."""
    progress: Progress = str
    execute: Execute = run_checked
    results: dict[Place, RunResult] = field(default_factory=dict, init=False)
    _scores: dict[Place, float] = field(default_factory=dict, init=False)

    @property
    def is_late(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() >= self.until

    def make(self, rows: Sequence[Row], repetitions: range) -> None:
        """Make the runs that are not there, a seed after the other; one that fails stops none."""
        missing: list[tuple[Row, int, Scenario, Path]] = []
        for repetition, row in ((repetition, row) for repetition in repetitions for row in rows):
            scenario = row.scenario(self.base, self.base.seed + repetition - 1)
            directory = run_directory(self.root, repetition, scenario, row.variant)
            with suppress(OSError, TypeError, ValueError):
                before = replace(RunResult.load(directory), directory=os.fspath(directory))
                self._add(row, repetition, before)
                continue
            missing.append((row, repetition, scenario, directory))
        calls = [(self.execute, *run[2:]) for run in missing]
        for index, ended in self.pool.results(calls, self.until):
            row, repetition, scenario, directory = missing[index]
            result = kept(ended, scenario, directory, repetition, row.variant)
            self._add(row, repetition, result)
            self.progress(f"seed {repetition}: {row.name} ({result.status})")

    def _add(self, row: Row, repetition: int, result: RunResult) -> None:
        self.results[row.name, repetition] = result
        self._scores[row.name, repetition] = self.criterion.score(result)

    def scores(self, *rows: Row) -> pd.DataFrame:
        """Return the scores, a line a repetition; NaN of a run that failed, or was not made."""
        columns: dict[str, dict[int, float]] = {row.name: {} for row in rows}
        for (name, repetition), score in self._scores.items():
            columns.get(name, {})[repetition] = score
        series = {name: pd.Series(scores, dtype=float) for name, scores in columns.items()}
        return pd.DataFrame(series).sort_index()

    def failures(self, sides: Sides) -> tuple[str, ...]:
        """Say of each row how many of its runs failed, and the first reason."""
        said = []
        for row in (*sides.dual, *sides.multipath):
            made = [place for place in self.results if place[0] == row.name]
            if failed := [place for place in made if math.isnan(self._scores[place])]:
                reason = self.results[failed[0]].reason or "a request had no answer"
                many = f"{len(failed)} of {len(made)} runs failed and are left out"
                said.append(f"{row.name}: {many}: {' '.join(reason.split())}")
        return tuple(said)


def decide(sides: Sides, runs: Runs) -> Verdict:
    """Return the verdict, as far as there is one at the end of the time.

    Raises:
        ResultError: a file of a run is broken.
    """
    runs.make(sides.rows, range(1, CHOOSING + 1))
    dual, multipath = _best(runs, sides.dual), _best(runs, sides.multipath)
    verdict = Verdict(sides.stack, runs.criterion, dual, multipath, "time")
    if dual is None or multipath is None:
        failed = replace(verdict, stopped="runs failed", failed=runs.failures(sides))
        return verdict if runs.is_late else failed
    difference, stopped = _sampled(runs, (dual, multipath))
    return replace(
        verdict,
        stopped=stopped,
        difference=difference,
        why=_why(runs, (dual, multipath), difference),
        alone=_warning(runs, sides.alone, (dual, multipath)),
        failed=runs.failures(sides),
    )


def on_packets(verdict: Verdict, runs: Runs) -> Difference | None:
    """Return by how much the verdict's rows differ on the real clock; None: no seed has both.

    A run that the machine disturbed is in no pair. They run one at a time, without a limit.
    """
    if verdict.dual is None or verdict.multipath is None:
        return None
    base = runs.base.model_copy(update={"clock": "real", "virtual": VirtualSettings()})
    rows = verdict.dual, verdict.multipath
    real = replace(runs, base=base, root=runs.root / "real")
    real.make(rows, range(1, REAL_SEEDS + 1))
    return _difference(real, rows, CONFIDENCE, after=0, fewest=1)


def _means(runs: Runs, rows: Sequence[Row]) -> dict[Row, float]:
    """Return the mean scores on the first seeds, of the rows whose runs are all ok."""
    table = runs.scores(*rows).reindex(range(1, CHOOSING + 1)).mean(skipna=False)
    means = {row: float(table[row.name]) for row in rows}
    return {row: mean for row, mean in means.items() if not math.isnan(mean)}


def _best(runs: Runs, rows: Sequence[Row]) -> Row | None:
    means = _means(runs, rows)
    return max(means, key=means.__getitem__, default=None)


def _difference(
    runs: Runs, rows: Sequence[Row], confidence: float, after: int, fewest: int
) -> Difference | None:
    """Return by how much the first row is better, over the seeds `after` some; None: without any.

    Less than the `fewest` seeds, as the time was up, are not enough evidence whatever they say.
    """
    pairs = runs.scores(*rows).loc[after + 1 :].dropna()
    if pairs.empty:
        return None
    first, second = (pairs[row.name] for row in rows)
    interval = mean_interval((first - second).tolist(), confidence=confidence)
    found = outcome(interval, runs.criterion.limit) if len(pairs) >= fewest else "open"
    means = float(first.mean()), float(second.mean())
    return Difference(*means, interval, confidence, len(pairs), found)


def _sampled(runs: Runs, rows: Sequence[Row]) -> tuple[Difference | None, Stopped]:
    """Add seeds until they decide, or cannot; return the difference, and why they end."""
    difference, number, analysis = None, FEWEST, 1
    while number <= MAX_SEEDS:
        runs.make(rows, range(CHOOSING + 1, CHOOSING + number + 1))
        difference = _difference(runs, rows, look_confidence(analysis), CHOOSING, FEWEST)
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


def _warning(runs: Runs, legs: Sequence[Row], sides: Sequence[Row]) -> str:
    """Say that a leg alone is better than both by more than the margin; else nothing."""
    means, leg = _means(runs, [*legs, *sides]), _best(runs, legs)
    if leg is None or means[leg] - max(means[row] for row in sides) <= runs.criterion.limit:
        return ""
    number = f"{significant(runs.criterion.value(means[leg]))} {runs.criterion.unit}"
    return f"Warning: {leg.name} was better than both with the first {CHOOSING} seeds: {number}."


def _why(runs: Runs, rows: Sequence[Row], difference: Difference | None) -> str:
    """Say what held the worse one back, by the pair in the middle; empty where neither clearly is.

    A tie has no reason, nor has a difference whose interval holds 0.
    """
    if difference is None or difference.outcome == "tie" or not difference.of_the_better[1] > 0:
        return ""
    worse, better = rows[::-1] if difference.first > difference.second else rows
    pairs = runs.scores(worse, better).loc[CHOOSING + 1 :].dropna()
    order = (pairs[worse.name] - pairs[better.name]).sort_values(kind="stable").index
    middle = int(order[len(order) // 2])
    paths = (Path(runs.results[row.name, middle].directory) for row in (worse, better))
    if not (reason := limiting_factor(*paths))["why"]:
        return ""
    unit = UNITS.get(reason["sign"], "%")
    counted = [reason[run] * (100 if unit == "%" else 1) for run in ("sign_slower", "sign_faster")]
    values = " for ".join(significant(value, 2) for value in counted if not math.isnan(value))
    word = "slower" if runs.criterion.is_ratio else "worse"
    return f"{worse.name} is {word} because {reason['why']} ({values} {unit})."
