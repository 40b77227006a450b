"""The verdict of an experiment's runs on what is claimed of its points.

Rules:

* A claim that rests on one value has not enough evidence: two points, or two repetitions of one.
* A claim that something is so everywhere (`share(...)` from 1 on or up to 0, `least(...)` with a
  lower limit, `most(...)` with an upper one) is universal: one point refutes it, and it holds where
  none does.
* Any other claim has a 95 % interval (`minitopo_dc.statistics`): of a `share`, Wilson's
  over points; of a single point, Student's over repetitions; else of a bootstrap over points and
  repetitions. It holds when the interval is within its limits, does not hold when it is outside,
  and is undecided when it is on both sides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from minitopo_dc.campaign.file.expressions import compute_number, names_in, outermost_call
from minitopo_dc.campaign.file.fields import Claim, Experiment
from minitopo_dc.campaign.file.grammar import ExpressionError
from minitopo_dc.campaign.report.evaluation import Source
from minitopo_dc.campaign.report.joined import Joined, join
from minitopo_dc.settings import SettingsError
from minitopo_dc.statistics import (
    Columns,
    Interval,
    Proportion,
    bootstrap_interval,
    mean_interval,
)

MIN_VALUES = 2
"""A claim that rests on fewer values is not judged."""
UNIVERSAL = "each point"
"""The method of a claim that one point refutes, which has no interval."""
VERDICTS = ("holds", "does not hold", "undecided", "not enough evidence", "not run")
CLAIM_COLUMNS = (
    *("experiment", "source", "claim", "published", "least", "most"),
    *("value", "low", "high", "method", "points", "runs", "verdict", "why"),
)


@dataclass(frozen=True)
class Estimate:
    """A number over all points, with its 95 % interval."""

    value: float
    low: float
    high: float
    """The upper end of the 95 % interval; NaN where there is none."""
    method: str
    """How the interval was made; `UNIVERSAL`: there is none."""
    points: int
    runs: int = 1
    """The number of runs that a point's medians are of, the least of all points."""

    @property
    def values(self) -> int:
        """Return how many independent values it rests on: points, or a single one's repetitions."""
        return self.points if self.points > 1 else self.runs


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim by the runs of a source."""

    claim: Claim
    estimate: Estimate | None
    """The number; None: no point has what it needs."""
    left_out: str = ""
    """How many runs of the experiment are not ok, in words."""

    @property
    def word(self) -> str:
        """Return the verdict, one of `VERDICTS`."""
        if self.estimate is None:
            return "not run"
        if self.estimate.values < MIN_VALUES:
            return "not enough evidence"
        least = -math.inf if self.claim.least is None else self.claim.least
        most = math.inf if self.claim.most is None else self.claim.most
        low, high = self.estimate.low, self.estimate.high
        if self.estimate.method == UNIVERSAL:
            low = high = self.estimate.value
        if least <= low and high <= most:
            return "holds"
        if high < least or low > most:
            return "does not hold"
        return "undecided"

    @property
    def why(self) -> str:
        """Return what else is to be known: what evidence lacks, and which runs are left out."""
        lacking = {
            "not run": "no point has a value",
            "not enough evidence": f"1 point with 1 run; needed: {MIN_VALUES} points, or "
            f"--repetitions {MIN_VALUES} or more",
        }
        return "; ".join(filter(None, (lacking.get(self.word, ""), self.left_out)))


def count_verdicts(found: Iterable[Verdict]) -> dict[str, int]:
    """Return how many claims have each verdict, without verdicts that no claim has."""
    counts = Counter(each.word for each in found)
    return {word: counts[word] for word in VERDICTS if counts[word]}


def verdicts(joined: Joined, name: str, experiment: Experiment) -> list[Verdict]:
    """Judge an experiment's claims by its points.

    Raises:
        SettingsError: an expression uses an unknown name.
    """
    try:
        return [
            Verdict(claim, estimate(joined, claim), joined.left_out) for claim in experiment.claims
        ]
    except ExpressionError as error:
        raise SettingsError(f"experiments.{name}.claims: {error}") from None


def estimate(joined: Joined, claim: Claim) -> Estimate | None:
    """Return a claim's number with its interval; None when no point has all that it needs.

    Raises:
        ExpressionError: it cannot be worked out.
    """
    columns = list(joined.runs.columns)
    used = [column for column in columns if column in names_in(claim.value)] or columns
    known = joined.table[used].dropna()
    if known.empty:
        return None

    def number(*arrays: Any) -> float:
        return compute_number(claim.value, dict(zip(used, arrays, strict=True)))

    value = number(*(known[column].to_numpy(dtype=float) for column in used))
    paired = _by_repetition(joined, used, known.index)
    interval = _interval(claim, value, paired, number)
    runs = _least(joined.runs.loc[known.index, used])
    return Estimate(value, interval.low, interval.high, interval.method, len(known), runs)


def claims_table(sources: Sequence[Source]) -> pd.DataFrame:
    """Return a row per source and claim: its limits, the number, its interval, and the verdict.

    Raises:
        SettingsError: an expression uses an unknown name.
        ResultError: a file of a run is broken.
    """
    rows = [row for source in sources for row in _claim_rows(source)]
    return pd.DataFrame(rows, columns=list(CLAIM_COLUMNS))


def _interval(
    claim: Claim, value: float, columns: Columns, number: Callable[..., float]
) -> Interval:
    """Return the interval, by a method for the claim's kind and for what there are several of."""
    _, repetitions, points = columns.shape
    if _is_universal(claim):
        return Interval(math.nan, math.nan, UNIVERSAL)
    if outermost_call(claim.value) == "share":
        share = Proportion(value * points, points)
        return Interval(share.low, share.high, "Wilson over points")
    if points > 1:
        return bootstrap_interval(columns, number)
    each = [number(*columns[:, row, :]) for row in range(repetitions)]
    return mean_interval([one for one in each if not math.isnan(one)], about=value)


