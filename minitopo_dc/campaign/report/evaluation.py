"""A campaign's results as curves, beside those of a reference."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.analysis.measures.named import measure
from minitopo_dc.analysis.tables.reference import compare, read_reference, same_value
from minitopo_dc.campaign.condensed.load import (
    MARK,
    Condensed,
    is_condensed,
    load_condensed,
    pooled,
)
from minitopo_dc.campaign.execution.store import Store
from minitopo_dc.campaign.execution.table import cell_table, save_table
from minitopo_dc.campaign.file.fields import Curve, Experiment, Reference
from minitopo_dc.campaign.file.measure_names import (
    check_names,
    similar_measures,
    unknown,
    unknown_measures,
)
from minitopo_dc.campaign.file.plan import Plan
from minitopo_dc.settings import SettingsError


@dataclass(frozen=True)
class Source:
    """One campaign directory, with its plan and its table of cells."""

    label: str
    """The clock's name; with the directory's when another source has the same clock."""
    store: Store
    plan: Plan
    cells: pd.DataFrame
    """The table of `cell_table`."""
    condensed: Condensed | None = None
    """The condensed result that it is of, which has no runs' files."""
    known: dict[Any, Any] = field(init=False, default_factory=dict, repr=False, compare=False)
    """A cache of what was worked out of it: several parts of a report ask for the same points."""

    def cells_of(self, experiment: str, configuration: str | None = None) -> pd.DataFrame:
        """Return the rows of an experiment, or of one configuration only."""
        chosen = self.cells["experiment"] == experiment
        if configuration is not None:
            chosen &= self.cells["configuration"] == configuration
        return self.cells[chosen]


def load_sources(directories: Sequence[Path]) -> list[Source]:
    """Read campaign directories and condensed results, in this order.

    Condensed results that differ in their seeds alone are one source (`pooled`).

    Raises:
        StoreError, ResultError, SettingsError: one of them holds no campaign, or a broken run, or
            is a damaged condensed result.
    """
    plans = {each: Store(each).plan() for each in directories if not is_condensed(each)}
    condensed = {each: load_condensed(each) for each in directories if is_condensed(each)}
    together = {each.root: each for each in pooled(condensed.values())}
    found = [
        _source(each, plans.get(each), together.get(each))
        for each in dict.fromkeys(directories)
        if each in plans or each in together
    ]
    clocks = [source.plan.clock for source in found]
    sources = [
        replace(source, label=f"{source.label}, {source.store.root.name}")
        if clocks.count(source.plan.clock) > 1
        else source
        for source in found
    ]
    for source in sources:
        _check_measures(source, sources)
    return sources


def _source(directory: Path, plan: Plan | None, condensed: Condensed | None) -> Source:
    """Return a source that is labelled by its clock alone."""
    store = Store(directory)
    if plan is not None:
        return Source(plan.clock, store, plan, cell_table(plan, save_table(plan, store)))
    assert condensed is not None
    return Source(condensed.plan.clock, store, condensed.plan, condensed.cells, condensed)


def _check_measures(source: Source, sources: Sequence[Source]) -> None:
    """Refuse a measure that no run reports.

    A number that one transport reports and another does not is no mistake. So where a configuration
    that asks for it has no run that is ok, and no measure has a similar name, nothing is refused.
    """
    told = {name for each in sources for name in _reported_names(each.cells)}
    for name in dict.fromkeys(cell.experiment for cell in source.plan.cells):
        experiment = source.plan.file.experiments[name]
        rows = source.cells_of(name)
        ran = set(rows.loc[rows["status"] == "ok", "configuration"])
        where = f"{source.store.root} ({source.plan.file.title}): experiments.{name}"
        try:
            check_names(source.plan.file, experiment)
            wrong = next(unknown_measures(source.plan.file, experiment, told, ran), None)
        except ValueError as error:
            raise SettingsError(f"{where}.{error}") from None
        if wrong is not None:
            similar = similar_measures(wrong.measure, told)
            raise SettingsError(
                f"{where}.{unknown(wrong, similar)}; correct the campaign's "
                f"file and give `campaign run` again: what was run is kept"
            )


def _reported_names(cells: pd.DataFrame) -> Iterator[str]:
    """Yield the names of the measures that runs have in their rows."""
    ok = cells[cells["status"] == "ok"]
    yield from (str(name) for name in ok if ok[name].notna().any())


ENDLESS_VALUES: Mapping[str, float] = {
    "goodput_mbps": 0.0,
    "capacity_share": 0.0,
    **dict.fromkeys(
        ("completion_s", "leg_bytes_per_byte", "answer_worst_ms", "answer_p95_ms"), math.inf
    ),
}
"""The measures of a failed run where the file says `failed_runs: endless`."""


