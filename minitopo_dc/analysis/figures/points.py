"""Figures over the points of a design: cumulated shares, quartiles, maps of two factors.

A line marks where a measure breaks even. On a map the colours are those of the points; the border
is that of a weighted mean of the points around, as the other factors of the design scatter them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from numpy.typing import NDArray

from minitopo_dc.analysis.figures.curves import COLOURS, DOTS_PER_INCH, PANEL_INCHES
from minitopo_dc.analysis.figures.panel import FONT

Values = NDArray[np.float64]
BANDWIDTH = 0.12
"""Of a map's width and height: the standard deviation of the weights of a mean. Below it single
points have borders of their own, above it the border is a straight line."""
GRID = 60
FEW = 6
"""A factor of a map with at most so many values has them at equal distances, and its points beside
each other: 0, 0.01, 0.1 and 1 would be two heaps on an axis of numbers, and 0 has no logarithm."""
LOG_ABOVE = 12.0
"""A positive factor or measure whose greatest value is so many times its least has a log axis."""


def draw_cdf(measures: Mapping[str, pd.Series[float]], x_label: str, level: float | None) -> Figure:
    """The share of points whose measure is at most x, a curve for each measure."""
    figure, axes = _axes()
    for number, (label, values) in enumerate(measures.items()):
        ordered = np.sort(values.to_numpy(dtype=float))
        shares = np.arange(1, len(ordered) + 1) / len(ordered)
        axes.step(
            ordered, shares, where="post", color=_colour(number), label=_counted(label, values)
        )
    finite = [values[np.isfinite(values)] for values in measures.values()]
    if all(_is_wide(values) for values in finite):
        axes.set_xscale("log")
    if level is not None:
        axes.axvline(level, color="0.6", linewidth=0.9)
    axes.set_ylim(0, 1)
    _finish(axes, x_label, "share of the points")
    axes.legend(frameon=False, prop={"family": FONT, "size": 8})
    return figure


def draw_boxes(
    measures: Mapping[str, pd.Series[float]], y_label: str, level: float | None
) -> Figure:
    """Median and quartiles of each measure, whiskers from 5 % to 95 %, and all points."""
    figure, axes = _axes()
    finite = [values[np.isfinite(values)].to_numpy(dtype=float) for values in measures.values()]
    labels = [_counted(label, values) for label, values in measures.items()]
    axes.boxplot(finite, whis=(5, 95), showfliers=False, medianprops={"color": COLOURS[1]})
    axes.set_xticks(range(1, len(labels) + 1), labels)
    random = np.random.default_rng(1)  # beside each other rather than over each other
    for number, values in enumerate(finite, start=1):
        places = number + random.uniform(-0.18, 0.18, len(values))
        axes.plot(places, values, ".", color=COLOURS[0], alpha=0.3, markersize=3, zorder=0)
    if level is not None:
        axes.axhline(level, color="0.6", linewidth=0.9)
    _finish(axes, "", y_label)
    return figure


def draw_map(
    table: pd.DataFrame, x: str, y: str, measures: Mapping[str, str], level: float | None
) -> Figure:
    """Points in the plane of two factors, coloured by a measure, and its border.

    Args:
        table: one row per point.
        x: the factor to the right.
        y: the factor upwards.
        measures: column of the table: title of its map.
        level: where the measure breaks even; colours are blue below, and red above it.
    """
    count = len(measures)
    width, height = PANEL_INCHES
    figure = Figure(figsize=(width * count, height * 1.2), layout="constrained", dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    places = figure.subplots(1, count, squeeze=False)[0]
    for axes, (column, title) in zip(places, measures.items(), strict=True):
        draw_map_on(axes, table, (x, y, column), level, title)
    return figure


def draw_map_on(
    axes: Axes, table: pd.DataFrame, names: tuple[str, str, str], level: float | None, title: str
) -> None:
    """One map of `draw_map` on axes of another figure: the columns of x, y and the measure."""
    points = table[[*names]].astype(float).replace([math.inf, -math.inf], math.nan).dropna()
    levels = {name: found for name in names[:2] if (found := _levels(points[name]))}
    placed = points.assign(**{name: _beside(points[name], each) for name, each in levels.items()})
    _draw_points(axes, placed, names, level)
    for name, axis in zip(names, (axes.xaxis, axes.yaxis), strict=False):
        if name in levels:
            axis.set_ticks(range(len(levels[name])), [f"{value:g}" for value in levels[name]])
    axes.use_sticky_edges = False  # a border ends where the points do, the axes a little later
    axes.margins(0.04)
    _finish(axes, *names[:2])
    axes.set_title(title, loc="left", fontsize=9.5, family=FONT, parse_math=False)


def _draw_points(
    axes: Axes, points: pd.DataFrame, names: tuple[str, str, str], level: float | None
) -> None:
    x, y, column = names
    for name, scale, axis in (
        (x, axes.set_xscale, axes.xaxis),
        (y, axes.set_yscale, axes.yaxis),
    ):
        if _is_wide(points[name]):
            scale("log")
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axis.set_minor_formatter(NullFormatter())
    values = points[column]
    options: dict[str, Any] = {"cmap": "viridis"}
    if level is not None and len(values):
        reach = float((values - level).abs().quantile(0.95)) or 1.0
        options = {"cmap": "coolwarm", "vmin": level - reach, "vmax": level + reach}
    drawn = axes.scatter(
        points[x], points[y], c=values, s=22, edgecolors="0.4", linewidths=0.3, **options
    )
    assert axes.figure is not None
    bar = axes.figure.colorbar(drawn, ax=axes, shrink=0.85)
    bar.ax.tick_params(labelsize=7, labelfontfamily=FONT)
    if level is not None and len(points) > 2:
        _draw_border(axes, points, names, level)


def _draw_border(
    axes: Axes, points: pd.DataFrame, names: tuple[str, str, str], level: float
) -> None:
    x, y, column = names
    across, up = _scaled(points[x]), _scaled(points[y])
    steps = np.linspace(0, 1, GRID)
    right, above = np.meshgrid(steps, steps)
    squared = (right[..., None] - across) ** 2 + (above[..., None] - up) ** 2
    weights = np.exp(-squared / (2 * BANDWIDTH**2))
    mean = (weights * points[column].to_numpy()).sum(axis=2) / weights.sum(axis=2)
    if mean.min() < level < mean.max():
        axes.contour(
            _spread(points[x]), _spread(points[y]), mean, levels=[level], colors="0.2", linewidths=1
        )


def _levels(values: pd.Series[float]) -> list[float]:
    """The values of a factor that has few, each of several points; else none."""
    found = sorted(set(values))
    return found if 1 < len(found) <= FEW and 2 * len(found) < len(values) else []


def _beside(values: pd.Series[float], levels: list[float]) -> Values:
    """Each value's place among the levels, points of one level beside each other."""
    random = np.random.default_rng(1)
    return np.searchsorted(levels, values) + random.uniform(-0.3, 0.3, len(values))


