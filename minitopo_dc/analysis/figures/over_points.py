"""Charts over the points of a design: cumulated shares, quartiles, shares, maps of two factors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import contourpy
import numpy as np
import pandas as pd

from minitopo_dc.analysis.figures.chart import (
    Axis,
    Chart,
    Look,
    Numbers,
    Panel,
    Scale,
    Series,
    draw,
    is_wide,
    numbers,
    plain,
)
from minitopo_dc.statistics import Proportion

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BANDWIDTH = 0.12
"""The standard deviation of the weights of a mean, as a part of a map's width and height. With
less, single points have borders of their own; with more, the border is a straight line."""
GRID = 60
FEW = 6
"""The most values of a factor of a map that are at equal distances, with their points beside each
other: 0, 0.01, 0.1 and 1 would be two heaps on an axis of numbers, and 0 has no logarithm."""
ZERO_BELOW = 3.0
"""On a log axis, a 0 stands at the least other value divided by this."""
BORDER = "border"
MAP_CAPTION = (
    "Triangles point up where the measure is at the level or above, and down where it is below."
)
BORDER_CAPTION = (
    f"The line is where a mean of the points around crosses the level (Gaussian weights, standard "
    f"deviation {100 * BANDWIDTH:.0f} % of an axis). A map has it only where a rule was found that "
    f"predicts points that it was not made from."
)
BOX_CAPTION = "Dot: median; thick bar: quartiles; thin bar: 5th to 95th percentile."
SHARE_CAPTION = "Bars: 95 % intervals (Wilson)."


@dataclass(frozen=True)
class Map:
    """A measure over the plane of two factors."""

    title: str
    table: pd.DataFrame
    """Three columns: horizontal, vertical, the measure; their names are the labels."""
    level: float | None
    """The value where the verdict changes."""
    border: bool = False
    """Whether a rule was found, so that there is a border to draw."""
    measure: str = ""
    """The measure of the colours in words; none: the third column's name."""


def cdf_panel(measures: Mapping[str, pd.Series[float]], x_label: str, level: float | None) -> Panel:
    """Return the share of points whose measure is at most x, with a curve for each measure."""
    series = []
    for number, (label, values) in enumerate(measures.items()):
        ordered = np.sort(values.to_numpy(dtype=float))
        shares = np.arange(1, len(ordered) + 1) / len(ordered)
        start = numbers([*ordered[:1], *ordered]), np.asarray([0.0, *shares])
        series.append(Series(_counted(label, values), *start, plain(number), "steps"))
    y = Axis("share of the points", limits=(0, 1))
    return Panel("", Axis(x_label, _is_wide(measures)), y, tuple(series), level_x=level)


def box_panel(measures: Mapping[str, pd.Series[float]], y_label: str, level: float | None) -> Panel:
    """Return median, quartiles, and the 5th and 95th percentile of each measure."""
    finite = [values[np.isfinite(values)] for values in measures.values()]
    ends = np.array(
        [np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95)) for values in finite if len(values)]
    ).reshape(-1, 5)
    labels = [_counted(*each) for each in measures.items() if np.isfinite(each[1]).any()]
    low, first, middle, third, high = ends.T
    series = Series(
        "median",
        np.arange(len(labels), dtype=float),
        middle,
        look=Look(marker=0),
        line="none",
        low=low,
        high=high,
        quartiles=(first, third),
    )
    x = Axis("", ticks=tuple((float(place), label) for place, label in enumerate(labels)))
    return Panel("", x, Axis(y_label), (series,), level_y=level, sideways=True)


def share_panel(shares: Mapping[str, Proportion], x_label: str) -> Panel:
    """Return shares of points with their intervals, one below the other."""
    found = list(shares.values())
    ticks = tuple((float(place), label) for place, label in enumerate(shares))
    series = Series(
        "share",
        np.arange(len(found), dtype=float),
        numbers(each.share for each in found),
        look=Look(marker=0),
        line="none",
        low=numbers(each.low for each in found),
        high=numbers(each.high for each in found),
    )
    return Panel("", Axis("", ticks=ticks), Axis(x_label, limits=(0, 1)), (series,), sideways=True)


def map_panel(found: Map) -> Panel:
    """Return points in the plane of two factors, coloured by a measure, and perhaps its border."""
    x, y, measure = (str(name) for name in found.table.columns)
    table = found.table.astype(float).replace([math.inf, -math.inf], math.nan).dropna()
    axes: dict[str, Axis] = {}
    has_levels = False
    for name in (x, y):
        levels = _levels(table[name])
        has_levels = has_levels or bool(levels)
        axes[name], table[name] = _by_levels(table[name], levels) if levels else _axis(table[name])
    values = table[measure].to_numpy()
    places = table[x].to_numpy(), table[y].to_numpy()
    points = Series(measure, *places, line="none", values=values)
    draws = found.border and not has_levels
    border = _border(table, (x, y, measure), axes, found.level) if draws else ()
    scale = _scale(found, found.measure or measure, values)
    return Panel(found.title, axes[x], axes[y], (points, *border), scale=scale)


