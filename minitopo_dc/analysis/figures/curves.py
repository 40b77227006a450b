"""Figures of a campaign: ours and theirs in one plot.

Rules of the figures:

* A colour is a curve. Ours is a full line with one marker per clock; theirs is broken, its circles
  are hollow.
* The points of a sample are not joined: what lies between them has not been measured.
* Error bars are sample standard deviations over repetitions.
* What is infinite, e.g. the time of a run without end, is not drawn.
* Measures that are not rates, e.g. Jain's index, have a panel of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from minitopo_dc.analysis.figures.panel import FONT

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Of Okabe and Ito (Color Universal Design)."""
MARKERS = ("o", "s", "^", "D")
EVENT_MARKERS = (".", "+", "x")
MISSING_HEIGHT = 0.02
"""Of the axes' height: where the crosses of the first line are."""
MARK_MARGIN = 0.4
"""Of the lines' height: room above them for the labels of marks."""
PANEL_INCHES = (5.6, 3.6)
SMALL_INCHES = (3.9, 2.4)
CHARACTERS_BELOW = 40
"""Of small text that fit side by side below a small panel."""
MOST_COLUMNS = 2
DOTS_PER_INCH = 130


@dataclass(frozen=True)
class Line:
    """Points of one curve from one source."""

    label: str
    colour: int
    """Curves of one colour are compared with each other."""
    theirs: bool
    points: pd.DataFrame
    """`x`, `mean`, `sd` (NaN where there is none)."""
    marker: int = 0
    joined: bool = True
    """Whether the curve between its points is known well enough for a line."""


@dataclass(frozen=True)
class Mark:
    """Something that happens at a moment."""

    x: float
    label: str
    colour: int


@dataclass(frozen=True)
class Panel:
    """Lines that share their axes, and marks among them."""

    title: str
    y_label: str
    lines: Sequence[Line]
    marks: Sequence[Mark] = ()


def draw_curves(panels: Sequence[Panel], x_label: str) -> Figure:
    """Means and standard deviations over a factor, a panel for each quantity."""
    figure, axes = _grid(len(panels), PANEL_INCHES)
    for place, panel in zip(axes, panels, strict=True):
        for line in panel.lines:
            _draw_line(place, line)
        _finish(place, panel.title, x_label, panel.y_label)
        place.set_ylim(bottom=0)
        if any(len(line.points) for line in panel.lines):
            place.legend(frameon=False, prop={"family": FONT, "size": 8})
    return figure


def draw_bars(panels: Sequence[Panel]) -> Figure:
    """A panel for each quantity, a bar for each cell; theirs beside ours is hatched.

    Panels of one label have one scale, so that they can be compared.
    """
    figure, axes = _grid(len(panels), SMALL_INCHES)
    for place, panel in zip(axes, panels, strict=True):
        _draw_bars(place, panel.lines)
        _finish(place, panel.title, "", panel.y_label)
    for label in {panel.y_label for panel in panels} - {""}:
        alike = [place for place in axes if place.get_ylabel() == label]
        top = max(place.get_ylim()[1] for place in alike)
        for place in alike:
            place.set_ylim(0, top)
    _legend(figure, axes)
    return figure


def draw_series(panels: Sequence[Panel], *, steps: bool = False) -> Figure:
    """Quantities over time, a panel for each cell, all with the same axes.

    A mark behind the last point is left out: it did not happen.
    """
    figure, axes = _grid(len(panels), SMALL_INCHES, shared=True)
    for place, panel in zip(axes, panels, strict=True):
        for line in panel.lines:
            where = "steps-post" if steps else "default"
            place.plot(
                line.points["x"],
                line.points["mean"],
                color=COLOURS[line.colour % len(COLOURS)],
                linewidth=1.1,
                drawstyle=where,
                label=line.label,
            )
        last = max((line.points["x"].max() for line in panel.lines), default=0.0)
        for mark in panel.marks:
            if mark.x <= last:
                _draw_mark(place, mark)
                place.margins(y=MARK_MARGIN)
        _finish(place, panel.title, "time (s)", panel.y_label)
    _legend(figure, axes)
    return figure


def draw_rows(panels: Sequence[Panel], x_label: str) -> Figure:
    """The rows of workloads, all panels with the same axes; a row without a value is a cross.

    The y axis is logarithmic: delays differ by orders of magnitude.
    """
    figure, axes = _grid(len(panels), PANEL_INCHES, shared=True)
    for place, panel in zip(axes, panels, strict=True):
        for line in panel.lines:
            _draw_rows(place, line)
        _finish(place, panel.title, x_label, panel.y_label)
        place.set_yscale("log")
    _legend(figure, axes)
    return figure


