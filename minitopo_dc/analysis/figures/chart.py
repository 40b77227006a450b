"""The content of a figure, for the report's page (uPlot) and for papers (Matplotlib).

Rules of the figures:

* A curve has a colour, a dash and a marker, and no two of a panel have the same three: nobody needs
  colours to tell them apart. Seven colours are as many as can be told apart; an eighth curve has
  the first colour again, with another dash and marker.
* The caption says what an error bar is. Each value that was swept has a tick.
* What is infinite or missing (NaN) is not drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Numbers = npt.NDArray[np.float64]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The palette of Okabe and Ito (Color Universal Design) without yellow, which is hardly seen on
white paper."""
DASHES = ((), (6, 2.5), (1.5, 2), (7, 2, 1.5, 2))
"""Lengths of strokes and gaps."""
MARKERS = ("circle", "square", "triangle", "diamond", "cross")
DIVERGING = ("#0072B2", "#8DBBDB", "#BDBDBD", "#E9AC80", "#D55E00")
"""Below and above a level: blue and vermillion, which all eyes tell apart."""
SEQUENTIAL = ("#440154", "#3B528B", "#21918C", "#5EC962", "#FDE725")
"""Colours of viridis (Smith and van der Walt): lightness grows with the value."""
PAD = 0.04
"""The part of an axis beyond its first and its last value."""
LOG_ABOVE = 12.0
"""The ratio of greatest to least value from which on a positive quantity has a log axis."""
CROWDED = 0.02
"""The part of an axis below which swept values are too close, so that a log axis is taken if it
separates them."""

Line = Literal["line", "steps", "none"]
Format = Literal["pdf", "svg", "png"]


@dataclass(frozen=True)
class Axis:
    """One direction of a panel, with its label, ticks and limits."""

    label: str
    """The label, with the unit in brackets."""
    log: bool = False
    ticks: tuple[tuple[float, str], ...] = ()
    """Place and name of each value that was swept; none: round numbers."""
    from_zero: bool = False
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Look:
    """The colour, dash and marker of a curve: numbers of `COLOURS`, `DASHES` and `MARKERS`."""

    colour: int = 0
    dash: int = 0
    marker: int | None = None
    hollow: bool = False


@dataclass(frozen=True)
class Series:
    """The points of one curve, with its label and look."""

    label: str
    x: Numbers
    y: Numbers
    look: Look = Look()
    line: Line = "line"
    low: Numbers | None = None
    high: Numbers | None = None
    """The ends of the error bars, with `low`."""
    left: Numbers | None = None
    right: Numbers | None = None
    """The ends of error bars along x, with `left`; not where x goes downwards."""
    quartiles: tuple[Numbers, Numbers] | None = None
    """The ends of a thick bar within the error bar."""
    values: Numbers | None = None
    """The values that colour the points, by the panel's `scale`."""


@dataclass(frozen=True)
class Mark:
    """An event at a moment, drawn as a vertical line."""

    x: float
    label: str
    colour: int = 0


@dataclass(frozen=True)
class Scale:
    """The scale of the colours of points."""

    label: str
    low: float
    high: float
    level: float | None = None
    """The value where the colour changes; none: it goes from dark to light."""

    @property
    def colours(self) -> tuple[str, ...]:
        """Return the colours, at equal distances from `low` to `high`."""
        return SEQUENTIAL if self.level is None else DIVERGING


@dataclass(frozen=True)
class Panel:
    """A set of series that share their axes."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()
    level_x: float | None = None
    level_y: float | None = None
    """The lines where something breaks even, with `level_x`."""
    scale: Scale | None = None
    sideways: bool = False
    """Whether x goes downwards and y to the right: for categories with long names."""

    @property
    def shown_marks(self) -> tuple[Mark, ...]:
        """Return the marks before the last point: later events did not happen."""
        last = max(
            (x for each in self.series for x in each.x.tolist() if not math.isnan(x)), default=0.0
        )
        return tuple(mark for mark in self.marks if mark.x <= last)


@dataclass(frozen=True)
class Chart:
    """A figure of one or more panels."""

    name: str
    """The name of its files, without an ending."""
    title: str
    panels: tuple[Panel, ...]
    caption: str = ""
    together: bool = False
    """Whether panels share their x axis: a cursor and a zoom in one is in all."""
    columns: int = field(default=2, compare=False)
    """The most panels beside each other."""


def draw(chart: Chart) -> Figure:
    """Return a chart for a paper as a figure of Matplotlib."""
    # Imported here, as Matplotlib takes a second, and the report's page does without.
    from minitopo_dc.analysis.figures import paper  # noqa: PLC0415

    return paper.draw(chart)


def numbers(values: Iterable[Any]) -> Numbers:
    """Return an array of floats; what is infinite or missing is NaN."""
    found = np.asarray([math.nan if value is None else value for value in values], dtype=float)
    return np.where(np.isfinite(found), found, math.nan)


def look(number: int) -> Look:
    """Return the look of the curve `number` (0, 1, ...) of a panel, with markers."""
    turn, colour = divmod(number, len(COLOURS))
    return Look(colour, (colour + turn) % len(DASHES), (colour + turn) % len(MARKERS))


def plain(number: int) -> Look:
    """Return the look of the curve `number` (0, 1, ...) of a panel, without a marker."""
    return replace(look(number), marker=None)


def lines(
    found: Mapping[str, tuple[Iterable[Any], Iterable[Any]]], line: Line = "line"
) -> tuple[Series, ...]:
    """Return a curve without markers for each label, of its x and y."""
    return tuple(
        Series(label, numbers(x), numbers(y), plain(number), line)
        for number, (label, (x, y)) in enumerate(found.items())
    )


def swept(label: str, values: Iterable[Any]) -> tuple[Axis, dict[str, float]]:
    """Return an axis with a tick for each value of a factor, and each value's place by its name.

    Numbers have their place; other values are at equal distances, in their order.
    """
    named = {value_name(value): value for value in values}
    if named and all(_is_number(value) for value in named.values()):
        places = {name: float(value) for name, value in sorted(named.items(), key=_by_value)}
        log = _is_crowded(list(places.values()))
    else:
        places, log = {name: float(place) for place, name in enumerate(named)}, False
    ticks = tuple((place, name) for name, place in places.items())
    return Axis(label, log, ticks), places


def value_name(value: Any) -> str:
    """Return a factor's value as text; of a number, 1.0 is 1 and [1, 1] is 1:1."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ":".join(map(value_name, value))
    return str(value)


def is_wide(values: Iterable[float]) -> bool:
    """Return whether values are positive and differ by orders of magnitude."""
    found = [value for value in values if math.isfinite(value)]
    return bool(found) and min(found) > 0 and max(found) > LOG_ABOVE * min(found)


def until(series: Series, end: float | None) -> Series:
    """Return a series without its points after `end` (None: all stay)."""
    if end is None:
        return series
    kept = series.x <= end
    return replace(series, x=series.x[kept], y=series.y[kept])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not pd.isna(value)


def _by_value(item: tuple[str, Any]) -> float:
    return float(item[1])


def _is_crowded(places: Sequence[float]) -> bool:
    """Return whether a log axis separates swept values that a linear one does not."""
    if len(places) < 3 or places[0] <= 0:
        return False
    linear, log = _closest(np.asarray(places)), _closest(np.log(places))
    return linear < CROWDED and log > 2 * linear


def _closest(places: Numbers) -> float:
    """Return the least distance of two neighbours, as a part of the axis."""
    return float(np.diff(places).min() / np.ptp(places))
