"""Means of a measure with their 95 % intervals: over a factor, by category, and of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.patches import Patch

from minitopo_dc import statistics
from minitopo_dc.numbers import significant
from minitopo_dc.plots import theme
from minitopo_dc.plots.labels import (
    is_number,
    label_ends,
    label_of,
    legend_above,
    log_axis,
    name_ticks,
    value_name,
    wants_log,
    way_names,
)
from minitopo_dc.plots.measure import check_columns, main_measure
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
    log_x: bool | None = None,
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
        log_x: whether x is logarithmic; None: if its values are better apart so.
        log_y: whether y is; None: if it is a time over orders of magnitude, else it begins at 0.
        named: whether the curves' names stand beside their ends; of many, in a legend.

    Raises:
        ColumnError: a column is not there.
    """
    check_columns(runs, x, by, y)
    y, axes, numeric = y or main_measure(runs, [x]), theme.axes_or_new(ax), is_number(runs[x])
    table, places = _mean_table(runs, x, by, y), _places(runs[x], numeric=numeric)
    shown = looks_of(runs, by, looks)
    for number, (way, look) in enumerate(shown.items()):
        shift = 0.0 if numeric else DODGE * ((number + 0.5) / len(shown) - 0.5)
        curve = table[table["way"] == way]
        at = curve["x"].map({name: place + shift for place, name in places.items()})
        _errorbar(axes, curve.assign(at=at).sort_values("at"), look, joined=numeric)
    _set_x(axes, places, numeric=numeric, log=log_x)
    _set_y(axes, table, y, log_y)
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
    groups = _groups(runs, x, by, list(shown))
    middles, height = _rows_of(groups)
    axes = theme.axes_or_new(ax, bars_inches(runs, x, by))
    for measure in filter(None, (room, y)):
        table = _mean_table(runs, x, by or x, measure).set_index(["x", "way"])
        for way, look in shown.items():
            places = {
                middles[name] + ways.index(way) - (len(ways) - 1) / 2: (name, way)
                for name, ways in groups.items()
                if way in ways
            }
            rows = table.reindex(list(places.values()))
            draw: Any = _frame if measure == room else _bar
            draw(axes, np.array([*places]), rows.set_axis([way] * len(rows)), look)
    axes.set_yticks(list(middles.values()), list(middles))
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set(xlabel=label_of(y), ylim=(height, 0))
    _begin_at_0(axes, "x")
    if by is not None:
        axes.set_ylabel(label_of(x))
        if named:
            legend_above(axes, [_patch(look) for look in shown.values()], list(shown))
    return axes


def bars_inches(runs: pd.DataFrame, x: str, by: str | None = None) -> float:
    """Return the height that bars of these runs need, with the legend of several ways."""
    _, height = _rows_of(_groups(runs, x, by, list(looks_of(runs, by or x))))
    return BAR_INCHES * height + FRAME_INCHES + 0.2 * (by is not None)


def _groups(
    runs: pd.DataFrame, x: str, by: str | None, ways: Sequence[str]
) -> dict[str, list[str]]:
    """Return the ways that each category has runs of, so that no bar is left out between others."""
    if by is None:
        return {way: [way] for way in ways}
    pairs = set(zip(runs[x].map(value_name), way_names(runs[by]), strict=True))
    categories = _places(runs[x]).values()
    return {name: [way for way in ways if (name, way) in pairs] for name in categories}


def _rows_of(groups: Mapping[str, Sequence[str]]) -> tuple[dict[str, float], float]:
    """Return the middle of each category and the height of all of them, in bars."""
    middles, end = {}, GAP_BARS / 2
    for name, ways in groups.items():
        middles[name] = end + len(ways) / 2
        end += len(ways) + GAP_BARS
    return middles, end - GAP_BARS / 2 if groups else 1.0


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
        table = table.assign(way=[" ".join(filter(None, row)) for row in parts.to_numpy()])
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


def _mean_table(runs: pd.DataFrame, x: str, by: str | None, y: str) -> pd.DataFrame:
    """Return `statistics.means` of the runs that count, by `x` and `way`, both as text.

    Where `by` is `x`, a category is its own way.
    """
    way = way_names(runs[by]) if by else pd.Series("", index=runs.index)
    values = {"x": way if by == x else runs[x].map(value_name), "way": way}
    table = pd.DataFrame(values | {"y": runs.get(y, np.nan)}, index=runs.index)
    return statistics.means(table[statistics.ok(runs)], ["x", "way"], "y")


