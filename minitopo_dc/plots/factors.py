"""Means of a measure with their 95 % intervals: over a factor, by category, and of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from minitopo_dc import statistics
from minitopo_dc.numbers import significant
from minitopo_dc.plots import theme
from minitopo_dc.plots.axes import begin_at_0, handles_of, legend, log_axis, name_ends, sweep_axis
from minitopo_dc.plots.labels import (
    check_columns,
    is_number,
    label_of,
    main_measure,
    value_name,
    way_names,
)
from minitopo_dc.plots.theme import Look, styled

MOST_NAMES = 9
"""The most curves that are named at their ends; more names are higher than a figure."""
DODGE = 0.5
"""The part of the distance of two categories over which their points stand beside each other."""
ORDERS = 30.0
"""The ratio of greatest to least mean from which on an axis of times is logarithmic."""
BAR_INCHES, FRAME_INCHES, GAP_BARS = 0.17, 0.5, 0.7
"""The height of a bar with its space, of what is around all, and the space, in bars, between two
categories."""
THICK_BARS, FRAME_BARS = 0.92, 1.2
"""The part of its space that a bar fills, and the height of a frame around it."""


@styled
def curves(
    runs: pd.DataFrame,
    x: str,
    by: str | None = None,
    y: str | None = None,
    *,
    ax: Axes | None = None,
    looks: Mapping[str, Look] | None = None,
    log_y: bool | None = None,
    named: bool = True,
) -> Axes:
    """Draw a measure's mean over a factor, a curve for each way, with 95 % intervals over runs.

    >>> axes = plots.curves(runs, x="delay_ms", by="way")
    >>> axes.set_title("A second leg that is far away")

    Numbers have their place on the axis; other values stand beside each other, unjoined.

    Args:
        runs: a row a run; those whose `status` is not `ok`, or without a value, do not count.
        x: the factor.
        by: the column that tells ways apart; None: one curve of all.
        y: the measure; None: the main one of the runs' workload.
        ax: drawn on; None: a new figure of a column's width.
        looks: by the name of a way; None: as `plots.looks` says.
        log_y: whether y is logarithmic; None: if it is a time over orders of magnitude.
        named: whether the curves' names stand beside their ends; of many, in a legend.

    Raises:
        ColumnError: a column is not there.
    """
    check_columns(runs, x, by, y)
    y, axes, numeric = y or main_measure(runs, [x]), theme.axes_or_new(ax), is_number(runs[x])
    shown, known = looks_of(runs, by, looks), runs.dropna(subset=x) if numeric else runs
    places, categories = (known[x], []) if numeric else pd.factorize(known[x].map(value_name))
    table = way_means(known.assign(_at=np.array(places, float)), "_at", by, y)
    for number, (way, look) in enumerate(shown.items()):
        shift = 0.0 if numeric else DODGE * ((number + 0.5) / len(shown) - 0.5)
        curve = table[table["way"] == way].sort_values("x")
        line = look.line | ({} if numeric else {"linestyle": ""}) | {"label": way or "_mean"}
        if len(curve):
            reach = curve["high"] - curve["mean"]
            axes.errorbar(curve["x"] + shift, curve["mean"], reach, elinewidth=0.7, **line)
    if numeric:
        sweep_axis(axes, known[x].tolist())
    else:
        axes.set_xticks(range(len(categories)), categories)
        axes.set_xlim(-0.5, max(1, len(categories)) - 0.5)
    if wants_log_y(table["mean"], y) if log_y is None else log_y:
        log_axis(axes, "y")
    elif table.empty or table["mean"].min() >= 0:
        begin_at_0(axes, "y")
    axes.set(xlabel=label_of(x), ylabel=label_of(y))
    if by is not None and named:
        _name_curves(axes, shown)
    return axes


@styled
def bars(
    runs: pd.DataFrame,
    x: str,
    by: str | None = None,
    y: str | None = None,
    *,
    ax: Axes | None = None,
    looks: Mapping[str, Look] | None = None,
    room: str | None = None,
    named: bool = True,
) -> Axes:
    """Draw a measure's mean as horizontal bars by category, with 95 % intervals and numbers.

    >>> plots.bars(runs, x="way")
    >>> plots.bars(runs, x="environment", by="way", y="completion_s")

    Args:
        runs: as of `curves`, with `y` and `looks`.
        x: the categories from top to bottom; without `by` in the order of ways.
        by: the ways within each category; None: a bar a category.
        y: the measure.
        ax: drawn on; None: a new figure, as high as the bars need (`bars_inches`).
        looks: of the ways.
        room: a column whose mean is drawn as a frame around the bar: what the legs could carry.
        named: whether a legend has the names of the ways.

    Raises:
        ColumnError: a column is not there.
    """
    check_columns(runs, x, by, y, room)
    shown, y = looks_of(runs, by or x, looks), y or main_measure(runs, [x])
    axes, rows = theme.axes_or_new(ax, bars_inches(runs, x, by)), _rows(runs, x, by, shown)
    if room is not None:
        frames = rows.merge(_category_means(runs, x, by, room), "left", ["x", "way"])
        frame: dict[str, Any] = {"facecolor": "none", "edgecolor": "0.55", "linewidth": 0.6}
        axes.barh(frames["at"], frames["mean"], FRAME_BARS, **frame)
    _draw_bars(axes, rows.merge(_category_means(runs, x, by, y), "left", ["x", "way"]), shown)
    middles = rows.groupby("x", sort=False)["at"].mean()
    axes.set_yticks(middles, middles.index)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set(xlabel=label_of(y), ylim=(_height(rows) - 0.5, -0.5 - GAP_BARS / 2))
    begin_at_0(axes, "x")
    if by is not None:
        axes.set_ylabel(label_of(x))
        if named:
            legend(axes, handles_of(axes))
    return axes


def bars_inches(runs: pd.DataFrame, x: str, by: str | None = None) -> float:
    """Return the height that bars of these runs need, with the legend of several ways."""
    rows = _rows(runs, x, by, looks_of(runs, by or x))
    return BAR_INCHES * (_height(rows) + GAP_BARS / 2) + FRAME_INCHES + 0.2 * (by is not None)


def comparison(
    table: pd.DataFrame, *, by: str | None = None, y: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a comparison: goodput by way with 95 % intervals, in frames of what legs could carry.

    >>> plots.comparison(load_results("results/compare"))

    Args:
        table: a row a run, such as `load_results` returns or a campaign's table; with
            `capacity_share` there are frames.
        by: the column with the ways; None: `way`, else `transport`, `mode` and `variant` together.
        y: the measure; None: the main one of the workload.
        ax: drawn on; None: a new figure.

    Raises:
        ColumnError: a column is not there.
    """
    if by is None and "way" not in table:
        check_columns(table, "transport", "mode")
        parts = table.reindex(columns=["transport", "mode", "variant"]).fillna("").astype(str)
        table = table.assign(way=parts.agg(" ".join, axis=1).str.split().str.join(" "))
    by, y = by or "way", y or main_measure(table)
    if y != "goodput_mbps" or "capacity_share" not in table:
        return bars(table, by, y=y, ax=ax)
    carried = table[y].astype(float) / table["capacity_share"].astype(float)
    axes = bars(table.assign(carried_mbps=carried), by, y=y, ax=ax, room="carried_mbps")
    axes.set_xlabel(f"{axes.get_xlabel()}\nframe: what the legs could carry")
    return axes


