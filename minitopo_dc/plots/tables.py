"""Figures of a table of runs: means over a factor or by category, cumulated shares, maps.

Means have Student's 95 % intervals over the runs that count: those whose `status` is `ok`, with a
finite value. All functions share these arguments, and raise InputError for a missing column:

- `runs`: a row a run, or a point of a design;
- `by`: the column that tells ways apart; None: all are one;
- the measure (`y`, of a map `z`): None is the main one of the runs' workload;
- `ax`: drawn on; None: a new figure of a column's width;
- `looks`: by the name of a way; None: as `plots.looks` says;
- `level`: where the measure breaks even, e.g. 1 for a ratio.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import CenteredNorm, LogNorm, Normalize
from matplotlib.ticker import Locator, LogLocator, MaxNLocator, NullLocator

from minitopo_dc import statistics
from minitopo_dc.fields import Direction
from minitopo_dc.numbers import significant
from minitopo_dc.plots import theme
from minitopo_dc.plots.theme import Look, style
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.measures.account import CAUSES, packet_account
from minitopo_dc.results.tables.runs import (
    check_columns,
    is_number,
    label_of,
    main_measure,
    value_name,
    way_names,
)

Looks = Mapping[str, Look]
MOST_CELLS = 12
"""The most values of a factor whose map has a cell, with its number, for each."""
WIDE = 20.0
"""The ratio of most values to the least from which on an axis is logarithmic."""
BOUND = "bound_mbps"
BOUND_LINE: Any = {"color": "0.55", "linewidth": 1.0, "zorder": 0.95}
LEAST_TICKS = 3
"""Of a bar of colours: two do not say whether it is logarithmic."""
LEAST_GAP = 0.08
"""The part of an axis between two swept values from which on there is room for a number at each."""
BAR_INCHES, FRAME_INCHES, GAP_BARS = 0.17, 0.6, 0.7
"""The height of a bar with its space, of what is around all, and of gaps between categories."""


@style()
def curves(
    runs: pd.DataFrame,
    x: str,
    by: str | None = None,
    y: str | None = None,
    *,
    ax: Axes | None = None,
    looks: Looks | None = None,
) -> Axes:
    """Draw a measure's mean over a factor, a curve for each way, with 95 % intervals over runs.

    >>> axes = plots.curves(runs, x="delay_ms", by="way")
    >>> axes.set_title("A second leg that is far away")

    The axis of times over orders of magnitude is logarithmic. A factor that has no numbers has
    `bars`.
    """
    check_columns(runs, x, by, y)
    if not is_number(runs[x]):
        return bars(runs, x, by, y, ax=ax, looks=looks)
    y, axes = y or main_measure(runs, [x]), theme.axes_or_new(ax)
    table = _means(runs, runs[x].astype(float), by, y).dropna(subset="x").sort_values("x")
    for way, look in _looks_of(_ways(runs, by), looks).items():
        curve = table[table["way"] == way]
        if len(curve):
            line = look.line | {"elinewidth": 0.7, "label": way or "_mean"}
            axes.errorbar(curve["x"], curve["mean"], curve["reach"], **line)
    if y == "goodput_mbps":
        bounds = _means(runs, runs[x].astype(float), None, BOUND).dropna(subset=["x", "mean"])
        axes.plot(bounds["x"], bounds["mean"], label="bound" if len(bounds) else "", **BOUND_LINE)
    _sweep_axis(axes, np.unique(runs[x].dropna()))
    if y.endswith(("_s", "_ms")):
        _log_if_wide(axes, "y", table["mean"])
    if axes.get_yscale() == "linear" and not table["mean"].min() < 0:
        axes.autoscale(axis="y")
        axes.set_ylim(bottom=0)
    axes.set(xlabel=label_of(x), ylabel=label_of(y))
    if by is not None:
        theme.legend(axes)
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
) -> Axes:
    """Draw a measure's mean as horizontal bars by category, with 95 % intervals and numbers.

    >>> plots.bars(runs, x="way")
    >>> plots.bars(runs, x="environment", by="way", y="completion_s")

    The categories `x` are from top to bottom; without `by` they are ways, in the order of these. A
    new figure is as high as the bars need.
    """
    check_columns(runs, x, by, y)
    y, axes = y or main_measure(runs, [x]), theme.axes_or_new(ax)
    rows = _bar_rows(runs, x, by, y)
    for way, look in _looks_of(_ways(runs, by or x), looks).items():
        _draw_bars(axes, rows[rows["way"] == way], look, way if by else "")
    middles = rows.groupby("x", sort=False)["at"].mean()
    axes.set_yticks(middles, [*middles.index])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    beyond = 0.5 + GAP_BARS / 2
    axes.set(xlabel=label_of(y), ylim=(rows["at"].max() + beyond if len(rows) else 1, -beyond))
    axes.autoscale(axis="x")
    axes.set_xlim(left=0)
    if by is not None:
        axes.set_ylabel(label_of(x))
        theme.legend(axes)
    if ax is None:
        fit_bars(axes.get_figure(root=True))
    return axes


def fit_bars(figure: Any, rows: int = 1) -> None:
    """Make a figure with some rows of axes with bars as high as the bars need."""
    most = max(np.ptp(axes.get_ylim()) for axes in figure.axes)
    legend = sum(legend.get_window_extent().height for legend in figure.legends) / figure.dpi
    figure.set_figheight(rows * (BAR_INCHES * most + FRAME_INCHES) + legend)


@style()
def comparison(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw a comparison: goodput by way with 95 % intervals, and a grey line at the bound.

    >>> plots.comparison(dc.load("results/compare"))

    The ways are those of the column `way`, else of all labels together. The line is there if the
    table has `bound_mbps`.
    """
    if "way" not in table:
        labels = table.attrs.get("labels") or ["way"]
        check_columns(table, *labels)
        table = table.assign(way=table[labels].map(value_name).agg(" ".join, axis=1))
    y = main_measure(table)
    axes = bars(table, "way", y=y, ax=ax)
    bound = _values(table, BOUND).mean()
    if y == "goodput_mbps" and np.isfinite(bound):
        axes.autoscale(axis="x")
        axes.axvline(bound, **BOUND_LINE)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"{axes.get_xlabel()}\ngrey line: no way can be faster")
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
    values, ways = _values(runs, y), _ways(runs, by)
    for way, look in _looks_of(ways, looks).items():
        places = values[ways == way].dropna()
        if len(places):
            label = f"{way} (n = {len(places)})"
            axes.ecdf(places, label=label, color=look.colour, linestyle=look.dash)
    _log_if_wide(axes, "x", values)
    if level is not None:
        axes.axvline(level, color="0.4", linewidth=0.8, zorder=0.9)
    axes.set(xlabel=label_of(y), ylabel="cumulated share", ylim=(0, 1.01))
    if by is not None:
        theme.legend(axes)
    return axes


