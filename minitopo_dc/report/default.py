"""What a report has of an experiment for which nothing was declared: a figure and its means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from minitopo_dc import statistics
from minitopo_dc.numbers import with_reach
from minitopo_dc.plots import bars, cdf, curves, looks, main_measure, ordered, style
from minitopo_dc.plots import map as factor_map
from minitopo_dc.plots.axes import handles_of, legend
from minitopo_dc.plots.labels import (
    LEG_BYTES,
    MINOR,
    is_number,
    label_of,
    measures_of,
    setting_of,
    value_name,
)
from minitopo_dc.plots.tables import bars_inches, wants_log_y
from minitopo_dc.plots.theme import OTHER, PAGE_INCHES, grid_of, kind_of

WAYS = ("way", "configuration", "side", "variant", "mode", "transport")
"""Names of labels that tell ways apart; else it is the one whose values sound like ways."""
MOST_PANELS, MOST_TITLES, MOST_BARS = 6, 3, 60
"""The most panels, labels that make them (points of a design have more), and bars."""
SINGLE_INCHES, ROW_INCHES, MAP_INCHES, TITLE_INCHES = 4.6, 2.2, 2.6, 0.15
"""The width of one panel on the page (a column of paper with room for names), and heights."""
MEASURES = 5
"""The most measures of a table of means."""
FIRST = ("completion_s", "capacity_share")
"""The measures that are beside the main one before all others."""
MEANS = "Mean over seeds; bars: 95 % intervals (Student's t)."
SINGLE = "One run each."
POINTS = "Each step is a run: too many combinations for a curve of each."
CELLS = "Colours and numbers: mean over seeds."


def draw(runs: pd.DataFrame, labels: Sequence[str], known: pd.DataFrame) -> tuple[Figure, str]:
    """Return the figure of an experiment's main measure over what varies, and its caption.

    A number is the x axis, what tells ways apart their curves, and all else makes panels. Two
    numbers with too many values for that are a map a way, and more of them cumulated shares.

    Args:
        runs: those of the experiment.
        labels: its labels, at least one.
        known: the runs of all experiments, whose ways have one look.
    """
    labels = varying(runs, labels) or list(labels[:1])
    numbers = [name for name in labels if is_number(runs[name])]
    numbers.sort(key=lambda name: -runs[name].nunique())
    texts = sorted(set(labels) - set(numbers), key=lambda name: _rank(runs, name))
    by, x = texts[0] if texts else None, numbers[0] if numbers else texts[:2][-1]
    others = [name for name in labels if name not in (x, by)]
    panels = _joined(runs, others)
    few = panels.nunique() <= MOST_PANELS and len(others) <= MOST_TITLES
    measure = main_measure(runs, labels)
    look = {"y": measure, "by": by, "looks": looks(known[by].map(value_name)) if by else None}
    caption = MEANS if runs.duplicated(labels).any() else SINGLE
    if numbers and few:
        log = wants_log_y(_means(runs, labels, measure), measure)
        return _grid(runs, panels, curves, x=x, log_y=log, **look), caption
    look["by"] = by if by != x else None
    factors = [x] if by in (x, None) else [x, by]
    bar_count = len(runs[factors].map(value_name).drop_duplicates())
    if few and bar_count <= MOST_BARS:
        return _grid(runs, panels, bars, x=x, **look), caption
    ways = _joined(runs, texts)
    if len(numbers) == 2 and ways.nunique() <= MOST_PANELS:
        means = _means(runs, labels, measure)
        limits = (means.min(), means.max()) if len(means) else None
        return _grid(runs, ways, factor_map, x=x, y=numbers[1], z=measure, limits=limits), CELLS
    return _grid(runs, _joined(runs, []), cdf, **look), POINTS


def varying(runs: pd.DataFrame, labels: Sequence[str]) -> list[str]:
    """Return the labels that have several values."""
    return [name for name in labels if runs[name].map(value_name).nunique() > 1]


def mean_tables(runs: pd.DataFrame, labels: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the means of an experiment's cases, and the same as texts for a page.

    Of each measure there are `MEASURE`, `MEASURE_low`, `MEASURE_high` and, of the main one, `n`.
    The page's table has the first measures, each with the half of its 95 % interval.
    """
    main = main_measure(runs, labels)
    known = sorted(measures_of(runs, labels), key=lambda name: (name != main, _weight(name)))
    numbers = runs[list(labels)].drop_duplicates().reset_index(drop=True)
    shown = numbers.map(value_name)
    if main not in known:
        return numbers, shown
    case = runs.groupby(list(labels), sort=False, dropna=False).ngroup()
    values = runs[known].where(statistics.ok(runs)).astype(float).assign(_case=case)
    table = statistics.means(values.melt("_case", var_name="_of"), ["_case", "_of"], "value")
    columns = pd.MultiIndex.from_product([["n", "mean", "low", "high"], known])
    wide = table.pivot(index="_case", columns="_of").reindex(numbers.index, columns=columns)
    numbers["n"] = shown["n"] = wide["n"][main].fillna(0).astype(int)
    for name in known:
        mean, low, high = (wide[part][name] for part in ("mean", "low", "high"))
        numbers = numbers.assign(**{name: mean, f"{name}_low": low, f"{name}_high": high})
    for name in known[:MEASURES]:
        label, unit = _head(name)
        means, reach = numbers[name] / unit, (numbers[f"{name}_high"] - numbers[name]) / unit
        shown[label] = list(map(with_reach, means, reach))
    return numbers, shown


