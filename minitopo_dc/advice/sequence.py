"""The verdict on one stack: choose on some seeds, judge on others, look until it is decided.

1. All rows run with `CHOOSING` seeds. Of each side the variant with the best mean is chosen; as
   many compete on one side as on the other (`minitopo_dc.advice.sides`).
2. The two that were chosen run with further seeds only, so that no luck by which one was chosen is
   in the verdict. Both meet the same losses and jitter with a seed: they are a pair.
3. After 4, 6, 9, ... of these seeds there is a look: if the interval of the mean difference says
   better, worse or tie, that is the verdict. Its level is raised for the looks (`look_confidence`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from minitopo_dc.advice.criterion import Criterion
from minitopo_dc.advice.runs import Done, Progress, Runs, Wanted
from minitopo_dc.advice.sides import Row, Sides
from minitopo_dc.advice.verdict import PRECISE, Difference, Stopped, Verdict
from minitopo_dc.analysis.measures.verdict import limiting_factor
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.statistics import look_confidence, mean_interval

CHOOSING = 2
"""Seeds on which variants are chosen: variants that are closer than the scatter of two runs are
closer than the margin in most networks."""
FIRST_LOOK = 4
"""Seeds: of fewer the interval is so wide at its level that it decides nothing."""
GROWTH = 1.5
"""Of the seeds from one look to the next."""
MAX_SEEDS = 200
"""To judge on: what they leave open is on the border between two outcomes."""
ALONE_FROM = 0.8
"""Of the better side: below that a leg alone needs no more runs to be the worse one."""


@dataclass(frozen=True)
class Asked:
    """What is to be found out about one stack."""

    base: Scenario
    sides: Sides
    criterion: Criterion
    root: Path
    """Where runs are kept."""

    def wanted(self, rows: Sequence[Row], repetitions: Sequence[int]) -> list[Wanted]:
        """Return the runs of some rows, a seed after the other."""
        return [Wanted.of(row, self.base, each) for each in repetitions for row in rows]


class _Numbers:
    """The numbers of runs by row and repetition."""

    def __init__(self, criterion: Criterion) -> None:
        self.criterion = criterion
        self.values: dict[str, dict[int, float]] = {}
        self.results: dict[tuple[str, int], RunResult] = {}

    def add(self, done: Sequence[Done]) -> None:
        """Take runs that were made."""
        for each in done:
            place = each.wanted.repetition
            self.results[each.wanted.row.name, place] = each.result
            self.values.setdefault(each.wanted.row.name, {})[place] = self.criterion.value(
                each.result
            )

    def mean(self, row: Row, repetitions: Sequence[int]) -> float:
        """Return a row's mean, NaN unless all its runs are ok."""
        known = self.values.get(row.name, {})
        return self.criterion.mean([known.get(each, math.nan) for each in repetitions])

    def pairs(self, first: Row, second: Row, begin: int) -> dict[int, float]:
        """Return the differences of two rows by repetition, from one on."""
        mine, theirs = (self.values.get(row.name, {}) for row in (first, second))
        found = {each: (mine[each], theirs[each]) for each in sorted(mine.keys() & theirs.keys())}
        return {
            each: self.criterion.difference(*pair)
            for each, pair in found.items()
            if each >= begin and not any(map(math.isnan, pair))
        }

    def failures(self, rows: Sequence[Row]) -> Iterator[str]:
        """Say of each row how many of its runs failed, and the first reason."""
        for row in rows:
            values = self.values.get(row.name, {})
            bad = [each for each, value in values.items() if math.isnan(value)]
            if bad:
                reason = self.results[row.name, bad[0]].reason or "a request had no answer"
                many = f"{len(bad)} of {len(values)} runs failed and are left out"
                yield f"{row.name}: {many}: {' '.join(reason.split())}"


def decide(asked: Asked, runs: Runs, until: float, progress: Progress) -> Verdict:
    """Return the verdict, as far as there is one by a moment.

    Args:
        asked: the legs, the rows, and what is judged.
        runs: makes runs.
        until: on the clock of `runs`.
        progress: hears what is under way.

    Raises:
        ResultError: a file of a run is broken.
    """
    begin = runs.now()
    numbers = _Numbers(asked.criterion)
    first = range(1, CHOOSING + 1)
    numbers.add(runs.make(asked.wanted(asked.sides.rows, first), asked.root, until, progress))
    dual, multipath, alone = (
        _best(numbers, rows, first)
        for rows in (asked.sides.dual, asked.sides.multipath, asked.sides.alone)
    )
    chosen = [row for row in (dual, multipath) if row is not None]
    if dual is None or multipath is None:
        stopped: Stopped = "time" if runs.now() >= until else "runs failed"
        failed = tuple(numbers.failures(asked.sides.competing)) if stopped != "time" else ()
        return Verdict(asked.sides.stack, asked.criterion, dual, multipath, None, math.nan, 0,
                       stopped, runs.now() - begin, "", failed=failed)  # fmt: skip
    if alone is not None and _is_close(numbers, alone, chosen, first):
        chosen.append(alone)
    found, look, stopped = None, 0, "most seeds"
    for look, number in enumerate(_look_sizes(), start=1):
        later = range(CHOOSING + 1, CHOOSING + number + 1)
        numbers.add(runs.make(asked.wanted(chosen, later), asked.root, until, progress))
        found = difference(numbers, dual, multipath, look)
        progress(_progress_text(asked.criterion, found))
        if found is not None and found.outcome != "open":
            stopped = "decided"
            break
        if found is not None and _is_precise(asked.criterion, found):
            stopped = "border"
            break
        if runs.now() >= until:
            stopped = "time"
            break
    return Verdict(
        stack=asked.sides.stack,
        criterion=asked.criterion,
        dual=dual,
        multipath=multipath,
        found=found,
        confidence=look_confidence(look),
        looks=look,
        stopped=stopped,
        seconds=runs.now() - begin,
        why=_limiting_factor(numbers, dual, multipath, found),
        alone=_single_leg_difference(numbers, chosen, found, look),
        failed=tuple(numbers.failures(asked.sides.competing)),
    )