def _is_universal(claim: Claim) -> bool:
    """Return whether one point refutes a claim."""
    kind, least, most = outermost_call(claim.value), claim.least, claim.most
    if kind == "share":
        return (least or 0) >= 1 or (most is not None and most <= 0)
    return (kind == "least" and most is None) or (kind == "most" and least is None)


def _by_repetition(joined: Joined, used: Sequence[str], points: pd.Index[Any]) -> Columns:
    """Return the values of columns by repetition and point; with one repetition, the table's.

    A repetition of a point that lacks a run has none; a point without any has that of the table.
    """
    tables = [table.loc[points, used] for table in joined.repetitions] or [
        joined.table.loc[points, used]
    ]
    values = np.stack([table.to_numpy(dtype=float).T for table in tables], axis=1)
    whole = joined.table.loc[points, used].to_numpy(dtype=float).T[:, np.newaxis, :]
    lacking = np.isnan(values).all(axis=1, keepdims=True)
    return np.where(lacking, whole, values)


def _least(runs: pd.DataFrame) -> int:
    """Return the least number of runs that values rest on; 1 where no value needs any."""
    least = float(np.min(runs.to_numpy(dtype=float)))
    return int(least) if math.isfinite(least) else 1


def _claim_rows(source: Source) -> Iterator[dict[str, object]]:
    used = {cell.experiment for cell in source.plan.cells}
    for name, experiment in source.plan.file.experiments.items():
        if name not in used or not experiment.claims:
            continue
        for verdict in verdicts(join(source, name, experiment), name, experiment):
            yield {"experiment": name, "source": source.label} | _claim_row(verdict)


def _claim_row(verdict: Verdict) -> dict[str, object]:
    claim = verdict.claim
    limits = {"least": claim.least, "most": claim.most}
    found = {"points": 0, "runs": 0} if verdict.estimate is None else asdict(verdict.estimate)
    said = {"claim": claim.text, "published": claim.source, "verdict": verdict.word}
    said["why"] = verdict.why
    return {**said, **limits, **found}