def _rank(runs: pd.DataFrame, name: str) -> tuple[float, int]:
    """Return the place of a label: first the one that tells ways apart, then by its values."""
    values = runs[name].map(value_name).unique()
    share = sum(kind_of(value) is not OTHER for value in values) / max(1, len(values))
    return (WAYS.index(name) - len(WAYS) if name in WAYS else -share / 2), len(values)


def _joined(runs: pd.DataFrame, labels: Sequence[str]) -> pd.Series[str]:
    """Return a text for each run that names its values of some labels: `loss 0.1, cubic`."""
    columns = [[setting_of(name, value) for value in runs[name]] for name in labels]
    texts = map(", ".join, zip(*columns, strict=True)) if labels else [""] * len(runs)
    return pd.Series(list(texts), runs.index, dtype=object)


def _means(runs: pd.DataFrame, labels: Sequence[str], measure: str) -> pd.Series[Any]:
    """Return the mean of each case; none of a measure that no run has."""
    empty = pd.Series(dtype=float)
    return statistics.means(runs, labels, measure)["mean"] if measure in runs else empty


def _grid(runs: pd.DataFrame, panels: pd.Series[str], draw_on: Any, **chosen: Any) -> Figure:
    """Return a figure with a panel for each text in `panels`, and one legend of them all."""
    titles = list(panels.unique()) or [""]
    several, columns = len(titles) > 1, {1: 1, 2: 2, 4: 2}.get(len(titles), 3)
    rows, inches = -(-len(titles) // columns), MAP_INCHES if draw_on is factor_map else ROW_INCHES
    if draw_on is bars:
        inches = max(
            bars_inches(part, chosen["x"], chosen["by"]) for _, part in runs.groupby(panels)
        )
    if several and draw_on in (curves, bars):
        chosen["named"] = False
    size = PAGE_INCHES if several else SINGLE_INCHES, inches * rows + TITLE_INCHES * several
    with style():
        figure = Figure(figsize=size)
        shared = {"sharex": draw_on in (curves, bars), "sharey": draw_on is curves}
        grid = grid_of(figure, rows, columns, **shared)
        for axes, title in zip(grid.flat, titles, strict=False):
            draw_on(runs[panels == title], ax=axes, **chosen)
            axes.set_title(title)
            if draw_on is curves:
                axes.label_outer(remove_inner_ticks=False)
        for axes in grid.flat[len(titles) :]:
            axes.remove()
        handles = handles_of(*figure.axes)
        if several and len(handles) > 1:
            legend(figure, {name: handles[name] for name in ordered(handles)})
    return figure


def _weight(name: str) -> int:
    """Return the place of a measure in a table: those of the workload before the legs' bytes."""
    if name in MINOR:
        return 3 * (name not in FIRST)
    return 2 if name.startswith(LEG_BYTES) else 1


def _head(name: str) -> tuple[str, float]:
    """Return the head of a measure's column, and its unit in those of the measure."""
    if name.startswith(LEG_BYTES):
        return f"leg {name.removeprefix(LEG_BYTES)} delivered (MB)", 1e6
    return label_of(name), 1
