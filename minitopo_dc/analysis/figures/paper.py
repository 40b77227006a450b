"""Charts for papers: PDF, SVG or PNG that fit a column of a two-column page without scaling.

A column is 3.4 in wide (IEEE, ACM), letters have 7 points or more, and PDF has its fonts embedded
(TrueType, which submission systems ask for).
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, StrMethodFormatter
from matplotlib.transforms import Bbox

from minitopo_dc.analysis.figures.chart import COLOURS, DASHES, Chart, Format, Panel, Scale, Series
from minitopo_dc.analysis.figures.chart import Axis as ChartAxis
from minitopo_dc.files import replacing

COLUMN_INCHES, PAGE_INCHES = 3.4, 7.0
"""Width of a column, and of both."""
PANEL_INCHES = 2.1
"""The height of a panel that is alone."""
SMALL_INCHES = 1.6
STACKED = 3
"""The most panels that are above each other in one column; panels that share their time always
are."""
DOTS_PER_INCH = 300
FONT = "DejaVu Sans"
"""A font that comes with Matplotlib, so that it is everywhere."""
SMALL, NORMAL = 7.0, 7.5
"""Sizes in points: of ticks and legends, and of labels."""
SHAPES = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "x"}
SHAPE_ORDER = tuple(SHAPES.values())
STYLE: Any = {
    "font.family": FONT,
    "font.size": SMALL,
    "axes.labelsize": NORMAL,
    "axes.titlesize": NORMAL,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.xmargin": 0.03,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.5,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.hashsalt": "minitopo-dc",
    "text.parse_math": False,
}
MARK_MARGIN = 0.4
"""The space above the lines for the labels of marks, as a part of their height."""
LETTER_INCHES = 0.065
"""The approximate width of a letter of the font at `SMALL`."""
LINE_INCHES = 0.15
"""The height of a line of the font."""
SLACK = 0.95
"""The part of its room that a label takes at most, as a panel may become smaller."""
MAX_TURNS = 6
"""The most times that labels are broken, as lines more make a panel smaller."""
HANDLE_INCHES = 0.45
"""The width of a line beside its name in a legend, with the gaps."""
FEWER: tuple[tuple[tuple[float, ...], int], ...] = (((1, 3), 15), ((1,), 15), ((1,), 6), ((1,), 4))
"""What is named of each power of ten, and of how many, where 1, 2 and 5 are too many."""
MAX_OF_NAME = 0.5
"""The most of a panel's width that the names of categories beside it take."""


def save(chart: Chart, directory: Path, kind: Format) -> Path:
    """Write a chart to `directory`; return the path of the file.

    Raises:
        OSError: it cannot be written.
    """
    path = directory / f"{chart.name}.{kind}"
    with replacing(path) as partial, mpl.rc_context(STYLE):
        # The time is left out, so that the same runs make the same file.
        known = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": None}[kind]
        draw(chart).savefig(partial, format=kind, metadata=known)
    return path


def draw(chart: Chart) -> Figure:
    """Return a chart as a figure of Matplotlib."""
    with mpl.rc_context(STYLE):
        figure, places = _grid(chart)
        colours = _shared_scale(chart)
        for number, (axes, panel) in enumerate(zip(places, chart.panels, strict=True)):
            shares = chart.together and number < len(places) - 1
            _draw_panel(axes, panel, x_label=not shares)
            if panel.scale is not None:
                _colour_bar(axes, panel.scale, "" if colours else panel.scale.label)
        _legend(figure, places, colours)
        _break_labels(figure, places)
        _thin_ticks(figure, places)
        return figure


def _break_labels(figure: Figure, places: list[Axes]) -> None:
    """Break the labels that are longer than their room into lines.

    The first room is that without labels, and each next one what the lines in it leave.
    """
    upright = {each: axes for axes in figure.axes for each in (axes.yaxis.label, *axes.texts)}
    level = {each: axes for axes in places for each in (axes.title, axes.xaxis.label)}
    words = {text: text.get_text() for text in (*upright, *level)}
    for text in words:
        text.set_text("")
    shown: list[str] = []
    for turn in range(MAX_TURNS):
        figure.draw_without_rendering()
        for text, axes in upright.items():
            _break(text, words[text], lambda box: box.height, axes.bbox.height)
        for text, axes in level.items():
            _break(text, words[text], lambda box: box.width, _room(figure, axes, text))
        before, shown = shown, [text.get_text() for text in words]
        if shown == before:
            return
        if turn == 0:
            rows = len({axes.bbox.y0 for axes in places})
            lines = sum(text.get_text().count("\n") for text in level) * rows / len(places)
            figure.set_figheight(figure.get_figheight() + lines * LINE_INCHES)


