"""Values over many points: cumulated shares, and maps of two factors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize

from minitopo_dc import statistics
from minitopo_dc.numbers import significant
from minitopo_dc.plots import theme
from minitopo_dc.plots.factors import looks_of
from minitopo_dc.plots.labels import (
    WIDE,
    label_of,
    legend_above,
    log_axis,
    name_ticks,
    value_name,
    way_names,
)
from minitopo_dc.plots.measure import check_columns, main_measure
from minitopo_dc.plots.theme import Look, styled

BELOW, EVEN, ABOVE = "#2166AC", "#F2F2EE", "#C4540A"
"""Colours of a map below, at and above a level: blue and vermillion, which all eyes tell apart."""
MOST_CELLS = 12
"""The most values of a factor whose map has a cell, with its number, for each."""
ON_DARK, ON_LIGHT = "#FEFEFC", "#101012"
"""Of numbers on colours: no greys, so that a page in dark does not turn them round."""


@styled
def cdf(
    runs: pd.DataFrame,
    y: str | None = None,
    by: str | None = None,
    *,
    ax: Axes | None = None,
    looks: Mapping[str, Look] | None = None,
    level: float | None = None,
    of_all: bool = False,
) -> Axes:
    """Draw the cumulated shares of a measure's values, a curve for each way.

    >>> plots.cdf(table, "ratio", level=1)

    Args:
        runs: a row a run, or a point.
        y: the measure; None: the main one.
        by: the column that tells ways apart.
        ax: drawn on; None: a new figure.
        looks: of the ways.
        level: where the measure breaks even, e.g. 1 for a ratio.
        of_all: whether a missing value, as of a frame that did not come, is beyond all others, so
            that the curve ends below 1; else it does not count.

    Raises:
        ColumnError: a column is not there.
    """
    check_columns(runs, y, by)
    y, axes = y or main_measure(runs, [by] if by else ()), theme.axes_or_new(ax)
    values, known = _values(runs, y), statistics.ok(runs)
    ways = way_names(runs[by]) if by else pd.Series("", index=runs.index)
    for way, look in looks_of(runs, by, looks).items():
        mine = values[known & (ways == way)]
        places = np.sort(mine[np.isfinite(mine)].to_numpy())
        count = len(mine) if of_all else len(places)
        steps = np.append(places[:1], places), np.arange(len(places) + 1)[: len(places) * 2]
        line: Any = {"color": look.colour, "linestyle": look.dash, "label": f"{way} (n = {count})"}
        axes.step(steps[0], steps[1] / max(1, count), where="post", **line)
    if _is_wide(values[known]):
        log_axis(axes, "x")
    if level is not None:
        axes.axvline(level, color="0.4", linewidth=0.8, zorder=0.9)
    axes.set(xlabel=label_of(y), ylabel="cumulated share", ylim=(0, 1.01))
    if by is not None:
        legend_above(axes, *axes.get_legend_handles_labels())
    return axes


@styled
def factor_map(
    table: pd.DataFrame,
    x: str,
    y: str,
    z: str | None = None,
    *,
    ax: Axes | None = None,
    level: float | None = None,
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Draw a measure as colours over two factors.

    >>> plots.map(table, x="delay_ratio", y="loss_percent", z="ratio", level=1)

    Few values of both factors have a cell each, with the mean of its runs as a number. Of a design
    each point is drawn, above the level as a triangle that points upwards, below it downwards.

    Args:
        table: a row a run, or a point.
        x: a factor.
        y: the other factor.
        z: the measure; None: the main one.
        ax: drawn on; None: a new figure.
        level: where the measure breaks even: the middle of colours that go by its logarithm.
        limits: the values of the first and the last colour; None: the least and the greatest.

    Raises:
        ColumnError: a column is not there.
    """
    check_columns(table, x, y, z)
    z, axes = z or main_measure(table, [x, y]), theme.axes_or_new(ax, 2.8)
    known = pd.DataFrame({"x": table[x], "y": table[y], "z": _values(table, z)})
    known = known[statistics.ok(table) & np.isfinite(known["z"])]
    colours = _scale(known["z"], level, limits)
    if max(known["x"].nunique(), known["y"].nunique()) <= MOST_CELLS:
        _cells(axes, known.pivot_table(index="y", columns="x", values="z"), colours)
    else:
        _points(axes, known, colours, level)
    axes.set(xlabel=label_of(x), ylabel=label_of(y))
    if (figure := axes.get_figure(root=True)) is not None and len(known):
        bar = figure.colorbar(colours, ax=axes, pad=0.02, aspect=25, label=label_of(z))
        if isinstance(colours.norm, LogNorm):
            log_axis(bar.ax, "y")
    return axes


