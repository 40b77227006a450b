"""The figure of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure as Drawing

from minitopo_dc.analysis.errors import ResultError, naming
from minitopo_dc.analysis.figures.curves import (
    Line,
    Panel,
    draw_bars,
    draw_curves,
    draw_events,
    draw_rows,
    draw_series,
)
from minitopo_dc.analysis.figures.paths import path_lines, path_marks
from minitopo_dc.analysis.figures.points import draw_boxes, draw_cdf, draw_map
from minitopo_dc.analysis.figures.rows import lines_of, read_rows
from minitopo_dc.analysis.logs.connection_log import sender_recovery
from minitopo_dc.analysis.measures.drop_occasion import ACKNOWLEDGED, LOST, SENT, drop_occasion
from minitopo_dc.analysis.measures.utilisation import flow_rates, leg_rates
from minitopo_dc.campaign.file.fields import OVER_POINTS, Curve, Experiment, Figure
from minitopo_dc.campaign.report.evaluation import Source, curve_label, our_points, their_points
from minitopo_dc.campaign.report.joined import joined_table
from minitopo_dc.run.results import flow_directory, load_as_run

JAIN = "jain_index"


def draw_experiment(sources: Sequence[Source], name: str, experiment: Experiment) -> Drawing | None:
    """Draw what is there; None when nothing is, or the experiment has no figure.

    Raises:
        ResultError: a file that the figure needs is missing or broken.
    """
    figure = experiment.figure
    if figure is None:
        return None
    if figure.kind in OVER_POINTS:
        return _draw_points(sources, name, experiment, figure)
    if figure.kind == "rows":
        panels = list(_row_panels(sources, name, figure))
        return draw_rows(panels, figure.x_label) if panels else None
    if figure.kind in SERIES:
        panels = list(_series_panels(sources, name, figure))
        return _draw_over_time(panels, figure) if panels else None
    by_measure = _by_panel(figure)
    panels = [
        Panel(title, label, list(_lines(sources, name, experiment, figure, curves)))
        for title, label, curves in by_measure
    ]
    panels = [panel for panel in panels if any(not line.theirs for line in panel.lines)]
    if not panels:
        return None
    return draw_bars(panels) if figure.kind == "bars" else draw_curves(panels, figure.x_label)


def _draw_points(
    sources: Sequence[Source], name: str, experiment: Experiment, figure: Figure
) -> Drawing | None:
    """Of the first source that has any: of several, the report has the claims of each."""
    for source in sources:
        table = joined_table(source, name, experiment)
        known = {curve.measure: table[curve.measure].dropna() for curve in figure.curves}
        if all(values.empty for values in known.values()):
            continue
        labels = {curve.measure: curve.label or curve.measure for curve in figure.curves}
        if figure.kind == "map":
            return draw_map(table, figure.x, figure.y, labels, figure.level)
        measures = {labels[column]: values for column, values in known.items()}
        if figure.kind == "cdf":
            return draw_cdf(measures, figure.x_label, figure.level)
        return draw_boxes(measures, figure.y_label, figure.level)
    return None


def _draw_over_time(panels: Sequence[Panel], figure: Figure) -> Drawing:
    if figure.kind == "occasion":
        return draw_events(panels, figure.x_label)
    return draw_series(panels, steps=figure.kind == "window")


def _by_panel(figure: Figure) -> Iterator[tuple[str, str, list[Curve]]]:
    """Title, label of the axis, and curves of each panel: bars alone, Jain's index alone."""
    if figure.kind == "bars":
        yield from ((curve_label(curve), figure.y_label, [curve]) for curve in figure.curves)
        return
    for panel in dict.fromkeys(curve.panel for curve in figure.curves):
        there = [curve for curve in figure.curves if curve.panel == panel]
        index = [curve for curve in there if curve.measure.endswith(JAIN)]
        rates = [curve for curve in there if not curve.measure.endswith(JAIN)]
        for label, curves in ((figure.y_label, rates), ("Jain's index", index)):
            if curves:
                yield panel, label, curves


