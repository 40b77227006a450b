"""Figures of a table of runs: means over a factor or by category, cumulated shares, maps.

Means have Student's 95 % intervals over the runs that count: those whose `status` is `ok`, with a
finite value. All functions share these arguments, and raise ColumnError for a missing column:

- `runs`: a row a run, or a point of a design;
- `by`: the column that tells ways apart; None: all are one;
- the measure (`y`, of a map `z`): None is the main one of the runs' workload;
- `ax`: drawn on; None: a new figure of a column's width;
- `looks`: by the name of a way; None: as `plots.looks` says;
- `level`: where the measure breaks even, e.g. 1 for a ratio.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import CenteredNorm, LogNorm, Normalize
from matplotlib.container import ErrorbarContainer

from minitopo_dc import statistics
from minitopo_dc.numbers import significant
from minitopo_dc.plots import axes as decorated
from minitopo_dc.plots import theme
from minitopo_dc.plots.labels import (
    check_columns,
    is_number,
    label_of,
    main_measure,
    value_name,
    way_names,
)
from minitopo_dc.plots.theme import Look, style

Looks = Mapping[str, Look]
MOST_NAMES = 9
"""The most curves that are named at their ends; more names are higher than a figure."""
MOST_CELLS = 12
"""The most values of a factor whose map has a cell, with its number, for each."""
DODGE = 0.5
"""The part of the distance of two categories over which their points stand beside each other."""
ORDERS = 30.0
"""The ratio of greatest to least mean from which on an axis of times is logarithmic."""
BAR_INCHES, FRAME_INCHES, GAP_BARS = 0.17, 0.5, 0.7
"""The height of a bar with its space, of what is around all, and of gaps between categories."""
THICK_BARS, FRAME_BARS = 0.92, 1.2
"""The part of its space that a bar fills, and the height of a frame around it."""


@style()
def curves(
    runs: pd.DataFrame,
    x: str,
    by: str | None = None,
    y: str | None = None,
    *,
    ax: Axes | None = None,
    looks: Looks | None = None,
    log_y: bool | None = None,
    named: bool = True,
) -> Axes:
    """Draw a measure's mean over a factor, a curve for each way, with 95 % intervals over runs.

    >>> axes = plots.curves(runs, x="delay_ms", by="way")
    >>> axes.set_title("A second leg that is far away")

    Numbers have their place on the axis `x`; other values stand beside each other, unjoined. The
    names of ways stand beside their curves' ends, many in a legend, nowhere unless `named`. The
    axis of times over orders of magnitude is logarithmic; `log_y` says otherwise.
    """
    check_columns(runs, x, by, y)
    y, axes, numeric = y or main_measure(runs, [x]), theme.axes_or_new(ax), is_number(runs[x])
    shown, known = looks_of(runs, by, looks), runs.dropna(subset=[x]) if numeric else runs
    names = known[x].map(value_name).unique()
    places = known[x] if numeric else known[x].map(value_name).map(list(names).index)
    table = _way_means(known, places.astype(float), by, y)
    for number, (way, look) in enumerate(shown.items()):
        shift = 0.0 if numeric else DODGE * ((number + 0.5) / len(shown) - 0.5)
        curve = table[table["way"] == way].sort_values("x")
        line = look.line | ({} if numeric else {"linestyle": ""}) | {"label": way or "_mean"}
        if len(curve):
            reach = curve["high"] - curve["mean"]
            axes.errorbar(curve["x"] + shift, curve["mean"], reach, elinewidth=0.7, **line)
    if numeric:
        decorated.sweep_axis(axes, known[x].tolist())
    else:
        axes.set_xticks(range(len(names)), list(names))
        axes.set_xlim(-0.5, max(1, len(names)) - 0.5)
    if wants_log_y(table["mean"], y) if log_y is None else log_y:
        decorated.log_axis(axes, "y")
    elif table.empty or table["mean"].min() >= 0:
        decorated.begin_at_0(axes, "y")
    axes.set(xlabel=label_of(x), ylabel=label_of(y))
    if by is not None and named:
        _name_curves(axes, shown)
    return axes


@style()
def bars(
    runs: pd.DataFrame,
    x: str,
    by: str | None = None,
    y: str | None = None,
    *,
    ax: Axes | None = None,
    looks: Looks | None = None,
    named: bool = True,
) -> Axes:
    """Draw a measure's mean as horizontal bars by category, with 95 % intervals and numbers.

    >>> plots.bars(runs, x="way")
    >>> plots.bars(runs, x="environment", by="way", y="completion_s")

    The categories `x` are from top to bottom; without `by` they are ways, in the order of these. A
    new figure is as high as the bars need. A legend has the names of the ways if `named`.
    """
    check_columns(runs, x, by, y)
    y, axes = y or main_measure(runs, [x]), theme.axes_or_new(ax, bars_inches(runs, x, by))
    rows = _rows(runs, x, by, y)
    _draw_bars(axes, rows, looks_of(runs, by or x, looks))
    middles = rows.groupby("x", sort=False)["at"].mean()
    axes.set_yticks(middles, list(middles.index))
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set(xlabel=label_of(y), ylim=(_height(rows) - 0.5, -0.5 - GAP_BARS / 2))
    decorated.begin_at_0(axes, "x")
    if by is not None:
        axes.set_ylabel(label_of(x))
        if named:
            decorated.legend(axes, decorated.handles_of(axes))
    return axes


def bars_inches(runs: pd.DataFrame, x: str, by: str | None = None) -> float:
    """Return the height that bars of these runs need, with the legend of several ways."""
    height = _height(_rows(runs, x, by)) + GAP_BARS / 2
    return BAR_INCHES * height + FRAME_INCHES + 0.2 * (by is not None)


@style()
def comparison(
    table: pd.DataFrame, *, by: str | None = None, y: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a comparison: goodput by way with 95 % intervals, in frames of what legs could carry.

    >>> plots.comparison(load_results("results/compare"))

    The ways are those of the column `way`, else of `transport`, `mode` and `variant` together.
    There are frames if the table has `capacity_share`.
    """
    if by is None and "way" not in table:
        check_columns(table, "transport", "mode")
        parts = table.reindex(columns=["transport", "mode", "variant"]).fillna("").astype(str)
        table = table.assign(way=parts.agg(" ".join, axis=1).str.split().str.join(" "))
    by, y = by or "way", y or main_measure(table)
    axes = bars(table, by, y=y, ax=ax)
    if y == "goodput_mbps" and "capacity_share" in table:
        could = table.assign(**{y: table[y].astype(float) / table["capacity_share"].astype(float)})
        frames = _rows(could, by, None, y)
        frame: dict[str, Any] = {"facecolor": "none", "edgecolor": "0.55", "linewidth": 0.6}
        axes.barh(frames["at"], frames["mean"], FRAME_BARS, zorder=0.95, **frame)
        axes.set_xlabel(f"{axes.get_xlabel()}\nframe: what the legs could carry")
        decorated.begin_at_0(axes, "x")
    return axes