def run_value(run: dict[Any, Any], name: str, *, endless: bool) -> float:
    """Return the number with which curves, points and claims count a run; NaN: it is left out.

    A run that is not `ok` has no measure.

    Args:
        run: a row of the cells.
        name: the measure.
        endless: whether a run that failed counts as one that delivers nothing and never ends
            (`ENDLESS_VALUES`).

    Raises:
        ResultError: a file of a run that is ok is missing or broken.
    """
    if run["status"] == "ok":
        return float(run.get(name, math.nan)) if run.get(MARK) else measure(run, name)
    failed = endless and run["status"] == "failed"
    return ENDLESS_VALUES.get(name, math.nan) if failed else math.nan


def failed_runs_text(rows: pd.DataFrame) -> str:
    """Return how many of these runs have no measures, `3 of 5 runs failed`; empty when all have."""
    counts = rows.loc[rows["status"] != "ok", "status"].value_counts(sort=False)
    return ", ".join(f"{number} of {len(rows)} runs {status}" for status, number in counts.items())


def measured_points(source: Source, name: str, curve: Curve, x: str) -> pd.DataFrame:
    """Return one row for each value of x that has any run with a value.

    Columns: `x`, `mean`, `sd` (of the sample; NaN for one run, or an infinite value), `runs` that
    are counted, and `planned` ones.
    """
    rows = source.cells_of(name, curve.configuration)
    endless = source.plan.file.endless
    values = [run_value(row, curve.measure, endless=endless) for row in rows.to_dict("records")]
    xs = [factors.get(x) for factors in rows["factors"]]
    table = rows.assign(value=values, x=xs, key=[json.dumps(value) for value in xs])
    planned = table["key"].value_counts()
    points = [
        {
            "x": cell["x"].iloc[0],
            "mean": float(cell["value"].mean()),
            "sd": _sd(cell["value"]),
            "runs": len(cell),
            "planned": int(planned[key]),
        }
        for key, cell in table.dropna(subset=["value"]).groupby("key", sort=False)
    ]
    return pd.DataFrame(points, columns=["x", "mean", "sd", "runs", "planned"])


def reference_points(reference: Reference, curve: Curve) -> pd.DataFrame:
    """Return `x`, `mean` and `sd` of a reference's curve; no row when it has none.

    Raises:
        ResultError: the reference lacks a column.
    """
    if curve.mean is None:
        return pd.DataFrame(columns=["x", "mean", "sd"])
    table = read_reference(reference.table, {**reference.where, **curve.where})
    spread = table[curve.sd] if curve.sd is not None else pd.Series([""] * len(table))
    return pd.DataFrame(
        {
            "x": [_number(text) for text in table[reference.x]],
            "mean": pd.to_numeric(table[curve.mean], errors="coerce"),
            "sd": pd.to_numeric(spread, errors="coerce"),
        }
    )


def comparison(sources: Sequence[Source], name: str, experiment: Experiment) -> pd.DataFrame:
    """Return one row per curve, value of x and source, with errors against it (`compare`)."""
    rows = list(_pairs(sources, name, experiment))
    ours = ("ours", "ours_sd", "runs", "planned")
    columns = ["curve", "source", "x", *ours, "theirs", "theirs_sd"]
    return compare(pd.DataFrame(rows, columns=columns))


def curve_label(curve: Curve) -> str:
    """Return a curve's name in figures and tables."""
    return curve.label or curve.configuration


def _pairs(
    sources: Sequence[Source], name: str, experiment: Experiment
) -> Iterator[dict[str, Any]]:
    figure, reference = experiment.figure, experiment.reference
    for curve in figure.curves if figure is not None and reference is not None else ():
        assert figure is not None
        assert reference is not None
        theirs = reference_points(reference, curve).to_dict("records")
        for source in sources:
            for point in measured_points(source, name, curve, figure.x).to_dict("records"):
                same = [each for each in theirs if same_value(point["x"], str(each["x"]))]
                found = same[0] if same else {"mean": float("nan"), "sd": float("nan")}
                yield {
                    "curve": curve_label(curve),
                    "source": source.label,
                    "x": point["x"],
                    "ours": point["mean"],
                    "ours_sd": point["sd"],
                    "runs": point["runs"],
                    "planned": point["planned"],
                    "theirs": found["mean"],
                    "theirs_sd": found["sd"],
                }


def _sd(values: pd.Series[float]) -> float:
    """Return the sample's standard deviation; NaN for one value, or where one is infinite."""
    return float(values.std(ddof=1)) if math.isfinite(values.sum()) else math.nan


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
