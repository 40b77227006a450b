"""Measures that join the configurations of a point: ratios, gains, and columns for claims.

Rules:

* A point is a cell's factors, except the one that an experiment goes `across` and those that
  change with it; its configurations' measures are medians over repetitions.
* A run that is not ok has no measures: it is left out and counted. A point whose configuration has
  no other run has no value (NaN) of what needs it, nor has one where 0 would be divided by 0. Any
  other division by 0 is infinite.
* Where the file says `failed_runs: endless`, a run that failed has goodput 0 and never ends.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import pandas as pd

from minitopo_dc.campaign.file.expressions import compute_number, labels, names_in
from minitopo_dc.campaign.file.fields import Experiment
from minitopo_dc.campaign.file.grammar import ExpressionError, shown
from minitopo_dc.campaign.file.measure_names import NOTHING, identifier
from minitopo_dc.campaign.file.values import Functions, Keys
from minitopo_dc.campaign.report.evaluation import Source, failed_runs_text, run_value
from minitopo_dc.settings import SettingsError


def aggregation_benefit(multipath: float, single: Sequence[float]) -> float:
    """Return the experimental aggregation benefit of De Coninck and Bonaventure (CoNEXT 2017).

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
    # Where the other paths deliver nothing, as much as over the best path is the maximum.
    return (multipath - best) / rest if rest > 0 else 0.0


MARGIN = 0.03
"""Ratios so near to 1 count as equal: repetitions of a run differ by as much."""


def _opposed(first: float, second: float) -> float:
    """Return 1 when one ratio is above 1 and the other below, by more than the margin; else 0."""
    low, high = sorted((first, second))
    if math.isnan(low) or math.isnan(high):
        return math.nan
    return float(low < 1 - MARGIN and high > 1 + MARGIN)


def _benefit(multipath: float, single: Sequence[float]) -> float:
    if math.isnan(multipath) or any(math.isnan(each) for each in single) or not any(single):
        return math.nan
    return aggregation_benefit(multipath, single)


POINT_FUNCTIONS: Functions = {"benefit": _benefit, "opposed": _opposed}
"""Functions of a point, besides those of all expressions; NaN where a value is NaN."""
RUNS, RUNS_OK = "runs.planned", "runs.ok"
"""Columns of `joined_table`; no factor and no measure of points has such a name."""


@dataclass(frozen=True)
class Joined:
    """The points of an experiment, with their joined measures."""

    table: pd.DataFrame
    """The table of `joined_table`."""
    runs: pd.DataFrame
    """For each value of `joined` in the table, the number of runs of its medians, the least of
    them."""
    left_out: str
    """How many runs of the experiment are not ok, in words; empty: all are."""
    repetitions: Sequence[pd.DataFrame] = ()
    """The same table for each repetition, whose runs share a seed and so are paired; empty when
    there is one."""


@dataclass(frozen=True)
class _Rule:
    """The rule by which runs are counted."""

    across: str
    """The factor whose values are joined; empty: none."""
    across_values: Sequence[Any]
    endless: bool
    counted: list[int] = field(default_factory=list)
    """A list that gets the number of runs of each median that is looked up."""
    known: dict[tuple[Any, str], float] = field(default_factory=dict)
    """A cache of values by run and measure, many of which need a file."""

    def value(self, run: dict[Any, Any], name: str) -> float:
        """Return the number with which a run counts, read once for all points and columns."""
        key = (run["id"], name)
        if key not in self.known:
            self.known[key] = run_value(run, name, endless=self.endless)
        return self.known[key]


class _Configuration(Keys):
    """A configuration at a point: `dc.goodput_mbps` of an expression.

    In an experiment that goes across a factor, `dc[2].goodput_mbps` is that where its value is 2.
    """

    def __init__(self, runs: Sequence[dict[Any, Any]], rule: _Rule) -> None:
        self._runs = runs
        self._rule = rule

    def look_up(self, key: Any) -> float | _Configuration:
        """Return the median of a measure, or the configuration at a value of the factor across."""
        rule = self._rule
        if rule.across:
            if key not in rule.across_values:
                allowed = ", ".join(shown(value) for value in rule.across_values)
                raise LookupError(f"{rule.across} is never {shown(key)}; allowed: {allowed}")
            runs = [run for run in self._runs if run["factors"][rule.across] == key]
            return _Configuration(runs, replace(rule, across=""))
        if not isinstance(key, str):
            raise LookupError(f"{shown(key)} is no measure")
        values = self._values(key)
        rule.counted.append(len(values))
        return float(median(values)) if values else math.nan

    def _values(self, name: str) -> list[float]:
        """Return the values of each run that counts; empty where an ok run has no such measure."""
        found = [(run, self._rule.value(run, name)) for run in self._runs]
        values = [value for run, value in found if run["status"] == "ok" or not math.isnan(value)]
        return [] if any(math.isnan(value) for value in values) else values