def _thin_ticks(figure: Figure, places: list[Axes]) -> None:
    """Name fewer ticks, where their names would lie on each other.

    Of a log axis these are the ones at `FEWER` places; of swept values, those behind the first.
    """
    axes = [axis for each in places for axis in (each.xaxis, each.yaxis)]
    for subs, most in FEWER:
        figure.draw_without_rendering()
        crowded = [axis for axis in axes if _overlap(_named_ticks(axis))]
        for axis in crowded:
            if not isinstance(axis.get_major_locator(), LogLocator):
                _name_apart(axis)
            else:
                axis.set_major_locator(LogLocator(subs=subs, numticks=most))
        if not crowded:
            return


def _named_ticks(axis: Any) -> list[Text]:
    """Return the names of ticks that are seen, in their order."""
    low, high = sorted(axis.get_view_interval())
    ticks = [each for each in axis.get_major_ticks() if low <= each.get_loc() <= high]
    return [each.label1 for each in ticks if each.label1.get_text()]


def _overlap(names: list[Text]) -> bool:
    boxes = [each.get_window_extent().expanded(1.1, 1.0) for each in names]
    return any(first.overlaps(second) for first, second in pairwise(boxes))


def _name_apart(axis: Any) -> None:
    """Leave the names of fixed ticks out that lie on the one before."""
    places = axis.get_majorticklocs()
    labels = [each.label1 for each in axis.get_major_ticks(len(places))]
    shown: list[Text] = []
    for label in labels:
        if label.get_text() and not _overlap([*shown[-1:], label]):
            shown.append(label)
    axis.set_ticks(places, [each.get_text() if each in shown else "" for each in labels])


def _room(figure: Figure, axes: Axes, text: Text) -> float:
    """Return the room for a panel's title or for the label of its x axis, in dots."""
    if text is axes.title:
        return SLACK * float(axes.bbox.width)
    left, right = _sides_of_column(figure, axes)
    middle = (axes.bbox.x0 + axes.bbox.x1) / 2
    return SLACK * 2 * float(min(middle - left, right - middle))


def _break(text: Text, words: str, length: Callable[[Bbox], float], room: float) -> None:
    """Break words at blanks, or within one, into the longest lines that fit into `room` dots.

    Args:
        text: the text of a figure that gets the lines.
        words: the words in one line.
        length: returns the side of its box along its lines, in dots.
        room: the most of it.
    """
    text.set_text(words)
    for letters in range(len(words), 0, -1):
        if length(text.get_window_extent()) <= room:
            return
        text.set_text("\n".join(textwrap.wrap(words, letters)))


def _sides_of_column(figure: Figure, axes: Axes) -> tuple[float, float]:
    """Return the left and the right side of the column of panels that has these axes, in dots."""
    place = axes.get_subplotspec()
    assert place is not None
    width = figure.bbox.width / place.get_gridspec().ncols
    return place.colspan.start * width, place.colspan.stop * width


