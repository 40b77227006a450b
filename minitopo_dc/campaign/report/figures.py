"""The figure of an experiment, as a chart and for papers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from minitopo_dc.analysis.figures.chart import (
    Axis,
    Chart,
    Panel,
    Series,
    draw,
    look,
    numbers,
    swept,
    value_name,
)
from minitopo_dc.analysis.figures.over_points import (
    BOX_CAPTION,
    MAP_CAPTION,
    box_panel,
    cdf_panel,
    maps,
)
from minitopo_dc.analysis.learning.factors import in_words
from minitopo_dc.campaign.file.fields import OVER_POINTS, Curve, Experiment, Figure
from minitopo_dc.campaign.report.evaluation import (
    Source,
    curve_label,
    measured_points,
    reference_points,
)
from minitopo_dc.campaign.report.joined import joined_table
from minitopo_dc.campaign.report.series import SERIES, series_chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

JAIN = "jain_index"
SD_CAPTION = "Error bars: standard deviation over repetitions (sample, n - 1)."
THEIRS_CAPTION = "Hollow markers, dotted: the paper's."
THEIRS_DASH = 2
DODGE = 0.6
"""The part of the distance of two categories over which their curves stand beside each other."""


def draw_experiment(sources: Sequence[Source], name: str, experiment: Experiment) -> Drawing | None:
    """Draw an experiment for a paper; None without data, or without a figure in the file.

    Raises:
        ResultError: a file that the figure needs is missing or broken.
    """
    chart = experiment_chart(sources, name, experiment)
    return None if chart is None else draw(chart)


def experiment_chart(sources: Sequence[Source], name: str, experiment: Experiment) -> Chart | None:
    """Return an experiment's chart; None without data, or without a figure in the file.

    Raises:
        ResultError: a file that the figure needs is missing or broken.
    """
    figure = experiment.figure
    if figure is None:
        return None
    chart = Chart(name, experiment.title, ())
    if figure.kind in OVER_POINTS:
        return _over_points(chart, sources, experiment, figure)
    if figure.kind in SERIES:
        return series_chart(chart, sources, figure)
    return _over_a_factor(chart, sources, experiment, figure)


def _over_points(
    chart: Chart, sources: Sequence[Source], experiment: Experiment, figure: Figure
) -> Chart | None:
    """Return the chart of the first source with any points; the report has all sources' claims."""
    for source in sources:
        table = joined_table(source, chart.name, experiment)
        known = {curve.measure: table[curve.measure].dropna() for curve in figure.curves}
        if all(values.empty for values in known.values()):
            continue
        labels = {curve.measure: curve.label or curve.measure for curve in figure.curves}
        if figure.kind == "map":
            panels = tuple(maps(table, figure.x, figure.y, labels, figure.level))
            return replace(chart, panels=panels, caption=MAP_CAPTION)
        measures = {labels[column]: values for column, values in known.items()}
        if figure.kind == "cdf":
            return replace(chart, panels=(cdf_panel(measures, figure.x_label, figure.level),))
        panel = box_panel(measures, figure.y_label, figure.level)
        return replace(chart, panels=(panel,), caption=BOX_CAPTION)
    return None


def _over_a_factor(
    chart: Chart, sources: Sequence[Source], experiment: Experiment, figure: Figure
) -> Chart | None:
    panels = []
    for title, label, curves in _by_panel(figure):
        found = list(_curves(sources, chart.name, experiment, figure, curves))
        if any(not theirs for *_, theirs in found):
            panels.append(_panel(title, label, figure, found))
    if not panels:
        return None
    known = [each for panel in panels for each in panel.series]
    several = any(np.isfinite(each.high - each.y).any() for each in known if each.high is not None)
    told = [
        SD_CAPTION if several else "",
        THEIRS_CAPTION if any(each.look.hollow for each in known) else "",
    ]
    return replace(chart, panels=tuple(panels), caption=" ".join(filter(None, told)))


Found = tuple[str, int, int, pd.DataFrame, bool]
"""Label, number of the curve, number of the source, points, and whether they are the paper's."""


def _panel(title: str, label: str, figure: Figure, found: Sequence[Found]) -> Panel:
    every = [value for *_, points, _ in found for value in points["x"]]
    x_label = figure.x_label or ("" if figure.kind == "bars" else in_words(figure.x))
    x, places = swept(x_label, every)
    named = figure.kind == "bars" or list(places.values()) == list(range(len(places)))
    if named:  # one beside the other: what lies between two categories has no value
        places = {name: float(place) for place, name in enumerate(places)}
        x = Axis(x_label, ticks=tuple((place, name) for name, place in places.items()))
    series = []
    for number, each in enumerate(found):
        shift = DODGE * ((number + 0.5) / len(found) - 0.5) if named else 0.0
        series.append(_series(each, places, shift, joined=figure.kind == "curves" and not named))
    return Panel(title, x, Axis(label, from_zero=True), tuple(series))


def _series(found: Found, places: dict[str, float], shift: float, *, joined: bool) -> Series:
    """Return a curve; colour and marker are its configuration's, the dash is its source's."""
    label, curve, source, points, theirs = found
    ordered = points.assign(x=[places[value_name(value)] for value in points["x"]])
    ordered = ordered.sort_values("x")
    mean, sd = numbers(ordered["mean"]), numbers(ordered["sd"])
    one_more = source + (source >= THEIRS_DASH)
    dash = THEIRS_DASH if theirs else one_more
    marker = (look(curve).marker or 0) + 2 * source
    looks = replace(look(curve), dash=dash, marker=marker, hollow=theirs)
    return Series(
        label,
        numbers(ordered["x"]) + shift,
        mean,
        looks,
        line="line" if joined else "none",
        low=mean - sd,
        high=mean + sd,
    )


def _by_panel(figure: Figure) -> Iterator[tuple[str, str, list[Curve]]]:
    """Yield title, axis label, and curves of each panel: bars alone, Jain's index alone."""
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


def _curves(
    sources: Sequence[Source],
    name: str,
    experiment: Experiment,
    figure: Figure,
    curves: Sequence[Curve],
) -> Iterator[Found]:
    several, theirs = len(sources) > 1, experiment.reference is not None
    for number, curve in enumerate(curves):
        label = "" if figure.kind == "bars" else curve_label(curve)
        for place, source in enumerate(sources):
            points = measured_points(source, name, curve, figure.x)
            if not points.empty:
                ours = f"ours ({source.label})" if several else "ours"
                named = ours if several or theirs or not label else ""
                yield ", ".join(filter(None, (label, named))), number, place, points, False
        if experiment.reference is not None:
            points = reference_points(experiment.reference, curve)
            if not points.empty:
                yield ", ".join(filter(None, (label, "paper"))), number, 0, points, True
