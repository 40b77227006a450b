"""Measures that join the configurations of a point: ratios, gains, and what is claimed of them.

Rules:

* A point is a cell's factors, but the one that an experiment goes `across` and those that move
  with it; its configurations' measures are medians over repetitions.
* A run that failed, e.g. by its time limit, delivered nothing: it has goodput 0 and takes for ever.
* A point with a run that is unsupported or missing has no value (NaN) of what needs this run, nor
  has one where 0 would be divided by 0. What is divided by 0 otherwise is infinite.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from minitopo_dc.campaign.file.expressions import compute_number, labels, names_in
from minitopo_dc.campaign.file.fields import Claim, Experiment
from minitopo_dc.campaign.file.grammar import ExpressionError, shown
from minitopo_dc.campaign.file.values import Functions, Keys
from minitopo_dc.campaign.report.evaluation import Source, measure
from minitopo_dc.settings import SettingsError


def aggregation_benefit(multipath: float, single: Sequence[float]) -> float:
    """The experimental aggregation benefit of De Coninck and Bonaventure (CoNEXT 2017).

    Args:
        multipath: goodput over all paths.
        single: goodput of the single-path protocol over each path alone, in the same unit.

    Returns:
        -1: nothing was delivered; 0: as much as over the best path; 1: as much as over all of them
        together, which can be exceeded.

    Raises:
        ValueError: fewer than two paths, or no path delivers anything.
    """
    best, together = max(single, default=0.0), sum(single)
    if len(single) < 2 or best <= 0:
        raise ValueError("needs two paths or more, and goodput over one of them")
    if multipath < best:
        return (multipath - best) / best
    rest = together - best
    # With nothing to be had from the others, as much as the best path is all.
    return (multipath - best) / rest if rest > 0 else 0.0


WITHOUT_END: Mapping[str, float] = {
    "goodput_mbps": 0.0,
    "capacity_share": 0.0,
    **dict.fromkeys(
        ("completion_s", "leg_bytes_per_byte", "answer_worst_ms", "answer_p95_ms"), math.inf
    ),
}
"""What a run that failed is counted with."""
MARGIN = 0.03
"""Ratios so near to 1 oppose nothing: repetitions of a run differ by as much."""
RESAMPLES = 999
CONFIDENCE = 0.95
SEED = 1
"""Of the resampling: the same runs give the same intervals."""


def _opposed(first: float, second: float) -> float:
    """1 when one ratio is above 1 and the other below, by more than the margin; else 0."""
    low, high = sorted((first, second))
    if math.isnan(low) or math.isnan(high):
        return math.nan
    return float(low < 1 - MARGIN and high > 1 + MARGIN)


def _benefit(multipath: float, single: Sequence[float]) -> float:
    if math.isnan(multipath) or any(math.isnan(each) for each in single) or not any(single):
        return math.nan
    return aggregation_benefit(multipath, single)


OF_POINTS: Functions = {"benefit": _benefit, "opposed": _opposed}
"""Of a point, besides those of all expressions; NaN where a value is."""
NOTHING: Mapping[str, float] = {"nothing": math.nan}
"""What an expression has for a point of which it says nothing."""

CLAIM_COLUMNS = (
    *("experiment", "source", "claim", "published", "least", "most"),
    *("value", "low", "high", "points", "verdict"),
)


@dataclass(frozen=True)
class Estimate:
    """A number over all points, with its interval."""

    value: float
    low: float
    high: float
    """Of the 95 % interval: percentiles of the bootstrap over points (Efron 1979)."""
    points: int


@dataclass(frozen=True)
class Verdict:
    """A claim against the runs of a source."""

    claim: Claim
    estimate: Estimate | None
    """None: no point has what it needs."""

    @property
    def word(self) -> str:
        """`holds`, `does not hold`, `undecided` (its interval is on both sides), or `not run`."""
        if self.estimate is None:
            return "not run"
        least = -math.inf if self.claim.least is None else self.claim.least
        most = math.inf if self.claim.most is None else self.claim.most
        if least <= self.estimate.low and self.estimate.high <= most:
            return "holds"
        if self.estimate.high < least or self.estimate.low > most:
            return "does not hold"
        return "undecided"


class _Configuration(Keys):
    """A configuration at a point: `dc.goodput_mbps` of an expression.

    Of an experiment that goes across a factor, `dc[2].goodput_mbps` is that where its value is 2.
    """

    def __init__(
        self, runs: Sequence[dict[Any, Any]], across: str = "", values: Sequence[Any] = ()
    ) -> None:
        self._runs = runs
        self._across = across
        self._factor_values = values

    def look_up(self, key: Any) -> float | _Configuration:
        """Return the median of a measure, or of a factor's value the configuration there."""
        if self._across:
            if key not in self._factor_values:
                allowed = ", ".join(shown(value) for value in self._factor_values)
                raise LookupError(f"{self._across} is never {shown(key)}; allowed: {allowed}")
            runs = [run for run in self._runs if run["factors"][self._across] == key]
            return _Configuration(runs)
        if not isinstance(key, str):
            raise LookupError(f"{shown(key)} is no measure")
        values = self._values(key)
        return float(median(values)) if values else math.nan

    def _values(self, name: str) -> list[float]:
        """Of each repetition; none where one of them cannot be counted."""
        values = []
        for run in self._runs:
            if run["status"] == "ok":
                values.append(measure(run, name))
            elif run["status"] == "failed" and name in WITHOUT_END:
                values.append(WITHOUT_END[name])
            else:
                return []
        return [] if any(math.isnan(value) for value in values) else values