def looks_of(
    runs: pd.DataFrame, by: str | None, given: Mapping[str, Look] | None = None
) -> dict[str, Look]:
    """Return the looks of a table's ways; of one curve without a name, that of DC."""
    if by is None:
        return {"": theme.looks(["DC"])["DC"]}
    own = theme.looks(way_names(runs[by]))
    return {name: (given or {}).get(name, look) for name, look in own.items()}


def way_means(runs: pd.DataFrame, x: str, by: str | None, y: str) -> pd.DataFrame:
    """Return `statistics.means` by `x` and `way`; of a measure that no run has, no row."""
    way = way_names(runs[by]) if by else ""
    table = pd.DataFrame({"x": runs[x], "way": way, "y": runs.get(y, np.nan)}, index=runs.index)
    return statistics.means(table[statistics.ok(runs)], ["x", "way"], "y")


def wants_log_y(means: pd.Series[Any], y: str) -> bool:
    """Return whether a measure is a time over orders of magnitude."""
    least, most = means.min(), means.max()
    return y.endswith(("_s", "_ms")) and bool(least > 0 and most > ORDERS * least)


def _name_curves(axes: Axes, shown: Mapping[str, Look]) -> None:
    """Write the names of the curves that were drawn beside their ends, or above the axes."""
    drawn = {str(curve.get_label()): curve
             for curve in axes.containers if isinstance(curve, ErrorbarContainer)}  # fmt: skip
    if len(drawn) > MOST_NAMES:
        legend(axes, drawn)
    elif drawn:
        ends = {name: np.ravel(curve.lines[0].get_ydata())[-1] for name, curve in drawn.items()}
        name_ends(axes, {name: (float(end), shown[name].colour) for name, end in ends.items()})