def draw_map(
    table: pd.DataFrame, x: str, y: str, measures: Mapping[str, str], level: float | None
) -> Figure:
    """Draw points in the plane of two factors, coloured by a measure; a map for each measure.

    Args:
        table: one row per point.
        x: the horizontal factor.
        y: the vertical factor.
        measures: the title of each map, by the measure's column of the table.
        level: where the measure breaks even; colours are blue below, and red above it.
    """
    return draw(Chart("map", "", tuple(maps(table, x, y, measures, level))))


def maps(
    table: pd.DataFrame, x: str, y: str, measures: Mapping[str, str], level: float | None
) -> Iterator[Panel]:
    """Yield the panels of `draw_map`, one for each measure."""
    for column, title in measures.items():
        yield map_panel(Map(title, table[[x, y, column]], level))


def _scale(found: Map, label: str, values: Numbers) -> Scale:
    if not len(values):
        return Scale(label, 0.0, 1.0, found.level)
    if found.level is None:
        return Scale(label, float(values.min()), float(values.max()))
    # The scale ends at the 95th percentile, as one distant value would make all others grey.
    reach = float(np.quantile(np.abs(values - found.level), 0.95)) or 1.0
    return Scale(label, found.level - reach, found.level + reach, found.level)


def _border(
    table: pd.DataFrame, names: tuple[str, str, str], axes: Mapping[str, Axis], level: float | None
) -> Iterator[Series]:
    """Yield the lines where a weighted mean of the points around is the level."""
    x, y, measure = names
    if level is None or len(table) < 3:
        return
    across, up = (_scaled(table[name], axes[name]) for name in (x, y))
    steps = np.linspace(0, 1, GRID)
    right, above = np.meshgrid(steps, steps)
    squared = (right[..., None] - across) ** 2 + (above[..., None] - up) ** 2
    weights = np.exp(-squared / (2 * BANDWIDTH**2))
    mean = (weights * table[measure].to_numpy()).sum(axis=2) / weights.sum(axis=2)
    x_steps, y_steps = (_spread(table[name], axes[name]) for name in (x, y))
    for line in contourpy.contour_generator(x=x_steps, y=y_steps, z=mean).lines(level):
        places = np.asarray(line)
        yield Series(BORDER, places[:, 0], places[:, 1], Look(colour=6))


def _levels(values: pd.Series[float]) -> list[float]:
    """Return the values of a factor that has few, each of several points; else an empty list."""
    found = sorted(set(values))
    return found if 1 < len(found) <= FEW and 2 * len(found) < len(values) else []


def _by_levels(values: pd.Series[float], levels: list[float]) -> tuple[Axis, pd.Series[float]]:
    """Return an axis of levels at equal distances; points of one level are beside each other."""
    random = np.random.default_rng(1)
    ticks = tuple((float(place), f"{value:g}") for place, value in enumerate(levels))
    beside = np.searchsorted(levels, values) + random.uniform(-0.3, 0.3, len(values))
    return Axis(str(values.name), ticks=ticks), pd.Series(beside, values.index)


def _axis(values: pd.Series[float]) -> tuple[Axis, pd.Series[float]]:
    """Return an axis of numbers, and each value's place on it.

    A 0 beside positive values of different orders of magnitude has a tick of its own below them.
    """
    above = values[values > 0]
    if not is_wide(above) or (values < 0).any() or len(above) == len(values):
        return Axis(str(values.name), is_wide(values)), values
    least = float(above.min())
    powers = range(math.ceil(math.log10(least)), math.floor(math.log10(above.max())) + 1)
    ticks = ((least / ZERO_BELOW, "0"), *((10.0**power, f"{10.0**power:g}") for power in powers))
    return Axis(str(values.name), log=True, ticks=ticks), values.where(values > 0, ticks[0][0])


def _scaled(values: pd.Series[float], axis: Axis) -> Numbers:
    """Return values scaled from 0 to 1 over an axis."""
    plain = values.to_numpy(dtype=float)
    plain = np.log(plain) if axis.log else plain
    return np.asarray((plain - plain.min()) / (np.ptp(plain) or 1.0), dtype=float)


def _spread(values: pd.Series[float], axis: Axis) -> Numbers:
    """Return values at equal steps over an axis."""
    low, high = float(values.min()), float(values.max())
    return np.geomspace(low, high, GRID) if axis.log else np.linspace(low, high, GRID)


def _is_wide(measures: Mapping[str, pd.Series[float]]) -> bool:
    return is_wide([value for values in measures.values() for value in values])


def _counted(label: str, values: pd.Series[float]) -> str:
    infinite = int(np.isinf(values).sum())
    return f"{label} (n = {len(values)}{f', {infinite} without end' if infinite else ''})"
