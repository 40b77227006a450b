"""Charts of what viewers and callers notice: shares of rows, measures, the playback of video."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from minitopo_dc.analysis.errors import ResultError, naming
from minitopo_dc.analysis.figures.chart import (
    Axis,
    Chart,
    Numbers,
    Panel,
    Series,
    look,
    numbers,
    plain,
    until,
)
from minitopo_dc.analysis.tables.playback import buffer_over_time, read_segments
from minitopo_dc.analysis.tables.rows import read_rows
from minitopo_dc.campaign.file.fields import Curve, Figure
from minitopo_dc.campaign.report.evaluation import Source, curve_label, run_value
from minitopo_dc.runs.results import flow_directory, load_as_run
from minitopo_dc.statistics import mean_interval
from minitopo_dc.workloads import RowsFigure

MAX_STEPS = 500
"""The most steps of a curve of cumulated shares that are drawn; of more, so many quantiles."""
SHARES_CAPTION = (
    "Share of all rows of all runs of the configuration; rows without a value, such as frames that "
    "did not come, are in it, so that a curve ends below 1."
)
AGAINST_CAPTION = (
    "Mean over all runs of the configuration; bars: 95 % intervals (Student's t over runs)."
)
SESSION_CAPTION = "Each curve is one run: the first repetition of the experiment's last cell."


def rows_of(run: Path) -> tuple[pd.DataFrame, RowsFigure]:
    """Return the rows of a run's workload, and its figure; with several flows, of the first one.

    Raises:
        ResultError: the workload has no figure of rows, or the file is missing or broken.
    """
    scenario = load_as_run(run)
    workload = scenario.resolved_flows[0].workload
    if workload.figure is None:
        raise ResultError(f"{run}: workload {workload.kind} has no figure of rows")
    at = flow_directory(run, 1, alone=not scenario.flows)
    return read_rows(at, workload.kind, workload.figure), workload.figure


def rows_cdf(chart: Chart, sources: Sequence[Source], figure: Figure) -> Chart:
    """Make a panel of cumulated shares of what rows have, a curve for each configuration."""
    series: list[Series] = []
    label = figure.x_label
    for title, runs in _by_configuration(sources, chart.name):
        values = []
        for run in runs:
            with naming(run):
                rows, wanted = rows_of(run)
            values.append(numbers(rows[wanted.y]))
            label = label or wanted.y_label
        series.append(_shares(title, np.concatenate(values), len(series)))
    if not series:
        return chart
    y = Axis("share of the rows", limits=(0, 1))
    panel = Panel("", Axis(label, log=True), y, tuple(series), level_x=figure.level)
    return replace(chart, panels=(panel,), caption=SHARES_CAPTION)


def _by_configuration(sources: Sequence[Source], name: str) -> Iterator[tuple[str, list[Path]]]:
    for source in sources:
        rows = source.cells_of(name)
        for configuration, ok in rows[rows["status"] == "ok"].groupby("configuration", sort=False):
            yield (
                f"{configuration}{_source_suffix(source, sources)}",
                [Path(run) for run in ok["directory"]],
            )


def _source_suffix(source: Source, sources: Sequence[Source]) -> str:
    return f" ({source.label})" if len(sources) > 1 else ""


def _shares(title: str, values: Numbers, number: int) -> Series:
    ordered = np.sort(values[np.isfinite(values)])
    places = np.arange(len(ordered))
    if len(ordered) > MAX_STEPS:
        places = np.unique(np.linspace(0, len(ordered) - 1, MAX_STEPS).round().astype(int))
    missing = len(values) - len(ordered)
    label = f"{title} (n = {len(values)}{f', {missing} missing' if missing else ''})"
    return Series(label, ordered[places], (places + 1) / len(values), plain(number), "steps")


def against(chart: Chart, sources: Sequence[Source], figure: Figure) -> Chart:
    """Make a panel of one measure against another: means with 95 % intervals of both."""
    series: list[Series] = []
    for curve in figure.curves:
        for source in sources:
            found = _mean(source, chart.name, curve, figure.x, len(series))
            if found is not None:
                series.append(
                    replace(found, label=f"{found.label}{_source_suffix(source, sources)}")
                )
    if not series:
        return chart
    parts = (part for each in series for part in (each.x, each.left, each.right))
    ends = np.concatenate([part for part in parts if part is not None])
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    room = 0.05 * (high - low) or 1.0
    x = Axis(figure.x_label or figure.x, limits=(low - room, high + room))
    y = Axis(figure.y_label, from_zero=True)
    return replace(chart, panels=(Panel("", x, y, tuple(series)),), caption=AGAINST_CAPTION)


def _mean(source: Source, name: str, curve: Curve, x: str, number: int) -> Series | None:
    runs = source.cells_of(name, curve.configuration).to_dict("records")
    values = numbers(run_value(run, curve.measure, endless=False) for run in runs)
    across = numbers(run_value(run, x, endless=False) for run in runs)
    known = np.isfinite(values) & np.isfinite(across)
    if not known.any():
        return None
    up, right = mean_interval(values[known].tolist()), mean_interval(across[known].tolist())
    return Series(
        f"{curve_label(curve)} (n = {known.sum()})",
        np.array([across[known].mean()]),
        np.array([values[known].mean()]),
        look(number),
        "none",
        low=numbers([up.low]),
        high=numbers([up.high]),
        left=numbers([right.low]),
        right=numbers([right.high]),
    )


def session(chart: Chart, sources: Sequence[Source], figure: Figure) -> Chart:
    """Make panels of buffer and quality of video over time, a curve for each configuration."""
    buffers: list[Series] = []
    rates: list[Series] = []
    for curve in figure.curves:
        for source in sources:
            cells = source.cells_of(chart.name, curve.configuration)
            ok = cells[cells["status"] == "ok"].sort_values("cell", kind="stable")
            if ok.empty:
                continue
            run = Path(ok[ok["cell"] == ok["cell"].iloc[-1]].iloc[0]["directory"])
            with naming(run):
                segments = read_segments(run)
            label, looks = (
                f"{curve_label(curve)}{_source_suffix(source, sources)}",
                plain(len(buffers)),
            )
            time, level = buffer_over_time(segments)
            buffers.append(until(Series(label, time, level, looks), figure.seconds))
            points = numbers(segments["done_s"]), numbers(segments["bitrate_mbps"])
            rates.append(until(Series(label, *points, looks, "steps"), figure.seconds))
    if not buffers:
        return chart
    x = Axis(figure.x_label or "time (s)", from_zero=True)
    panels = (
        Panel("", x, Axis("buffer (s)", from_zero=True), tuple(buffers)),
        Panel("", x, Axis("bitrate (Mbit/s)", from_zero=True), tuple(rates)),
    )
    return replace(chart, panels=panels, caption=SESSION_CAPTION, together=True)
