"""What a report has of an experiment for which nothing was declared: a figure and its means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from minitopo_dc import statistics
from minitopo_dc.numbers import significant
from minitopo_dc.plots import bars, cdf, curves, looks, main_measure
from minitopo_dc.plots import map as factor_map
from minitopo_dc.plots.factors import bars_inches, wants_log_y
from minitopo_dc.plots.labels import (
    is_number,
    label_of,
    legend_of,
    setting_of,
    value_name,
)
from minitopo_dc.plots.measure import LEG_BYTES, MINOR, measures_of
from minitopo_dc.plots.theme import OTHER, PAGE_INCHES, keep_style, kind_of, ordered, style

WAYS = ("way", "configuration", "side", "variant", "mode", "transport")
"""Names of labels that tell ways apart; else it is the one whose values sound like ways."""
MOST_PANELS, MOST_BARS = 6, 60
SINGLE_INCHES = 4.6
"""The width of one panel on the page: a column of paper with room for names."""
MEASURES = 5
"""The most measures of a table of means."""
FIRST = ("completion_s", "capacity_share")
"""The measures that are beside the main one before all others."""
CURVES = "Mean over seeds; bars: 95 % intervals (Student's t)."
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
    numbers = sorted((name for name in labels if is_number(runs[name])), key=_levels(runs))
    texts = sorted(set(labels) - set(numbers), key=lambda name: _rank(runs, name))
    by = texts[0] if texts else None
    x = numbers[0] if numbers else texts[:2][-1]
    panels = _joined(runs, [name for name in labels if name not in (x, by)])
    measure, ways = main_measure(runs, labels), _joined(runs, texts[:1])
    chosen: dict[str, Any] = {"looks": looks(known[by].map(value_name)) if by else None}
    few, repeated = panels.nunique() <= MOST_PANELS, runs.duplicated(labels).any()
    if few and numbers:
        log = wants_log_y(_means(runs, labels, measure), measure)
        chosen |= {"x": x, "by": by, "y": measure, "log_y": log}
        return _grid(runs, panels, curves, chosen), CURVES if repeated else SINGLE
    by = by if x != by else None
    if few and runs[x].nunique() * (ways.nunique() if by else 1) <= MOST_BARS:
        chosen |= {"x": x, "by": by, "y": measure}
        inches = max(bars_inches(rows, x, by) for _, rows in runs.groupby(panels))
        return _grid(runs, panels, bars, chosen, inches), CURVES if repeated else SINGLE
    if len(numbers) == 2 and len(texts) < 2 and ways.nunique() <= MOST_PANELS:
        means = _means(runs, labels, measure)
        limits = (means.min(), means.max()) if len(means) else None
        chosen = {"x": x, "y": numbers[1], "z": measure, "limits": limits}
        return _grid(runs, ways, factor_map, chosen, 2.6), CELLS
    return _grid(
        runs, ways * 0, cdf, chosen | {"y": measure, "by": texts[0] if texts else None}
    ), POINTS


def varying(runs: pd.DataFrame, labels: Sequence[str]) -> list[str]:
    """Return the labels that have several values."""
    return [name for name in labels if runs[name].map(value_name).nunique() > 1]


def _levels(runs: pd.DataFrame) -> Callable[[str], int]:
    return lambda name: -runs[name].nunique()


def _rank(runs: pd.DataFrame, name: str) -> tuple[float, int]:
    """Return the place of a label: first the one that tells ways apart, then by its values."""
    values = runs[name].map(value_name).unique()
    share = sum(kind_of(value) is not OTHER for value in values) / max(1, len(values))
    return (WAYS.index(name) - len(WAYS) if name in WAYS else -share / 2), len(values)


def _joined(runs: pd.DataFrame, labels: Sequence[str]) -> pd.Series[str]:
    """Return a text for each run that names its values of some labels: `loss 0.1, cubic`."""
    rows = (
        zip(*(runs[name].tolist() for name in labels), strict=True) if labels else [()] * len(runs)
    )
    texts = [", ".join(map(setting_of, labels, row)) for row in rows]
    return pd.Series(texts, runs.index, dtype=object)


def _means(runs: pd.DataFrame, labels: Sequence[str], measure: str) -> pd.Series[Any]:
    """Return the mean of each case; none of a measure that no run has."""
    empty = pd.Series(dtype=float)
    return statistics.means(runs, labels, measure)["mean"] if measure in runs else empty


def _grid(
    runs: pd.DataFrame, panels: pd.Series[str], draw_on: Any, chosen: Any, inches: float = 2.2
) -> Figure:
    """Return a figure with a panel for each text in `panels`, and a legend if curves need one.

    Panels share their axes if these are numbers, or have the same categories.
    """
    titles = list(panels.unique()) or [""]
    columns = 1 if len(titles) == 1 else 2 if len(titles) in (2, 4) else 3
    rows, several = -(-len(titles) // columns), columns > 1
    width = PAGE_INCHES if several else SINGLE_INCHES
    factors = [chosen.get(name) for name in ("x", "y" if draw_on is factor_map else "by")]
    share = draw_on is curves or (draw_on is not cdf and _are_alike(runs, panels, factors))
    more = {} if draw_on is factor_map or not several else {"named": False}
    with style():
        figure = Figure(figsize=(width, inches * rows + 0.15 * several))
        grid = keep_style(figure.subplots(rows, columns, squeeze=False, sharex=share, sharey=share))
        for axes, title in zip_longest(grid.flat, titles):
            if title is None:
                axes.remove()
                continue
            draw_on(runs[panels == title], ax=axes, **chosen, **more)
            axes.set_title(title)
            if share:
                axes.label_outer(remove_inner_ticks=False)
        if more:
            _legend(figure, grid)
    return figure


def _are_alike(runs: pd.DataFrame, panels: pd.Series[str], factors: Iterable[str | None]) -> bool:
    """Return whether all panels have the same values of some factors."""
    values = runs[list(filter(None, factors))].map(value_name).apply(tuple, axis=1)
    return bool(values.groupby(panels).apply(frozenset).nunique() <= 1)


def _legend(figure: Figure, grid: Any) -> None:
    found = {name: handle for axes in grid.flat if axes.figure is not None
             for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}  # fmt: skip
    if len(found) > 1:
        names = ordered(found)
        legend_of(figure, [found[name] for name in names], names)


def mean_tables(runs: pd.DataFrame, labels: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the means of an experiment's cases, and the same as texts for a page.

    Of each measure there are `MEASURE`, `MEASURE_low`, `MEASURE_high` and, of the main one, `n`.
    The page's table has the first measures, each with the half of its 95 % interval.
    """
    cases = runs[list(labels)].drop_duplicates().reset_index(drop=True)
    main, numbers, shown = main_measure(runs, labels), cases.copy(), cases.map(value_name)
    known = sorted(measures_of(runs, labels), key=lambda name: (name != main, _weight(name)))
    for place, name in enumerate(known if main in known else ()):
        found = cases.merge(statistics.means(runs, labels, name), "left", list(labels))
        if not place:
            numbers["n"] = shown["n"] = found["n"].fillna(0).astype(int)
        ends = {f"{name}_{end}": found[end] for end in ("low", "high")}
        numbers = numbers.assign(**{name: found["mean"], **ends})
        if place < MEASURES:
            label, unit = _head(name)
            reach = (found["high"] - found["low"]) / 2 / unit
            shown[label] = list(map(_with_reach, found["mean"] / unit, reach))
    return numbers, shown


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


def _with_reach(mean: float, reach: float) -> str:
    return significant(mean) + (f" ± {significant(reach, 2)}" if np.isfinite(reach) else "")