def _grid(chart: Chart) -> tuple[Figure, list[Axes]]:
    count = len(chart.panels)
    columns = 1 if count <= STACKED or chart.together else min(2, chart.columns)
    rows = -(-count // columns)
    width = COLUMN_INCHES if columns == 1 else PAGE_INCHES
    height = PANEL_INCHES if rows == 1 else SMALL_INCHES * rows
    room = LINE_INCHES * _legend_rows(chart, width)
    figure = Figure(figsize=(width, height + room), layout="constrained", dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, sharex=chart.together, squeeze=False)
    places: list[Axes] = list(grid.flat)
    for unused in places[count:]:
        unused.remove()
    return figure, places[:count]


def _shared_scale(chart: Chart) -> str:
    """Return what the colours of several panels mean, for the legend; empty: each tells its own."""
    labels = [panel.scale.label for panel in chart.panels if panel.scale is not None]
    return f"colour: {labels[0]}" if len(labels) > 1 and len(set(labels)) == 1 else ""


def _legend_rows(chart: Chart, width: float) -> int:
    """Return the lines of the legend, by the label with the most of them, and of its title."""
    title = len(_broken(_shared_scale(chart), width).splitlines())
    labels = dict.fromkeys(each.label for panel in chart.panels for each in panel.series)
    if len(labels) < 2:
        return title
    lines = max(1 + _broken(each, width - HANDLE_INCHES).count("\n") for each in labels)
    return title + lines * -(-len(labels) // _legend_columns(list(labels), width))


def _legend_columns(labels: list[str], width: float) -> int:
    longest = max(map(len, labels), default=0) * LETTER_INCHES + HANDLE_INCHES
    return max(1, min(len(labels), int(width / longest)))


def _legend(figure: Figure, places: list[Axes], title: str) -> None:
    """Draw a legend below all panels, with each label once, below a title if there is any."""
    found = {
        label: handle
        for axes in places
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if title or len(found) > 1:
        width = figure.get_figwidth()
        columns = _legend_columns(list(found), width)
        names = [_broken(each, width - HANDLE_INCHES) for each in found]
        figure.legend(
            list(found.values()),
            names,
            loc="outside lower center",
            ncols=columns,
            title=_broken(title, width) or None,
            title_fontsize=SMALL,
        )


def _broken(words: str, inches: float) -> str:
    """Return a label in lines of at most so many letters as usually take these inches."""
    return "\n".join(textwrap.wrap(words, int(inches / LETTER_INCHES)))


def _draw_panel(axes: Axes, panel: Panel, *, x_label: bool) -> None:
    for series in panel.series:
        if series.values is not None and panel.scale is not None:
            _draw_values(axes, series, panel.scale)
        else:
            _draw_series(axes, series, sideways=panel.sideways)
    down, across = (
        (panel.level_y, panel.level_x) if panel.sideways else (panel.level_x, panel.level_y)
    )
    for level, line in ((down, axes.axvline), (across, axes.axhline)):
        if level is not None:
            line(level, color="0.5", linewidth=0.7, linestyle=(0, (3, 2)), zorder=0)
    for mark in panel.shown_marks:
        _draw_mark(axes, mark.x, mark.label, COLOURS[mark.colour % len(COLOURS)])
        axes.margins(y=MARK_MARGIN)
    axes.title.set(text=panel.title, x=0.0, ha="left")
    right, up = (panel.y, panel.x) if panel.sideways else (panel.x, panel.y)
    _set_x(axes, right)
    _set_y(axes, up)
    if panel.sideways:
        axes.set_ylim(len(up.ticks) - 0.5, -0.5)
    axes.set_xlabel(right.label if x_label else "")
    axes.set_ylabel(up.label)


def _draw_series(axes: Axes, series: Series, *, sideways: bool) -> None:
    look = series.look
    colour = COLOURS[look.colour % len(COLOURS)]
    shape = None if look.marker is None else SHAPE_ORDER[look.marker % len(SHAPE_ORDER)]
    places = (series.y, series.x) if sideways else (series.x, series.y)
    if series.low is not None and series.high is not None:
        reach = np.nan_to_num(
            np.vstack([series.y - series.low, series.high - series.y]).clip(min=0)
        )
        bars = {"xerr" if sideways else "yerr": reach}
        axes.errorbar(*places, **bars, fmt="none", ecolor=colour, elinewidth=0.7, capsize=1.8)
    if series.left is not None and series.right is not None:
        across = np.nan_to_num(np.vstack([series.x - series.left, series.right - series.x]))
        bars = {"xerr": across.clip(min=0)}
        axes.errorbar(*places, **bars, fmt="none", ecolor=colour, elinewidth=0.7, capsize=1.8)
    if series.quartiles is not None:
        thick = axes.hlines if sideways else axes.vlines
        thick(series.x, *series.quartiles, color=colour, linewidth=4, alpha=0.4)
    axes.plot(
        *places,
        color=colour,
        linestyle="" if series.line == "none" else (0, DASHES[look.dash % len(DASHES)] or ()),
        drawstyle="steps-post" if series.line == "steps" else "default",
        marker=shape,
        markerfacecolor="white" if look.hollow else None,
        markeredgewidth=0.8,
        label=series.label,
    )


def _draw_values(axes: Axes, series: Series, scale: Scale) -> None:
    """Draw points in the colours of a scale, with a marker for each side of its level."""
    values = series.values
    assert values is not None
    drawn: dict[str, Any] = {"cmap": _map(scale), "norm": Normalize(scale.low, scale.high)}
    for shape, chosen in _sides(values, scale):
        axes.scatter(
            *(series.x[chosen], series.y[chosen]),
            c=values[chosen],
            marker=shape,
            s=14,
            edgecolors="0.3",
            linewidths=0.3,
            **drawn,
        )


def _sides(values: Any, scale: Scale) -> Iterator[tuple[str, Any]]:
    if scale.level is None:
        yield "o", np.isfinite(values)
    else:
        yield "^", values >= scale.level
        yield "v", values < scale.level


def _map(scale: Scale) -> LinearSegmentedColormap:
    return LinearSegmentedColormap.from_list("chart", list(scale.colours))


def _colour_bar(axes: Axes, scale: Scale, label: str) -> None:
    assert axes.figure is not None
    drawn = ScalarMappable(Normalize(scale.low, scale.high), _map(scale))
    bar = axes.figure.colorbar(drawn, ax=axes, shrink=0.95, pad=0.02, aspect=25)
    bar.set_label(label)
    bar.outline.set_linewidth(0.4)


def _draw_mark(axes: Axes, x: float, label: str, colour: str) -> None:
    """Draw a dotted line from bottom to top, its label beside it."""
    axes.axvline(x, color=colour, linestyle=":", linewidth=0.8)
    place = axes.get_xaxis_transform()
    axes.text(x, 0.98, label, transform=place, color=colour, rotation=90, ha="right", va="top")


def _set_x(axes: Axes, axis: ChartAxis) -> None:
    if axis.log:
        axes.set_xscale("log")
    if axis.ticks:
        _set_ticks(axes, axis)
    elif axis.log:
        _plain_log(axes.xaxis)
    if axis.limits is not None:
        axes.set_xlim(*axis.limits)
    elif axis.from_zero:
        axes.set_xlim(left=0)


def _set_y(axes: Axes, axis: ChartAxis) -> None:
    if axis.log:
        axes.set_yscale("log")
        _plain_log(axes.yaxis)
    if axis.ticks:
        room = MAX_OF_NAME * _panel_inches(axes)
        names = [_broken(name, room) for _, name in axis.ticks]
        axes.set_yticks([place for place, _ in axis.ticks], names)
    if axis.limits is not None:
        axes.set_ylim(*axis.limits)
    elif axis.from_zero:
        axes.set_ylim(bottom=0)


def _panel_inches(axes: Axes) -> float:
    """Return the width of the column of panels that has these axes."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    left, right = _sides_of_column(figure, axes)
    return (right - left) / figure.dpi


def _plain_log(axis: Any) -> None:
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _set_ticks(axes: Axes, axis: ChartAxis) -> None:
    """Set a tick at each swept value, named where the name before leaves room for it."""
    places = [place for place, _ in axis.ticks]
    scaled = [math.log10(place) for place in places] if axis.log else places
    span = (max(scaled) - min(scaled)) or 1.0
    width = (axes.get_position().width or 0.8) * axes.figure.get_figwidth()  # type: ignore[union-attr]
    slanted = sum(len(name) for _, name in axis.ticks) * LETTER_INCHES > 1.3 * width
    named, end = [], -math.inf
    for (_, name), place in zip(axis.ticks, scaled, strict=True):
        middle = (place - min(scaled)) / span * width
        half = (0.08 if slanted else len(name) * LETTER_INCHES / 2) + 0.02
        shown = middle - half >= end
        named.append(name if shown else "")
        end = middle + half if shown else end
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.set_xticks(places, named)
    axes.xaxis.set_minor_locator(FixedLocator([]))
    if slanted:
        for text in axes.get_xticklabels():
            text.set(rotation=40, ha="right", rotation_mode="anchor")
    if len(places) == len(set(places)) and not axis.log and places == list(range(len(places))):
        axes.set_xlim(-0.5, len(places) - 0.5)