def _scaled(values: pd.Series[float]) -> Values:
    """From 0 to 1 over an axis."""
    plain = values.to_numpy(dtype=float)
    plain = np.log(plain) if _is_wide(values) else plain
    return np.asarray((plain - plain.min()) / (np.ptp(plain) or 1.0), dtype=float)


def _spread(values: pd.Series[float]) -> Values:
    """Equal steps over an axis."""
    low, high = float(values.min()), float(values.max())
    return np.geomspace(low, high, GRID) if _is_wide(values) else np.linspace(low, high, GRID)


def _is_wide(values: pd.Series[float]) -> bool:
    return len(values) > 0 and values.min() > 0 and values.max() > LOG_ABOVE * values.min()


def _counted(label: str, values: pd.Series[float]) -> str:
    infinite = int(np.isinf(values).sum())
    return f"{label} ({len(values)} points{f', {infinite} without end' if infinite else ''})"


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _axes() -> tuple[Figure, Axes]:
    figure = Figure(figsize=PANEL_INCHES, layout="constrained", dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    return figure, figure.subplots()


def _finish(axes: Axes, x_label: str, y_label: str) -> None:
    axes.set_xlabel(x_label, fontsize=9, family=FONT)
    axes.set_ylabel(y_label, fontsize=9, family=FONT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, labelfontfamily=FONT)
