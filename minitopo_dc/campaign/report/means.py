"""The means of an experiment's runs by configuration, and at each of its points.

The measure is that of each curve of the experiment's figure, or else goodput, or else the first
number of its workload. Runs that are not ok are left out, and the table counts them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from minitopo_dc.analysis.tables.sheet import Head, Sheet
from minitopo_dc.campaign.file.fields import Experiment
from minitopo_dc.campaign.report.evaluation import Source, run_value
from minitopo_dc.campaign.report.words import NONE, interval, significant
from minitopo_dc.statistics import Interval, bootstrap_interval, mean_interval
from minitopo_dc.workloads import Download, get_workload, workload_names

OF_RUNS = ("curves", "bars", "throughput-delay")
"""The kinds of figures whose curves are measures of runs."""
GOODPUT = "goodput_mbps"
UNITS = {"mbps": "Mbit/s", "ms": "ms", "s": "s", "bytes": "byte", "percent": "%"}
"""Units by the last word of a measure's name."""


@dataclass(frozen=True)
class Mean:
    """The mean of a measure over the points of a configuration, by one source."""

    source: str
    experiment: str
    configuration: str
    measure: str
    mean: float
    found: Interval
    points: int
    """The points with a value."""
    counted: int
    """The runs with a value."""
    planned: int
    """All runs of the configuration in the experiment."""
    each: pd.DataFrame
    """A row for each point: its factors, `mean`, `low`, `high` and `runs`."""


def means(sources: Sequence[Source], name: str, experiment: Experiment) -> list[Mean]:
    """Return the means of an experiment, in the order of its configurations and their curves.

    Raises:
        ResultError: a file of a run that is ok is missing or broken.
    """
    return [
        _mean(source, name, configuration, measure)
        for source in sources
        for configuration, measure in _wanted(source, name, experiment)
    ]


def means_sheet(title: str, found: Sequence[Mean], sources: int) -> Sheet:
    """Return a table of means for the terminal, with a row for each.

    Args:
        title: that of the experiment.
        found: its means.
        sources: how many sources the report has.
    """
    measures = dict.fromkeys(each.measure for each in found)
    alone = len(measures) == 1
    words, unit = _named(next(iter(measures))) if alone else ("mean", "")
    heads = [Head("configuration", text=True)]
    heads += [] if alone else [Head("measure", text=True)]
    heads += [Head("clock", text=True)] if sources > 1 else []
    heads += [Head(words, unit), Head("95 %\ninterval", unit, text=True)]
    sheet = Sheet([*heads, Head("points"), Head("runs\nok")], title=f"{title}: means")
    for each in found:
        name = [each.configuration, *([] if alone else [each.measure])]
        name += [each.source] if sources > 1 else []
        numbers = (significant(each.mean), interval(each.found.low, each.found.high) or NONE)
        runs = str(each.counted) + ("" if _is_whole(each) else f" of {each.planned}")
        sheet.add(*name, *numbers, str(each.points), runs)
    return sheet


def means_table(found: Sequence[Mean]) -> pd.DataFrame:
    """Return a row for each source, experiment, configuration, measure and point."""
    rows = [
        each.each.assign(
            source=each.source,
            experiment=each.experiment,
            configuration=each.configuration,
            measure=each.measure,
        )
        for each in found
        if each.points
    ]
    first = ["source", "experiment", "configuration", "measure"]
    last = ["mean", "low", "high", "runs"]
    table = pd.concat(rows) if rows else pd.DataFrame(columns=[*first, *last])
    factors = [column for column in table if column not in (*first, *last)]
    return table[[*first, *factors, *last]]


def _wanted(source: Source, name: str, experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield configurations that the source has, with the measures to be told of each."""
    rows = source.cells_of(name)
    figure = experiment.figure
    curves = figure.curves if figure is not None and figure.kind in OF_RUNS else ()
    usual = _usual(rows)
    for configuration in dict.fromkeys(rows["configuration"]):
        named = dict.fromkeys(
            each.measure for each in curves if each.configuration == configuration
        )
        for measure in named or filter(None, [usual]):
            yield str(configuration), measure


def _usual(rows: pd.DataFrame) -> str:
    """Return goodput where a run has it, else the first number of a workload that one has."""
    ok = rows[rows["status"] == "ok"]
    kinds = [each for each in workload_names() if each != Download.kind]
    columns = [column.measure for kind in kinds for column in get_workload(kind).columns]
    known = (each for each in (GOODPUT, *columns) if each in ok and ok[each].notna().any())
    return next(known, "")


def _mean(source: Source, name: str, configuration: str, measure: str) -> Mean:
    rows = source.cells_of(name, configuration)
    endless = source.plan.file.endless
    values = [run_value(row, measure, endless=endless) for row in rows.to_dict("records")]
    keys = [json.dumps(factors, sort_keys=True) for factors in rows["factors"]]
    table = rows.assign(value=values, key=keys).dropna(subset=["value"])
    points = [part["value"].to_numpy(float) for _, part in table.groupby("key", sort=False)]
    factors = [part["factors"].iloc[0] for _, part in table.groupby("key", sort=False)]
    middle = [float(np.median(each)) for each in points]
    alone = len(points) == 1
    return Mean(
        source=source.label,
        experiment=name,
        configuration=configuration,
        measure=measure,
        mean=float(np.mean(points[0] if alone else middle)) if points else math.nan,
        found=_interval(points),
        points=len(points),
        counted=len(table),
        planned=len(rows),
        each=pd.DataFrame([_point(*each) for each in zip(factors, points, strict=True)]),
    )


def _interval(points: Sequence[np.ndarray[Any, Any]]) -> Interval:
    """Return the interval of a mean over points and their repetitions."""
    finite = all(np.isfinite(each).all() for each in points)
    if len(points) < 2 or not finite:
        return mean_interval(points[0].tolist() if points and finite else ())
    columns = np.full((1, max(map(len, points)), len(points)), math.nan)
    for place, values in enumerate(points):
        columns[0, : len(values), place] = values
    return bootstrap_interval(columns, np.mean)


def _point(factors: Mapping[str, Any], values: np.ndarray[Any, Any]) -> dict[str, Any]:
    found = mean_interval(values.tolist())
    numbers = {"mean": float(np.mean(values)), "low": found.low, "high": found.high}
    return {**factors, **numbers, "runs": len(values)}


def _named(measure: str) -> tuple[str, str]:
    """Return a measure in words, and its unit."""
    name, _, last = measure.rpartition("_")
    unit = UNITS.get(last, "")
    return (name if unit else measure).replace("_", "\n"), unit


def _is_whole(found: Mean) -> bool:
    return found.counted == found.planned
