"""The figure of an experiment for which nothing was declared: its main measure over what varies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from minitopo_dc import statistics
from minitopo_dc.plots import cdf, curves, looks, main_measure, style
from minitopo_dc.plots import map as factor_map
from minitopo_dc.plots.tables import fit_bars
from minitopo_dc.plots.theme import OTHER, PAGE_INCHES, grid_of, kind_of
from minitopo_dc.results.tables.columns import is_number, value_name, way_names

MOST_PANELS, MOST_TITLES, MOST_BARS = 6, 3, 60
"""The most panels, labels that make them (points of a design have more), and bars."""
SINGLE_INCHES, ROW_INCHES = 4.6, 2.5
"""The width of one panel on the page, and the height of a row of panels."""
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
    measure, others = main_measure(runs, labels), [name for name in labels if name not in (x, by)]
    panels, ways = _joined(runs, others), _joined(runs, texts)
    look = {"y": measure, "by": by, "looks": looks(known[by].map(value_name)) if by else None}
    few = panels.nunique() <= MOST_PANELS and len(others) <= MOST_TITLES
    bars = 0 if numbers else len(runs[[x, by]].map(value_name).drop_duplicates())
    if few and bars <= MOST_BARS:
        caption = MEANS if runs.duplicated(labels).any() else SINGLE
        look["by"] = by if by != x else None
        return _multiples(runs, panels, curves, x=x, **look), caption
    if len(numbers) == 2 and ways.nunique() <= MOST_PANELS and measure in runs:
        means = statistics.means(runs, labels, measure)["mean"]
        over = {"x": x, "y": numbers[1], "limits": (means.min(), means.max())}
        return _multiples(runs, ways, factor_map, z=measure, **over), CELLS
    return _multiples(runs, pd.Series("", runs.index), cdf, **look), POINTS


def varying(runs: pd.DataFrame, labels: Sequence[str]) -> list[str]:
    """Return the labels that have several values."""
    return [name for name in labels if runs[name].map(value_name).nunique() > 1]


def _rank(runs: pd.DataFrame, name: str) -> tuple[bool, float, int]:
    """Return the place of a label: `way` is first, then one whose values sound like ways."""
    values = runs[name].map(value_name).unique()
    share = sum(kind_of(value) is not OTHER for value in values) / max(1, len(values))
    return name != "way", -share, len(values)


def _joined(runs: pd.DataFrame, labels: Sequence[str]) -> pd.Series[str]:
    """Return a text for each run that names its values of some labels: `loss 0.1, cubic`."""
    columns = [way_names(runs[name]) for name in labels]
    texts = map(", ".join, zip(*columns, strict=True)) if labels else [""] * len(runs)
    return pd.Series(list(texts), runs.index, dtype=object)


def _multiples(
    runs: pd.DataFrame, panels: pd.Series[str], draw_on: Callable[..., Any], **chosen: Any
) -> Figure:
    """Return a figure with a panel for each text in `panels`, and one legend of them all."""
    titles = list(panels.unique()) or [""]
    columns = {1: 1, 2: 2, 4: 2}.get(len(titles), 3)
    rows, means = -(-len(titles) // columns), draw_on is curves
    lines = means and is_number(runs[chosen["x"]])
    width = PAGE_INCHES if len(titles) > 1 else SINGLE_INCHES
    with style():
        figure = Figure(figsize=(width, ROW_INCHES * rows))
        grid = grid_of(figure, rows, columns, sharex=means, sharey=lines)
        for axes, title in zip(grid.flat, titles, strict=False):
            draw_on(runs[panels == title], ax=axes, **chosen)
            axes.set_title(title)
            if lines:
                axes.label_outer(remove_inner_ticks=False)
        for axes in grid.flat[len(titles) :]:
            axes.remove()
        if means and not lines:
            fit_bars(figure, rows)
    return figure