def joined_table(source: Source, name: str, experiment: Experiment) -> pd.DataFrame:
    """Return one row per point: its factors, and the measures of `joined` (NaN without a value).

    Two more columns are its number of runs, `runs.planned`, and how many of these are ok,
    `runs.ok`.

    Raises:
        SettingsError: an expression uses an unknown name.
        ResultError: a file of a run is broken.
    """
    return join(source, name, experiment).table


def join(source: Source, name: str, experiment: Experiment) -> Joined:
    """Return the table of `joined_table` with what its values rest on; it is worked out once.

    Raises:
        SettingsError, ResultError: see `joined_table`.
    """
    if name not in source.known:
        source.known[name] = _join(source, name, experiment)
    found: Joined = source.known[name]
    return found


def _join(source: Source, name: str, experiment: Experiment) -> Joined:
    measures = list(experiment.joined)
    rows: list[dict[str, Any]] = []
    runs: list[dict[str, float]] = []
    apart = experiment.joint_factors(experiment.across)
    there = source.cells_of(name)
    # Once for the whole table: pandas takes as long for the few runs of a point as for thousands.
    all_runs = dict(zip(there.index, there.to_dict("records"), strict=True))
    numbers = sorted(there["repetition"].unique())
    each: dict[int, list[dict[str, float]]] = {number: [] for number in numbers}
    values_across = experiment.values(experiment.across)
    rule = _Rule(experiment.across, values_across, source.plan.file.endless)
    for cells in points_of(source, name, experiment):
        here = [all_runs[index] for index in cells.index]
        factors = _without(here[0]["factors"], apart)
        values, rest_on = _point(source, (name, experiment), here, factors, rule)
        ok = sum(run["status"] == "ok" for run in here)
        rows.append(factors | values | {RUNS: len(here), RUNS_OK: ok})
        runs.append(rest_on)
        for number in numbers if len(numbers) > 1 else ():
            alone = [run for run in here if run["repetition"] == number]
            each[number].append(_point(source, (name, experiment), alone, factors, rule)[0])
    columns = None if rows else [*measures, RUNS, RUNS_OK]
    return Joined(
        pd.DataFrame(rows, columns=columns),
        pd.DataFrame(runs, columns=measures),
        failed_runs_text(there),
        [pd.DataFrame(found, columns=measures) for found in each.values() if found],
    )


def _point(
    source: Source,
    asked: tuple[str, Experiment],
    here: Iterable[dict[Any, Any]],
    factors: Mapping[str, Any],
    rule: _Rule,
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the measures of a point's runs, and of how many runs the medians in each are.

    The measures are those of `asked`, the report's experiment and its name: the file of another
    source may be older.
    """
    names = {
        NOTHING: math.nan,
        **labels(factors),
        **_configurations(source.plan.file.configurations, here, rule),
    }
    return _joined(*asked, names, rule.counted)


def points_of(source: Source, name: str, experiment: Experiment) -> Iterator[pd.DataFrame]:
    """Yield the cells of each point, in the order of `joined_table`'s rows."""
    there = source.cells_of(name)
    apart = experiment.joint_factors(experiment.across)
    for _, cells in there.groupby(_keys(there, apart), sort=False):
        yield cells


def _keys(cells: pd.DataFrame, left_out: Container[str]) -> pd.Series[str]:
    """Return as text the factors that tell points apart."""
    return cells["factors"].map(lambda each: json.dumps(_without(each, left_out), sort_keys=True))


def _without(factors: Mapping[str, Any], left_out: Container[str]) -> dict[str, Any]:
    return {path: value for path, value in factors.items() if path not in left_out}


def _configurations(
    known: Iterable[str], here: Iterable[dict[Any, Any]], rule: _Rule
) -> dict[str, _Configuration]:
    """Return the file's configurations by their names in expressions; some may have no run."""
    runs: dict[str, list[dict[Any, Any]]] = {name: [] for name in known}
    for run in here:
        runs[run["configuration"]].append(run)
    return {identifier(name): _Configuration(found, rule) for name, found in runs.items()}


def _joined(
    name: str, experiment: Experiment, names: Mapping[str, Any], counted: list[int]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the measures of a point, and the least number of runs of the medians in each."""
    found: dict[str, float] = {}
    rest_on: dict[str, float] = {}
    for column, text in experiment.joined.items():
        counted.clear()
        try:
            found[column] = compute_number(text, {**names, **found}, POINT_FUNCTIONS)
            above = [rest_on[each] for each in names_in(text) if each in rest_on]
        except ExpressionError as error:
            raise SettingsError(f"experiments.{name}.joined.{column}: {error}") from None
        rest_on[column] = min([*counted, *above], default=math.inf)
    return found, rest_on