def _places(values: pd.Series[Any], *, numeric: bool = False) -> dict[float, str]:
    """Return the names of a factor's values by their place, in the order of the axis."""
    if numeric:
        return {float(each): value_name(each) for each in sorted(values.dropna().unique().tolist())}
    names = dict.fromkeys(values.map(value_name))
    return {float(place): name for place, name in enumerate(names)}


def _errorbar(axes: Axes, curve: pd.DataFrame, look: Look, *, joined: bool) -> None:
    if len(curve):
        reach = curve["high"] - curve["mean"]
        line = look.line | ({} if joined else {"linestyle": ""})
        line |= {"label": str(curve["way"].iloc[0]) or "_mean"}
        axes.errorbar(curve["at"], curve["mean"], reach, capsize=1.8, elinewidth=0.7, **line)


def _set_x(axes: Axes, places: Mapping[float, str], *, numeric: bool, log: bool | None) -> None:
    log = numeric and (wants_log(places) if log is None else log)
    if log:
        log_axis(axes, "x")
    if not numeric:
        axes.set_xlim(-0.5, max(1, len(places)) - 0.5)
    name_ticks(axes, places, log=log)


def wants_log_y(means: pd.Series[Any], y: str) -> bool:
    """Return whether a measure is a time over orders of magnitude."""
    least, most = means.min(), means.max()
    return y.endswith(("_s", "_ms")) and bool(least > 0 and most > ORDERS * least)


def _set_y(axes: Axes, table: pd.DataFrame, y: str, log: bool | None) -> None:
    """Begin an axis at 0, unless it is logarithmic or has values below."""
    if wants_log_y(table["mean"], y) if log is None else log:
        log_axis(axes, "y")
    elif table.empty or table["mean"].min() >= 0:
        _begin_at_0(axes, "y")


def _begin_at_0(axes: Axes, which: Literal["x", "y"]) -> None:
    """Let an axis begin at 0 and end where its values do, also those of axes that share it."""
    shared = axes.get_shared_x_axes() if which == "x" else axes.get_shared_y_axes()
    if len(shared.get_siblings(axes)) > 1:
        axes.autoscale(axis=which)
    axes.set(**{f"{which}lim": (0, None)})


def _name_curves(axes: Axes, shown: Mapping[str, Look]) -> None:
    """Write the names of the curves that were drawn beside their ends, or above the axes."""
    drawn = {str(each.get_label()): each
             for each in axes.containers if isinstance(each, ErrorbarContainer)}  # fmt: skip
    if len(drawn) > MOST_NAMES:
        legend_above(axes, list(drawn.values()), list(drawn))
        return
    lines = {name: np.asarray(each.lines[0].get_ydata()) for name, each in drawn.items()}
    label_ends(axes, {name: (float(y[-1]), shown[name].colour) for name, y in lines.items()})


def _patch(look: Look) -> Patch:
    return Patch(facecolor=look.colour, **_hatch(look))


def _hatch(look: Look) -> dict[str, Any]:
    """Return white hatches for what has hollow markers, so that bars can be told apart in grey."""
    return {"hatch": "////", "edgecolor": "white", "linewidth": 0} if look.hollow else {}


def _frame(axes: Axes, places: Any, rows: pd.DataFrame, _look: Look) -> None:
    face: dict[str, Any] = {"facecolor": "none", "edgecolor": "0.55", "linewidth": 0.6}
    axes.barh(places, rows["mean"], FRAME_BARS, label="_room", **face)


def _bar(axes: Axes, places: Any, rows: pd.DataFrame, look: Look) -> None:
    """Draw bars with their intervals, which one run has not, and their numbers beyond these."""
    known, reach = rows["high"].notna().to_numpy(), rows["high"] - rows["mean"]
    line: dict[str, Any] = {"fmt": "none", "ecolor": "#111111", "elinewidth": 0.8, "capsize": 1.8}
    name = next(iter(rows.index), "_none")
    axes.barh(places, rows["mean"], THICK_BARS, label=name, color=look.colour, **_hatch(look))
    axes.errorbar(rows["mean"][known], places[known], xerr=reach[known], **line)
    beyond: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
    for place, mean, end in zip(places, rows["mean"], reach.fillna(0.0), strict=True):
        if np.isfinite(mean):
            axes.annotate(significant(mean), (mean + end, place), **beyond)
        else:  # no run is ok, or has the measure
            axes.annotate("none", (0, place), color="0.5", **beyond)