def difference(numbers: _Numbers, first: Row, second: Row, look: int) -> Difference | None:
    """Return by how much two rows differ on the seeds that judge; None: no seed has both.

    Fewer than `FIRST_LOOK`, as the time was up, are not enough evidence whatever they say.
    """
    criterion = numbers.criterion
    pairs = numbers.pairs(first, second, CHOOSING + 1)
    if not pairs:
        return None
    values = list(pairs.values())
    interval = mean_interval(values, confidence=look_confidence(look))
    return Difference(
        first=numbers.mean(first, list(pairs)),
        second=numbers.mean(second, list(pairs)),
        middle=statistics.fmean(values),
        interval=interval,
        pairs=len(pairs),
        outcome=criterion.outcome(interval) if len(pairs) >= FIRST_LOOK else "open",
    )


def _is_precise(criterion: Criterion, found: Difference) -> bool:
    """Say whether more seeds would only tell on which side of a border it is by a hair."""
    width = found.interval.high - found.interval.low
    return found.pairs >= FIRST_LOOK and width < PRECISE * criterion.limit


def _look_sizes() -> Iterator[int]:
    """Yield how many seeds there are at each look."""
    number = float(FIRST_LOOK)
    while number <= MAX_SEEDS:
        yield int(number)
        number = math.ceil(number * GROWTH)


def _best(numbers: _Numbers, rows: Sequence[Row], repetitions: Sequence[int]) -> Row | None:
    """Return the row with the best mean of those whose runs are all ok; of equal ones the first."""
    best = numbers.criterion.best({row.name: numbers.mean(row, repetitions) for row in rows})
    return next((row for row in rows if row.name == best), None)


def _is_close(
    numbers: _Numbers, alone: Row, chosen: Sequence[Row], repetitions: Sequence[int]
) -> bool:
    """Say whether a leg alone may be as good as the better side."""
    best = _best(numbers, chosen, repetitions)
    if best is None:
        return False
    worse, better = numbers.mean(alone, repetitions), numbers.mean(best, repetitions)
    if numbers.criterion.lower_is_better:
        worse, better = better, worse
    return worse >= ALONE_FROM * better


def _single_leg_difference(
    numbers: _Numbers, chosen: Sequence[Row], found: Difference | None, look: int
) -> tuple[Row, Difference] | None:
    """Return a leg alone against the better of both, where it had runs on these seeds."""
    if len(chosen) < 3 or found is None:
        return None
    dual, multipath, alone = chosen
    is_dual = (found.middle >= 0) != numbers.criterion.lower_is_better
    against = difference(numbers, alone, dual if is_dual else multipath, look)
    return None if against is None else (alone, against)


def _limiting_factor(numbers: _Numbers, dual: Row, multipath: Row, found: Difference | None) -> str:
    """Say what held the worse one back, by the pair in the middle; empty where neither clearly is.

    A tie has no reason, nor has a difference whose interval holds 0.
    """
    if found is None or found.outcome == "tie":
        return ""
    low, high = found.interval.low, found.interval.high
    if not (low > 0 or high < 0):
        return ""
    dual_is_better = (low > 0) != numbers.criterion.lower_is_better
    worse, better = (multipath, dual) if dual_is_better else (dual, multipath)
    pairs = numbers.pairs(dual, multipath, CHOOSING + 1)
    middle = sorted(pairs, key=lambda each: pairs[each])[len(pairs) // 2]
    runs = (numbers.results[row.name, middle].directory for row in (worse, better))
    reason = limiting_factor(*map(Path, runs))["why"]
    return f"{worse.name}: {reason}" if reason else ""


def _progress_text(criterion: Criterion, found: Difference | None) -> str:
    if found is None:
        return "no seed has a run of both yet"
    ends = [criterion.shown(each) for each in (found.interval.low, found.interval.high)]
    shown = f"{criterion.shown(found.middle)} {criterion.difference_unit}, {ends[0]} to {ends[1]}"
    return f"{found.pairs} seeds: {shown}"
