"""What Matplotlib's axes need beside its own: plain log axes, names at curves' ends, legends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator
from scipy.optimize import isotonic_regression

from minitopo_dc.plots.labels import value_name

WIDE = 12.0
"""The ratio of greatest to least swept value from which on an axis may be logarithmic."""
LEAST_GAP = 0.08
"""The part of an axis between two swept values from which on there is room for a number at each."""
KEPT, LINE = 0.9, 1.2
"""The part of their height that axes keep in a layout, and a line's height in its font's size."""
LETTER, HANDLE_LETTERS = 0.62, 6
"""The mean width of a letter in its font's size, and the letters for which a handle needs room."""


def wants_log(values: Iterable[float]) -> bool:
    """Return whether swept values are better apart on a log axis than on a linear one."""
    places = np.unique([*values])
    if len(places) < 3 or places[0] <= 0 or places[-1] < WIDE * places[0]:
        return False
    return _least_gap(np.log(places)) > 2 * _least_gap(places)


def _least_gap(places: Any) -> float:
    return float(np.diff(places).min() / np.ptp(places))


def log_axis(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with plain numbers at 1, 2 and 5."""
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def sweep_axis(axes: Axes, values: Sequence[float]) -> None:
    """Give x a scale that tells swept values apart, and ticks at them if there is room."""
    places, log = np.unique(values), wants_log(values)
    if log:
        log_axis(axes, "x")
    if len(places) == 1 or (
        len(places) and _least_gap(np.log(places) if log else places) > LEAST_GAP
    ):
        axes.set_xticks(places, [*map(value_name, places.tolist())])
        axes.xaxis.set_minor_locator(NullLocator())


def begin_at_0(axes: Axes, which: Literal["x", "y"]) -> None:
    """Let an axis begin at 0 and end where its values do, also those of axes that share it."""
    axes.autoscale(axis=which)
    axes.set(**{f"{which}lim": (0, None)})


def name_ends(axes: Axes, ends: Mapping[str, tuple[float, str]]) -> None:
    """Write names at the right of the axes, each in its colour with a line to its curve's end.

    Names that would lie on each other are moved apart, by as little as all together can be.

    Args:
        axes: with their limits.
        ends: by the name of a curve its last value, and its colour.
    """
    figure: Any = axes.get_figure(root=True)
    height = 72 * figure.get_figheight() * KEPT * axes.get_position().height
    axes.get_ylim()  # it sets the limits by the data; before, no place is known
    curves = sorted((value, name, colour) for name, (value, colour) in ends.items())
    at_ends = axes.transData.transform([(1.0, value) for value, *_ in curves])
    places = axes.transAxes.inverted().transform(at_ends)[:, 1]
    room = LINE * mpl.rcParams["font.size"] / height * np.arange(len(places))
    apart = isotonic_regression(places - room).x + room
    line = {"arrowstyle": "-", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)}
    for place, (value, name, colour) in zip(apart, curves, strict=True):
        axes.annotate(
            name,
            xy=(1.0, value),
            xycoords=axes.get_yaxis_transform(),
            xytext=(1.04, place),
            textcoords="axes fraction",
            color=colour,
            va="center",
            annotation_clip=False,
            arrowprops={"color": colour, **line},
        )


def handles_of(*several: Axes) -> dict[str, Any]:
    """Return what is drawn in axes by its name, for a legend."""
    pairs = (zip(*axes.get_legend_handles_labels(), strict=True) for axes in several)
    return {name: handle for pair in pairs for handle, name in pair}


def legend(place: Axes | Figure, handles: Mapping[str, Any]) -> None:
    """Write a legend above all axes of a figure; beside others of the caller's, within its own."""
    figure: Any = place.get_figure(root=True)
    is_alone = isinstance(place, Figure) or figure.axes == [place]
    if not (is_alone and isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine)):
        place.legend(handles.values(), handles)
        return
    letters = 72 * figure.get_figwidth() / (LETTER * mpl.rcParams["font.size"])
    room = letters // (max(map(len, handles), default=1) + HANDLE_LETTERS)
    columns = max(1, min(len(handles), int(room)))
    figure.legend(handles.values(), handles, loc="outside upper left", ncols=columns)