@style()
def cdf(
    runs: pd.DataFrame,
    y: str | None = None,
    by: str | None = None,
    *,
    ax: Axes | None = None,
    looks: Looks | None = None,
    level: float | None = None,
) -> Axes:
    """Draw the cumulated shares of a measure's values, a curve for each way.

    >>> plots.cdf(table, "ratio", level=1)
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
        decorated.log_axis(axes, "x")
    if level is not None:
        axes.axvline(level, color="0.4", linewidth=0.8, zorder=0.9)
    axes.set(xlabel=label_of(y), ylabel="cumulated share", ylim=(0, 1.01))
    if by is not None:
        decorated.legend(axes, decorated.handles_of(axes))
    return axes


@style()
def factor_map(
    runs: pd.DataFrame,
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
    each point is drawn, above the level as a triangle that points upwards, below it downwards. The
    colours are from one of the `limits` to the other, else from the least to the greatest value.
    """
    check_columns(runs, x, y, z)
    z, axes = z or main_measure(runs, [x, y]), theme.axes_or_new(ax, 2.8)
    known = pd.DataFrame({"x": runs[x], "y": runs[y], "z": _values(runs, z)}).dropna(subset=["z"])
    colours = _scale(known["z"], level, limits)
    if max(known["x"].nunique(), known["y"].nunique()) <= MOST_CELLS:
        _cells(axes, known.pivot_table(index="y", columns="x", values="z"), colours)
    else:
        _points(axes, known, colours, level)
    axes.set(xlabel=label_of(x), ylabel=label_of(y))
    if (figure := axes.get_figure(root=True)) is not None and len(known):
        bar = figure.colorbar(colours, ax=axes, pad=0.02, aspect=25, label=label_of(z))
        if isinstance(colours.norm, LogNorm):
            decorated.log_axis(bar.ax, "y")
    return axes