def _lines(
    sources: Sequence[Source],
    name: str,
    experiment: Experiment,
    figure: Figure,
    curves: Sequence[Curve],
) -> Iterator[Line]:
    for colour, curve in enumerate(curves):
        label = "" if figure.kind == "bars" else f"{curve_label(curve)}, "
        for marker, source in enumerate(sources):
            points = our_points(source, name, curve, figure.x)
            if not points.empty:
                joined = source.plan.version != "sample"
                yield Line(f"{label}ours ({source.label})", colour, False, points, marker, joined)
        if experiment.reference is not None:
            points = their_points(experiment.reference, curve)
            if not points.empty:
                yield Line(f"{label}paper", colour, True, points)


def _series_panels(sources: Sequence[Source], name: str, figure: Figure) -> Iterator[Panel]:
    """A panel for each cell with a run that is ok, of each source."""
    for source in sources:
        rows = source.cells_of(name)
        several = rows["configuration"].nunique() > 1
        for _, cell in rows[rows["status"] == "ok"].groupby("cell", sort=True):
            first = cell.iloc[0]
            title = str(first["factors"].get(figure.x))
            if several:
                title = f"{first['configuration']}, {title}"
            if len(sources) > 1:
                title += f" ({source.label})"
            run = Path(first["directory"])
            with naming(run):
                lines = [_cut(line, figure.seconds) for line in SERIES[figure.kind](run)]
                marks = path_marks(run) if figure.kind == "paths" else []
            yield Panel(title, figure.y_label, lines, marks)


def _row_panels(sources: Sequence[Source], name: str, figure: Figure) -> Iterator[Panel]:
    """A panel for each configuration of each source, with the rows of each cell's first run."""
    for source in sources:
        ok = source.cells_of(name)
        ok = ok[ok["status"] == "ok"]
        for configuration, cells in ok.groupby("configuration", sort=False):
            firsts = cells.groupby("cell", sort=True).first()
            found = [
                row
                for run, factors in zip(firsts["directory"], firsts["factors"], strict=True)
                for row in _rows(Path(run), str(factors.get(figure.x)))
            ]
            lines = [
                _cut(Line(label, number, False, points), figure.seconds)
                for number, (label, points) in enumerate(found)
            ]
            yield Panel(f"{configuration} ({source.label})", figure.y_label, lines)


def _cut(line: Line, seconds: float | None) -> Line:
    if seconds is None:
        return line
    points = line.points[line.points["x"] <= seconds]
    return Line(line.label, line.colour, line.theirs, points, line.marker)


def _legs(run: Path) -> list[Line]:
    return [
        Line(f"leg {leg}", number, False, _points(rates["time_s"], rates["rate_mbps"]))
        for number, (leg, rates) in enumerate(leg_rates(run).groupby("leg"))
    ]


def _window(run: Path) -> list[Line]:
    window = sender_recovery(run).window
    return [Line("window", 0, False, _points(window["time_s"], window["cwnd_bytes"] / 1000))]


def _occasion(run: Path) -> list[Line]:
    events = drop_occasion(run)
    chosen = [(label, events[events["event"] == label]) for label in (SENT, ACKNOWLEDGED, LOST)]
    return [
        Line(label, number, False, _points(rows["time_ms"], rows["packet_number"]))
        for number, (label, rows) in enumerate(chosen)
    ]


def _rates(run: Path) -> list[Line]:
    return [
        Line(f"connection {flow}", number, False, _points(rates["time_s"], rates["rate_mbps"]))
        for number, (flow, rates) in enumerate(flow_rates(run).groupby("flow"))
    ]


def _rows(run: Path, label: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Label and points of each line of a run's workload; of several flows the first one's."""
    with naming(run):
        scenario = load_as_run(run)
        workload = scenario.resolved_flows[0].workload
        figure = workload.figure
        if figure is None:
            raise ResultError(f"{run}: workload {workload.kind} has no figure of rows")
        rows = read_rows(flow_directory(run, 1, alone=not scenario.flows), workload.kind, figure)
    for name, line in lines_of(rows, figure):
        yield ", ".join(filter(None, (label, name))), _points(line[figure.x], line[figure.y])


def _points(x: pd.Series[float], y: pd.Series[float]) -> pd.DataFrame:
    return pd.DataFrame({"x": x, "mean": y})


SERIES: dict[str, Callable[[Path], list[Line]]] = {
    "legs": _legs,
    "window": _window,
    "rates": _rates,
    "paths": path_lines,
    "occasion": _occasion,
}
