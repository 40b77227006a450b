"""An experiment's answers in one picture: shares of points with intervals, and maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from minitopo_dc.analysis.figures.curves import COLOURS, DOTS_PER_INCH, PANEL_INCHES
from minitopo_dc.analysis.figures.panel import FONT
from minitopo_dc.analysis.figures.points import draw_map_on
from minitopo_dc.analysis.statistics import Proportion

MOST_COLUMNS = 2
WIDEST = 46
"""Characters of a title above a map."""


@dataclass(frozen=True)
class Map:
    """A measure over the plane of two factors."""

    title: str
    table: pd.DataFrame
    """Three columns: to the right, upwards, the measure; their names are the labels."""
    level: float
    """Where the verdict changes."""


def draw_answer(
    shares: Mapping[str, Mapping[float, Proportion]],
    limit: float,
    maps: Sequence[Map],
    *,
    less: bool = False,
) -> Figure:
    """Draw the shares of points in one panel, and a map in each other one.

    Args:
        shares: label: limit: share of the points that reach it.
        limit: the one that was asked for: a bar with its interval; the others are marks.
        maps: the first ones beside the bars.
        less: what reaches a limit is at most so much.
    """
    count = 1 + len(maps)
    columns = min(MOST_COLUMNS, count)
    rows = -(-count // columns)
    width, height = PANEL_INCHES
    figure = Figure(
        figsize=(columns * width, rows * height * 1.05), layout="constrained", dpi=DOTS_PER_INCH
    )
    FigureCanvasAgg(figure)
    places = list(figure.subplots(rows, columns, squeeze=False).flat)
    for unused in places[count:]:
        unused.remove()
    _draw_shares(places[0], shares, limit)
    side = "below" if less else "above"
    places[0].set_xlabel(f"share of the points at {limit:g} or {side}", fontsize=9, family=FONT)
    for axes, each in zip(places[1:], maps, strict=False):
        x, y, measure = (str(name) for name in each.table.columns)
        draw_map_on(axes, each.table, (x, y, measure), each.level, each.title[:WIDEST])
    return figure


def _draw_shares(
    axes: Axes, shares: Mapping[str, Mapping[float, Proportion]], limit: float
) -> None:
    labels = list(shares)[::-1]
    for place, label in enumerate(labels):
        at = shares[label][limit]
        axes.barh(place, at.share, height=0.55, color=COLOURS[0], alpha=0.75)
        reach = [[at.share - at.low], [at.high - at.share]]
        axes.errorbar(at.share, place, xerr=reach, color="0.2", capsize=2, linewidth=1)
        for number, (other, found) in enumerate(sorted(_others(shares[label], limit))):
            marker = "<>"[number % 2]
            named = f"limit {other:g}" if place == 0 else None
            axes.plot(found.share, place, marker, color=COLOURS[1], markersize=4, label=named)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xlim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, labelfontfamily=FONT)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, prop={"family": FONT, "size": 7}, loc="lower right")


def _others(shares: Mapping[float, Proportion], limit: float) -> list[tuple[float, Proportion]]:
    return [(other, found) for other, found in shares.items() if other != limit]