def joined_table(source: Source, name: str, experiment: Experiment) -> pd.DataFrame:
    """One row per point: its factors, and the measures of `joined` (NaN where one has no value).

    Raises:
        SettingsError: an expression names what is not there.
        ResultError: a file of a run is broken.
    """
    rows = []
    apart = experiment.moving_with(experiment.across)
    for cells in points_of(source, name, experiment):
        factors = _without(cells["factors"].iloc[0], apart)
        names = {
            **NOTHING,
            **labels(factors),
            **_configurations(source.plan.file.configurations, experiment, cells),
        }
        rows.append(factors | _joined(name, experiment, names))
    return pd.DataFrame(rows, columns=None if rows else list(experiment.joined))


def points_of(source: Source, name: str, experiment: Experiment) -> Iterator[pd.DataFrame]:
    """The cells of each point, in the order of `joined_table`'s rows."""
    there = source.cells_of(name)
    apart = experiment.moving_with(experiment.across)
    for _, cells in there.groupby(_keys(there, apart), sort=False):
        yield cells


def estimate(table: pd.DataFrame, text: str, columns: Sequence[str]) -> Estimate | None:
    """A number over a table's points and its bootstrap interval; None when no point has all.

    Args:
        table: of `joined_table`.
        text: an expression of the columns, each an array over the points.
        columns: those that may be used; points that lack a value of one that is are left out.

    Raises:
        ExpressionError: it cannot be worked out.
    """
    used = [column for column in columns if column in names_in(text)] or list(columns)
    known = table[used].dropna()
    if known.empty:
        return None

    def value(*arrays: Any) -> float:
        return compute_number(text, dict(zip(used, arrays, strict=True)))

    data = [known[column].to_numpy(dtype=float) for column in used]
    found = value(*data)
    if len(known) == 1:
        return Estimate(found, found, found, 1)
    random = np.random.default_rng(SEED)
    chosen = (random.integers(0, len(known), len(known)) for _ in range(RESAMPLES))
    resampled = [value(*(array[rows] for array in data)) for rows in chosen]
    outside = (1 - CONFIDENCE) / 2
    # Of the values themselves: between a number and an infinite one there is none.
    low, high = np.quantile(resampled, (outside, 1 - outside), method="inverted_cdf")
    return Estimate(found, float(low), float(high), len(known))


def verdicts(table: pd.DataFrame, name: str, experiment: Experiment) -> list[Verdict]:
    """What becomes of an experiment's claims, by its `joined_table`.

    Raises:
        SettingsError: an expression names what is not there.
    """
    columns = list(experiment.joined)
    try:
        return [
            Verdict(claim, estimate(table, claim.value, columns)) for claim in experiment.claims
        ]
    except ExpressionError as error:
        raise SettingsError(f"experiments.{name}.claims: {error}") from None


def claims_table(sources: Sequence[Source]) -> pd.DataFrame:
    """One row per source and claim: its limits, the number, its interval, and the verdict.

    Raises:
        SettingsError: an expression names what is not there.
        ResultError: a file of a run is broken.
    """
    rows = [row for source in sources for row in _claim_rows(source)]
    return pd.DataFrame(rows, columns=list(CLAIM_COLUMNS))


def _claim_rows(source: Source) -> Iterator[dict[str, object]]:
    used = {cell.experiment for cell in source.plan.cells}
    for name, experiment in source.plan.file.experiments.items():
        if name not in used or not experiment.claims:
            continue
        table = joined_table(source, name, experiment)
        for verdict in verdicts(table, name, experiment):
            yield {"experiment": name, "source": source.label} | _claim_row(verdict)


def _claim_row(verdict: Verdict) -> dict[str, object]:
    claim = verdict.claim
    limits = {"least": claim.least, "most": claim.most}
    found = {"points": 0} if verdict.estimate is None else asdict(verdict.estimate)
    said = {"claim": claim.text, "published": claim.source, "verdict": verdict.word}
    return {**said, **limits, **found}


def _keys(cells: pd.DataFrame, left_out: Container[str]) -> pd.Series[str]:
    """What tells points apart, as text."""
    return cells["factors"].map(lambda each: json.dumps(_without(each, left_out), sort_keys=True))


def _without(factors: Mapping[str, Any], left_out: Container[str]) -> dict[str, Any]:
    return {path: value for path, value in factors.items() if path not in left_out}


def _configurations(
    known: Iterable[str], experiment: Experiment, cells: pd.DataFrame
) -> dict[str, _Configuration]:
    """All of the file by the names that expressions have for them; some may have no run."""
    values = experiment.values(experiment.across)
    runs = {str(name): rows for name, rows in cells.groupby("configuration", sort=False)}
    return {
        name.replace("-", "_"): _Configuration(
            runs[name].to_dict("records") if name in runs else [], experiment.across, values
        )
        for name in known
    }


def _joined(name: str, experiment: Experiment, names: Mapping[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for column, text in experiment.joined.items():
        try:
            found[column] = compute_number(text, {**names, **found}, OF_POINTS)
        except ExpressionError as error:
            raise SettingsError(f"experiments.{name}.joined.{column}: {error}") from None
    return found