def looks_of(runs: pd.DataFrame, by: str | None, given: Looks | None = None) -> dict[str, Look]:
    """Return the looks of a table's ways; of one curve without a name, that of DC."""
    if by is None:
        return {"": theme.looks(["DC"])["DC"]}
    own = theme.looks(way_names(runs[by]))
    return {name: (given or {}).get(name, look) for name, look in own.items()}


def wants_log_y(means: pd.Series[Any], y: str) -> bool:
    """Return whether a measure is a time over orders of magnitude."""
    least, most = means.min(), means.max()
    return y.endswith(("_s", "_ms")) and bool(least > 0 and most > ORDERS * least)


def _values(runs: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Return a measure's values; NaN of runs that do not count, or have none that is finite."""
    values = pd.Series(runs.get(name, np.nan), index=runs.index).astype(float)
    return values.where(np.isfinite(values) & statistics.ok(runs))


def _way_means(runs: pd.DataFrame, x: Any, by: str | None, y: str) -> pd.DataFrame:
    """Return `statistics.means` of a measure by `x` and `way`."""
    way = way_names(runs[by]) if by else ""
    table = pd.DataFrame({"x": x, "way": way, "y": _values(runs, y)}, index=runs.index)
    return statistics.means(table, ["x", "way"], "y")


def _name_curves(axes: Axes, shown: Looks) -> None:
    """Write the names of the curves that were drawn beside their ends, or above the axes."""
    drawn = {str(curve.get_label()): curve
             for curve in axes.containers if isinstance(curve, ErrorbarContainer)}  # fmt: skip
    if len(drawn) > MOST_NAMES:
        decorated.legend(axes, drawn)
    elif drawn:
        ends = {name: np.ravel(curve.lines[0].get_ydata())[-1] for name, curve in drawn.items()}
        decorated.name_ends(axes, {name: (end, shown[name].colour) for name, end in ends.items()})


def _rows(runs: pd.DataFrame, x: str, by: str | None, y: str = "") -> pd.DataFrame:
    """Return a row for each pair of category `x` and `way` that has runs: its place, its mean."""
    category = runs[x].map(value_name) if by else way_names(runs[x])
    rows = pd.DataFrame({"x": category, "way": way_names(runs[by or x])}).drop_duplicates()
    order = {way: place for place, way in enumerate(looks_of(runs, by or x))}
    rows = rows.assign(group=pd.factorize(rows["x"])[0] if by else rows["way"].map(order))
    rows = rows.assign(order=rows["way"].map(order)).sort_values(["group", "order"])
    rows["at"] = np.arange(len(rows)) + GAP_BARS * rows["group"].astype(float)
    return rows.merge(_way_means(runs, category, by or x, y), "left", ["x", "way"])


def _height(rows: pd.DataFrame) -> float:
    """Return where the last bar ends with half a gap, in bars."""
    return float(rows["at"].max() + 1 + GAP_BARS / 2) if len(rows) else 1.0


def _draw_bars(axes: Axes, rows: pd.DataFrame, shown: Looks) -> None:
    """Draw bars with their intervals, which one run has not, and their numbers beyond these."""
    looks, reach = [shown[way] for way in rows["way"]], rows["high"] - rows["mean"]
    # White hatches are of what has hollow markers, so that bars can be told apart in grey.
    hatches: Any = ["////" if look.hollow else "" for look in looks]
    face: Any = {"color": [look.colour for look in looks], "edgecolor": "white", "linewidth": 0}
    axes.barh(rows["at"], rows["mean"], THICK_BARS, label=[*rows["way"]], hatch=hatches, **face)
    line: Any = {"fmt": "none", "ecolor": "#111111", "elinewidth": 0.8}
    known = reach.notna()
    axes.errorbar(rows["mean"][known], rows["at"][known], xerr=reach[known], **line)
    beyond: Any = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
    for place, mean, end in zip(rows["at"], rows["mean"], reach.fillna(0.0), strict=True):
        if np.isfinite(mean):
            axes.annotate(significant(mean), (mean + end, place), **beyond)
        else:  # no run is ok, or has the measure
            axes.annotate("none", (0, place), color="0.5", **beyond)


def _is_wide(values: pd.Series[Any]) -> bool:
    """Return whether values are positive, and most of them over more than an order of magnitude."""
    least = values.min()
    return bool(least > 0 and values.quantile(0.95) > decorated.WIDE * least)


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
    return ScalarMappable(CenteredNorm(level, max(high - level, level - low, 1e-9)), "RdBu_r")


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
        decorated.log_axis(axes, "x")
    if _is_wide(known["y"].astype(float)):
        decorated.log_axis(axes, "y")