def _values(runs: pd.DataFrame, name: str) -> pd.Series[Any]:
    empty = pd.Series(np.nan, index=runs.index)
    return pd.Series(runs.get(name, empty)).astype(float)


def _is_wide(values: pd.Series[Any]) -> bool:
    """Return whether values are positive, and most of them over more than an order of magnitude."""
    known = values[np.isfinite(values)]
    return len(known) > 0 and bool(known.min() > 0 and known.quantile(0.95) > WIDE * known.min())


def _scale(
    values: pd.Series[Any], level: float | None, limits: tuple[float, float] | None
) -> ScalarMappable:
    """Return colours and their scale, which with a level is as long on either side of it."""
    low, high = limits or ((values.min(), values.max()) if len(values) else (0.0, 1.0))
    if level is None:
        return ScalarMappable(Normalize(low, high), colormaps["viridis"])
    colours = LinearSegmentedColormap.from_list("level", [BELOW, EVEN, ABOVE])
    if level > 0 and low > 0:
        most = max(high / level, level / low, 1.01)
        return ScalarMappable(LogNorm(level / most, level * most), colours)
    most = max(abs(high - level), abs(low - level), 1e-9)
    return ScalarMappable(Normalize(level - most, level + most), colours)


def _cells(axes: Axes, grid: pd.DataFrame, colours: ScalarMappable) -> None:
    """Draw a cell with its number for each pair of values, at equal distances."""
    values = np.ma.masked_invalid(grid.to_numpy(dtype=float))
    edges = (np.arange(count + 1) - 0.5 for count in (grid.shape[1], grid.shape[0]))
    look: Any = {"cmap": colours.cmap, "norm": colours.norm}
    axes.pcolormesh(*edges, values, **look, edgecolors="white",
                    linewidth=0.6)  # fmt: skip
    for (row, column), value in np.ndenumerate(grid.to_numpy(dtype=float)):
        if np.isfinite(value):
            red, green, blue, _ = np.ravel(colours.to_rgba(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5  # luma of ITU-R BT.601
            ink: Any = {"color": ON_DARK if dark else ON_LIGHT, "ha": "center", "va": "center"}
            axes.text(column, row, significant(float(value), 2), **ink)
    places = {float(place): value_name(value) for place, value in enumerate(grid.columns)}
    name_ticks(axes, places, log=False)
    axes.set_yticks(range(grid.shape[0]), list(map(value_name, grid.index)))
    axes.grid(visible=False)


def _points(axes: Axes, known: pd.DataFrame, colours: ScalarMappable, level: float | None) -> None:
    """Draw each point of a design, with a marker for each side of the level."""
    above = known["z"] >= (-np.inf if level is None else level)
    look: Any = {"cmap": colours.cmap, "norm": colours.norm, "s": 14, "edgecolors": "0.3"}
    for marker, side in (("o" if level is None else "^", above), ("v", ~above)):
        rows = known[side]
        axes.scatter(rows["x"], rows["y"], c=rows["z"], marker=marker, linewidths=0.3, **look)
    for which in ("x", "y"):
        if _is_wide(known[which].astype(float)):
            log_axis(axes, which)