@style()
def packets(
    runs: Mapping[str, Path | str], *, direction: Direction | None = None, ax: Axes | None = None
) -> Axes:
    """Draw where packets were lost: the share of those offered, summed up along a packet's way.

    >>> plots.packets({"DC": "results/dc", "MP-QUIC": "results/mpquic"})

    All places of loss have a tick, from where a packet begins down to where it arrives, and a line
    has a marker where its packets were lost. A copy that is lost counts, too. `packet_account` has
    the numbers, and its `sentence` all of them.

    Args:
        runs: directories of runs that are ok, by their ways.
        direction: of the packets; None: the first one that a run's workload loads.
        ax: drawn on; None: a new figure of a page's width.

    Raises:
        ResultError: a summary of a run is missing or broken.
    """
    axes = ax or theme.grid_of(theme.new_figure(theme.PAGE_INCHES, 3.2))[0, 0]
    places = np.arange(len(CAUSES))
    ends = np.add.outer(places, (-0.5, 0, 0.5)).ravel()  # of a place; its marker is in the middle
    for way, look in theme.looks(runs).items():
        run = Path(runs[way])
        account = packet_account(run, direction or load_as_run(run).loads[0])
        lost = np.array([account.losses[cause] for cause in CAUSES])
        shares = np.repeat(100 * np.cumsum(lost) / max(1, account.offered), 3)
        marked = (3 * np.flatnonzero(lost) + 1).tolist()
        axes.plot(shares, ends, label=way, markevery=marked, **look.line)
    axes.set_yticks(places, [cause.words for cause in CAUSES.values()])
    axes.set(ylim=(len(CAUSES) - 0.5, -0.5), xlim=(0, None))
    axes.set_xlabel("packets lost up to here (%)")
    theme.legend(axes)
    return axes