def draw_events(panels: Sequence[Panel], x_label: str) -> Figure:
    """Single events, a panel for each cell and a mark for each event; axes as they need be."""
    figure, axes = _grid(len(panels), PANEL_INCHES)
    for place, panel in zip(axes, panels, strict=True):
        for line, marker in zip(panel.lines, EVENT_MARKERS, strict=False):
            place.plot(
                line.points["x"],
                line.points["mean"],
                color=COLOURS[line.colour % len(COLOURS)],
                linestyle="",
                marker=marker,
                markersize=4,
                label=line.label,
            )
        _finish(place, panel.title, x_label, panel.y_label)
        place.legend(frameon=False, prop={"family": FONT, "size": 8})
    return figure


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """Below all panels, each label once; linear y axes begin at 0, now that all is drawn."""
    for place in axes:
        if place.get_yscale() == "linear":
            place.set_ylim(bottom=0)
    found = {
        label: handle
        for place in axes
        for handle, label in zip(*place.get_legend_handles_labels(), strict=True)
    }
    if len(found) > 1:
        font = {"family": FONT, "size": 8}
        figure.legend(
            found.values(), found, loc="outside lower center", ncols=4, frameon=False, prop=font
        )


def _draw_rows(axes: Axes, line: Line) -> None:
    colour = COLOURS[line.colour % len(COLOURS)]
    x, y = line.points["x"], line.points["mean"]
    axes.plot(x, y, color=colour, marker=".", linewidth=1.0, label=line.label)
    missing = x[y.isna()]
    if len(missing):
        height = MISSING_HEIGHT * (line.colour + 1)  # so that lines' crosses do not hide each other
        place = axes.get_xaxis_transform()
        axes.plot(
            missing, [height] * len(missing), "x", color=colour, markersize=4, transform=place
        )


def _draw_mark(axes: Axes, mark: Mark) -> None:
    """A dotted line from bottom to top, its label beside it."""
    colour = COLOURS[mark.colour % len(COLOURS)]
    axes.axvline(mark.x, color=colour, linestyle=":", linewidth=0.9)
    axes.text(
        mark.x,
        0.98,
        mark.label,
        transform=axes.get_xaxis_transform(),
        color=colour,
        rotation="vertical",
        ha="right",
        va="top",
        fontsize=6.5,
        family=FONT,
    )


def _draw_line(axes: Axes, line: Line) -> None:
    points = line.points.sort_values("x")
    axes.errorbar(
        points["x"],
        points["mean"],
        yerr=points["sd"].fillna(0.0),
        color=COLOURS[line.colour % len(COLOURS)],
        linestyle=("--" if line.theirs else "-") if line.joined else "",
        marker="o" if line.theirs else MARKERS[line.marker % len(MARKERS)],
        markerfacecolor="white" if line.theirs else None,
        markersize=4,
        linewidth=1.0 if line.theirs else 1.5,
        capsize=2,
        elinewidth=0.7,
        label=line.label,
    )


def _draw_bars(axes: Axes, lines: Sequence[Line]) -> None:
    cells = list(dict.fromkeys(_cell_name(x) for line in lines for x in line.points["x"]))
    width = 0.8 / max(1, len(lines))
    for index, line in enumerate(lines):
        places = [cells.index(_cell_name(x)) + (index - (len(lines) - 1) / 2) * width
                  for x in line.points["x"]]  # fmt: skip
        axes.bar(
            places,
            line.points["mean"].replace([math.inf, -math.inf], math.nan),
            width,
            yerr=line.points["sd"].fillna(0.0),
            color="white" if line.theirs else COLOURS[line.marker % len(COLOURS)],
            edgecolor="0.3",
            hatch="///" if line.theirs else None,
            linewidth=0.7,
            capsize=2,
            label=line.label,
        )
    axes.set_xticks(range(len(cells)), cells)
    if sum(map(len, cells)) > CHARACTERS_BELOW:
        axes.tick_params("x", labelrotation=45)
        for text in axes.get_xticklabels():
            text.set_horizontalalignment("right")
            text.set_rotation_mode("anchor")


def _cell_name(x: object) -> str:
    """Of a number, that of a reference table (1.0) is ours (1)."""
    return f"{x:g}" if isinstance(x, float) else str(x)


def _grid(
    count: int, inches: tuple[float, float], *, shared: bool = False
) -> tuple[Figure, list[Axes]]:
    columns = min(count, MOST_COLUMNS)
    rows = math.ceil(count / columns)
    figure = Figure(
        figsize=(columns * inches[0], rows * inches[1]),
        layout="constrained",
        dpi=DOTS_PER_INCH,
    )
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, sharex=shared, sharey=shared, squeeze=False)
    places: list[Axes] = list(grid.flat)
    for unused in places[count:]:
        unused.remove()
    return figure, places[:count]


def _finish(axes: Axes, title: str, x_label: str, y_label: str) -> None:
    axes.set_title(title, loc="left", fontsize=9.5, family=FONT, parse_math=False)
    axes.set_xlabel(x_label, fontsize=9, family=FONT)
    axes.set_ylabel(y_label, fontsize=9, family=FONT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, labelfontfamily=FONT, labelbottom=True)