def _category(runs: pd.DataFrame, x: str, by: str | None) -> pd.Series[str]:
    """Return the category of each run; without ways within it, it is its own way."""
    return runs[x].map(value_name) if by else way_names(runs[x])


def _category_means(runs: pd.DataFrame, x: str, by: str | None, y: str) -> pd.DataFrame:
    return way_means(runs.assign(_category=_category(runs, x, by)), "_category", by or x, y)


def _rows(runs: pd.DataFrame, x: str, by: str | None, ways: Iterable[str]) -> pd.DataFrame:
    """Return a row for each pair of category `x` and `way` that has runs, with its place `at`."""
    pairs = {"x": _category(runs, x, by), "way": way_names(runs[by or x])}
    rows = pd.DataFrame(pairs).drop_duplicates()
    rows["group"] = pd.factorize(rows["x"])[0]
    rows = rows.set_index("way").loc[[*ways]].reset_index()
    rows = rows.sort_values("group", kind="stable") if by else rows.assign(group=range(len(rows)))
    return rows.assign(at=np.arange(len(rows)) + GAP_BARS * rows["group"])


def _height(rows: pd.DataFrame) -> float:
    """Return where the last bar ends with half a gap, in bars."""
    return float(rows["at"].max() + 1 + GAP_BARS / 2) if len(rows) else 1.0


def _draw_bars(axes: Axes, rows: pd.DataFrame, shown: Mapping[str, Look]) -> None:
    """Draw bars with their intervals, which one run has not, and their numbers beyond these."""
    looks, reach = [shown[way] for way in rows["way"]], rows["high"] - rows["mean"]
    # White hatches are of what has hollow markers, so that bars can be told apart in grey.
    hatches: Any = ["////" if look.hollow else "" for look in looks]
    face: Any = {"color": [look.colour for look in looks], "edgecolor": "white", "linewidth": 0}
    axes.barh(rows["at"], rows["mean"], THICK_BARS, label=[*rows["way"]], hatch=hatches, **face)
    line: dict[str, Any] = {"fmt": "none", "ecolor": "#111111", "elinewidth": 0.8}
    known = reach.notna()
    axes.errorbar(rows["mean"][known], rows["at"][known], xerr=reach[known], **line)
    beyond: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
    for place, mean, end in zip(rows["at"], rows["mean"], reach.fillna(0.0), strict=True):
        if np.isfinite(mean):
            axes.annotate(significant(mean), (mean + end, place), **beyond)
        else:  # no run is ok, or has the measure
            axes.annotate("none", (0, place), color="0.5", **beyond)
