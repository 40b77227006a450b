"""Values over many points: cumulated shares, and maps of two factors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import CenteredNorm, LogNorm, Normalize

from minitopo_dc import statistics
from minitopo_dc.numbers import significant
from minitopo_dc.plots import theme
from minitopo_dc.plots.axes import WIDE, handles_of, legend, log_axis
from minitopo_dc.plots.factors import looks_of
from minitopo_dc.plots.labels import (
    check_columns,
    label_of,
    main_measure,
    value_name,
    way_names,
)
from minitopo_dc.plots.theme import Look, styled

MOST_CELLS = 12
"""The most values of a factor whose map has a cell, with its number, for each."""


@styled
def cdf(
    runs: pd.DataFrame,
    y: str | None = None,
    by: str | None = None,
    *,
    ax: Axes | None = None,
    looks: Mapping[str, Look] | None = None,
    level: float | None = None,
) -> Axes:
    """Draw the cumulated shares of a measure's values, a curve for each way.

    >>> plots.cdf(table, "ratio", level=1)

    Args:
        runs: a row a run, or a point; without a value it does not count.
        y: the measure; None: the main one.
        by: the column that tells ways apart.
        ax: drawn on; None: a new figure.
        looks: of the ways.
        level: where the measure breaks even, e.g. 1 for a ratio.

    Raises:
        ColumnError: a column is not there.
    """
    check_columns(runs, y, by)
    y, axes = y or main_measure(runs, [by] if by else ()), theme.axes_or_new(ax)
    ways, values = way_names(runs[by]) if by else pd.Series("", index=runs.index), _values(runs, y)
    for way, look in looks_of(runs, by, looks).items():
        places = values[ways == way].dropna()
        line: Any = {"color": look.colour, "linestyle": look.dash}
        if len(places):
            axes.ecdf(places, label=f"{way} (n = {len(places)})", **line)
    if _is_wide(values):
        log_axis(axes, "x")
    if level is not None:
        axes.axvline(level, color="0.4", linewidth=0.8, zorder=0.9)
    axes.set(xlabel=label_of(y), ylabel="cumulated share", ylim=(0, 1.01))
    if by is not None:
        legend(axes, handles_of(axes))
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
    known = pd.DataFrame({"x": table[x], "y": table[y], "z": _values(table, z)}).dropna(subset="z")
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
    """Return a measure's values; NaN of runs that do not count, or have none that is finite."""
    values = pd.Series(runs.get(name, np.nan), index=runs.index).astype(float)
    return values.where(np.isfinite(values) & statistics.ok(runs))


def _is_wide(values: pd.Series[Any]) -> bool:
    """Return whether values are positive, and most of them over more than an order of magnitude."""
    least = values.min()
    return bool(least > 0 and values.quantile(0.95) > WIDE * least)


def _scale(
    values: pd.Series[Any], level: float | None, limits: tuple[float, float] | None
) -> ScalarMappable:
    """Return colours and their scale, which with a level is as long on either side of it."""
    low, high = limits or ((values.min(), values.max()) if len(values) else (0.0, 1.0))
    if level is None:
        return ScalarMappable(Normalize(low, high), "viridis")
    if level > 0 and low > 0:
        most = max(high / level, level / low, 1.01)
        return ScalarMappable(LogNorm(level / most, level * most), "RdBu_r")
    most = max(abs(high - level), abs(low - level), 1e-9)
    return ScalarMappable(CenteredNorm(level, most), "RdBu_r")


def _cells(axes: Axes, grid: pd.DataFrame, colours: ScalarMappable) -> None:
    """Draw a cell with its number for each pair of values, at equal distances."""
    values = grid.to_numpy(dtype=float)
    edges = (np.arange(count + 1) - 0.5 for count in values.shape[::-1])
    look: Any = {"cmap": colours.cmap, "norm": colours.norm, "edgecolors": "white"}
    axes.pcolormesh(*edges, np.ma.masked_invalid(values), linewidth=0.6, **look)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            light = np.dot(colours.to_rgba(value)[:3], (0.299, 0.587, 0.114))  # luma, ITU-R BT.601
            ink: Any = {"color": "white" if light < 0.5 else "black"}
            axes.text(column, row, significant(float(value), 2), ha="center", va="center", **ink)
    axes.set_xticks(range(grid.shape[1]), [*map(value_name, grid.columns)])
    axes.set_yticks(range(grid.shape[0]), [*map(value_name, grid.index)])
    axes.grid(visible=False)


def _points(axes: Axes, known: pd.DataFrame, colours: ScalarMappable, level: float | None) -> None:
    """Draw each point of a design, with a marker for each side of the level."""
    above = known["z"] >= (-np.inf if level is None else level)
    look: Any = {"cmap": colours.cmap, "norm": colours.norm, "s": 14, "edgecolors": "0.3"}
    for marker, rows in (("o" if level is None else "^", known[above]), ("v", known[~above])):
        axes.scatter(rows["x"], rows["y"], c=rows["z"], marker=marker, linewidths=0.3, **look)
    if _is_wide(known["x"].astype(float)):
        log_axis(axes, "x")
    if _is_wide(known["y"].astype(float)):
        log_axis(axes, "y")