@style()
def map(
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
        bar.ax.yaxis.set_minor_locator(NullLocator())
        ticks = _bar_ticks(*colours.get_clim(), is_log=isinstance(colours.norm, LogNorm))
        bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    return axes


def _ways(runs: pd.DataFrame, by: str | None) -> pd.Series[str]:
    return way_names(runs[by]) if by else pd.Series("", index=runs.index)


def _looks_of(ways: pd.Series[str], given: Looks | None) -> Looks:
    """Return the looks of ways in their order; that without a name looks like DC."""
    own = theme.looks(ways) | {"": theme.looks(["DC"])["DC"]} | dict(given or {})
    return {name: own[name] for name in theme.ordered(ways)}


def _values(runs: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Return a measure's values; NaN of runs that do not count, or have none that is finite."""
    values = pd.Series(runs.get(name, np.nan), index=runs.index).astype(float)
    return values.where(np.isfinite(values) & statistics.ok(runs))


def _means(runs: pd.DataFrame, x: pd.Series[Any], by: str | None, y: str) -> pd.DataFrame:
    """Return a measure's `mean` by `x` and `way`, and the `reach` of its interval either way."""
    table = pd.DataFrame({"x": x, "way": _ways(runs, by), "y": _values(runs, y)})
    means = statistics.means(table, ["x", "way"], "y")
    return means.assign(reach=means["high"] - means["mean"])


def _bar_rows(runs: pd.DataFrame, x: str, by: str | None, y: str) -> pd.DataFrame:
    """Return a row for each pair of category `x` and `way` that has runs: its place, its mean."""
    category = runs[x].map(value_name) if by else way_names(runs[x])
    rows = pd.DataFrame({"x": category, "way": way_names(runs[by or x])}).drop_duplicates()
    order = rows["way"].map(theme.ordered(rows["way"]).index)
    rows = rows.assign(group=pd.factorize(rows["x"])[0] if by else order, order=order)
    rows = rows.sort_values(["group", "order"])
    rows["at"] = np.arange(len(rows)) + GAP_BARS * rows["group"].astype(float)
    return rows.merge(_means(runs, category, by or x, y), "left", ["x", "way"])


def _draw_bars(axes: Axes, rows: pd.DataFrame, look: Look, label: str) -> None:
    # White hatches are of what has hollow markers, so that bars can be told apart in grey.
    face: Any = {"color": look.colour, "edgecolor": "white", "linewidth": 0, "label": label}
    line = {"ecolor": theme.INK, "elinewidth": 0.8, "capsize": 0}  # nothing is seen of none
    reach, hatch = rows["reach"].fillna(0), "////" if look.hollow else ""
    long = axes.barh(rows["at"], rows["mean"].fillna(0), 0.92, xerr=reach, hatch=hatch,
                     error_kw=line, **face)  # fmt: skip
    # Without a mean no run is ok, or has the measure.
    texts = ["none" if np.isnan(mean) else significant(mean) for mean in rows["mean"]]
    axes.bar_label(long, texts, padding=4)


def _sweep_axis(axes: Axes, places: Any) -> None:
    """Give x a scale that tells swept values apart, and ticks at them if there is room."""
    _log_if_wide(axes, "x", pd.Series(places))
    shown = np.log(places) if axes.get_xscale() == "log" else places
    if len(places) < 2 or np.diff(shown).min() > LEAST_GAP * np.ptp(shown):
        axes.set_xticks(places, [value_name(place) for place in places.tolist()])
        axes.xaxis.set_minor_locator(NullLocator())


def _log_if_wide(axes: Axes, which: Literal["x", "y"], values: pd.Series[Any]) -> None:
    """Make an axis logarithmic if values are positive, and most are orders of magnitude apart."""
    least = values.min()
    if values.nunique() > 2 and least > 0 and values.quantile(0.95) > WIDE * least:
        axes.set(**{f"{which}scale": "log"})
        axes.autoscale(axis=which)
        axis = axes.xaxis if which == "x" else axes.yaxis
        locator = LogLocator(subs=(1, 2, 5), numticks=12)
        axis.set(major_locator=locator, major_formatter="{x:g}", minor_formatter="")


def _bar_ticks(low: float | None, high: float | None, *, is_log: bool) -> list[float]:
    """Return at least three values at which a bar of colours has labels."""
    low, high = float(low or 0), float(high or 0)
    first = [LogLocator(subs=(1, 2, 5), numticks=12)] if is_log else []
    locators: list[Locator] = [*first, MaxNLocator(5, min_n_ticks=LEAST_TICKS)]
    for locator in locators:
        ticks = [float(tick) for tick in locator.tick_values(low, high) if low <= tick <= high]
        if len(ticks) >= LEAST_TICKS:
            return ticks
    return [low, (low + high) / 2, high]


def _scale(
    values: pd.Series[Any], level: float | None, limits: tuple[float, float] | None
) -> ScalarMappable:
    low, high = limits or ((values.min(), values.max()) if len(values) else (0.0, 1.0))
    if low == high:  # one value has colours beside it, or its bar would have no length
        low, high = low - 0.05 * abs(low or 1), high + 0.05 * abs(high or 1)
    if level is None:
        return ScalarMappable(Normalize(low, high), theme.RISING)
    if level > 0 and low > 0:
        most = max(high / level, level / low, 1.01)
        return ScalarMappable(LogNorm(level / most, level * most), theme.DIVERGING)
    return ScalarMappable(
        CenteredNorm(level, max(high - level, level - low, 1e-9)), theme.DIVERGING
    )


def _cells(axes: Axes, grid: pd.DataFrame, colours: ScalarMappable) -> None:
    look: Any = {"cmap": colours.cmap, "norm": colours.norm, "edgecolors": "white"}
    values = grid.to_numpy(dtype=float)
    edges = (np.arange(count + 1) - 0.5 for count in values.shape[::-1])
    axes.pcolormesh(*edges, np.ma.masked_invalid(values), linewidth=0.6, **look)
    for row, column in np.argwhere(np.isfinite(values)):
        value = values[row, column]
        light = np.dot(colours.to_rgba(value)[:3], (0.299, 0.587, 0.114))  # luma, ITU-R BT.601
        ink: Any = {"color": "white" if light < 0.5 else "black", "ha": "center", "va": "center"}
        axes.text(column, row, significant(value, 2), **ink)
    axes.set_xticks(range(grid.shape[1]), grid.columns.map(value_name))
    axes.set_yticks(range(grid.shape[0]), grid.index.map(value_name))
    axes.grid(visible=False)


def _points(axes: Axes, known: pd.DataFrame, colours: ScalarMappable, level: float | None) -> None:
    above = known["z"] >= (-np.inf if level is None else level)
    look: Any = {"cmap": colours.cmap, "norm": colours.norm, "s": 14, "edgecolors": "0.3"}
    for marker, rows in (("o" if level is None else "^", known[above]), ("v", known[~above])):
        axes.scatter(rows["x"], rows["y"], c=rows["z"], marker=marker, linewidths=0.3, **look)
    _log_if_wide(axes, "x", known["x"].astype(float))
    _log_if_wide(axes, "y", known["y"].astype(float))
