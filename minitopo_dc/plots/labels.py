"""Texts of figures: names of measures with their units, ticks, and labels beside their curves."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

UNITS: Final[Mapping[str, str]] = {
    **{"mbps": "Mbit/s", "ms": "ms", "s": "s", "mb": "MB", "kb": "kB", "dbm": "dBm"},
    **{"bytes": "bytes", "percent": "%", "packets": "packets"},
}
"""The unit that the end of a field's or a measure's name tells."""
_WORDS = (
    *((r"\brtt\b", "round-trip time"), (r"\bqoe\b", "QoE"), (r"\bpdcp\b", "PDCP")),
    *((r" p(\d+)\b", r", \1th percentile"), (r" median\b", ", median")),
    *((r" max\b", ", greatest"), (r"^answer worst\b", "worst answer")),
)
LETTER, LINE = 0.62, 1.2
"""The mean width of a letter of the font and the height of a line, as parts of its size."""
WHOLE = 1e12
"""Whole numbers below are written with all their digits, such as bytes of a buffer."""
WIDE = 12.0
"""The ratio of greatest to least swept value from which on an axis may be logarithmic."""


def label_of(name: str) -> str:
    """Return a field's or a measure's name as an axis has it.

    >>> label_of("goodput_mbps"), label_of("delay_p95_ms")
    ('goodput (Mbit/s)', 'delay, 95th percentile (ms)')
    """
    text, unit = name_and_unit(name)
    return f"{text} ({unit})" if unit else text


def setting_of(name: str, value: Any) -> str:
    """Return a factor with a value of it: `loss 0.1 %`; of a text the value alone."""
    text, unit = name_and_unit(name)
    return value if isinstance(value, str) else f"{text} {value_name(value)} {unit}".rstrip()


def way_names(values: pd.Series[Any]) -> pd.Series[str]:
    """Return the names of a column that tells ways apart: numbers with what they are of."""
    return values.map(lambda value: setting_of(str(values.name), value))


def name_and_unit(name: str) -> tuple[str, str]:
    """Return a field's or a measure's name in words, and its unit: `goodput`, `Mbit/s`."""
    words, _, end = name.rpartition("_")
    unit = UNITS.get(end, "") if words else ""
    text = re.sub("[_.]", " ", words if unit else name)
    for pattern, word in _WORDS:
        text = re.sub(pattern, word, text)
    return text, unit


def value_name(value: Any) -> str:
    """Return a label's value as text: 1.0 is `1`, and (1, 1) is `1:1`."""
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < WHOLE else f"{value:g}"
    if isinstance(value, list | tuple | np.ndarray):
        return ":".join(map(value_name, value))
    return str(value)


def is_number(values: pd.Series[Any]) -> bool:
    """Return whether a factor's values are numbers, which have their place on an axis."""
    is_bool = pd.api.types.is_bool_dtype(values)
    return pd.api.types.is_numeric_dtype(values) and not is_bool


def wants_log(values: Iterable[float]) -> bool:
    """Return whether swept values are better apart on a log axis than on a linear one."""
    places = sorted(set(values))
    if len(places) < 3 or places[0] <= 0 or places[-1] < WIDE * places[0]:
        return False
    return _closest([math.log(place) for place in places]) > 2 * _closest(places)


def _closest(places: Sequence[float]) -> float:
    return min(after - before for before, after in pairwise(places)) / (places[-1] - places[0])


def log_axis(axes: Axes, which: str) -> None:
    """Make the axis `x` or `y` logarithmic, with plain numbers at 1, 2 and 5."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set(**{f"{which}scale": "log"})
    axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def letters_wide(axes: Axes) -> float:
    """Return how many letters axes are wide; of constrained ones, how many they may be."""
    figure = axes.get_figure(root=True)
    inches = axes.get_position().width * (figure.get_figwidth() if figure else 1.0)
    return float(72 * inches / (LETTER * mpl.rcParams["font.size"]))


def name_ticks(axes: Axes, places: Mapping[float, str], *, log: bool) -> None:
    """Set a tick at each swept value of x, named where the name before leaves room for it."""
    scaled = [math.log(place) if log else place for place in places] or [0.0]
    letters = 0.8 * letters_wide(axes) / ((max(scaled) - min(scaled)) or 1.0)
    end, names = -math.inf, []
    for at, name in zip(scaled, places.values(), strict=False):
        fits = letters * at - len(name) / 2 >= end
        names.append(name if fits else "")
        end = letters * at + len(name) / 2 + 1 if fits else end
    axes.set_xticks(list(places), names)
    axes.xaxis.set_minor_locator(NullLocator())


class _EndLabel(Annotation):
    """A text at the right of the axes, which moves away from others whenever it is drawn."""

    group: Sequence[_EndLabel] = ()

    def update_positions(self, renderer: Any) -> None:
        """Place all labels of the axes apart, then this one."""
        _spread(self.group)
        super().update_positions(renderer)

    def get_tightbbox(self, renderer: Any = None) -> Any:
        """Return its room also on log axes, which take its offset in points for a place on them."""
        return self.get_window_extent(renderer)


def label_ends(axes: Axes, ends: Mapping[str, tuple[float, str]]) -> None:
    """Write names at the right of the axes, each beside its y and in its colour.

    Names that would lie on each other are moved apart, and thin lines lead to their curves.
    """
    line = {"arrowstyle": "-", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)}
    labels = [
        _EndLabel(
            name,
            xy=(1.0, y),
            xycoords=axes.get_yaxis_transform(),
            xytext=(8, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            annotation_clip=False,
            arrowprops={"color": colour, **line},
        )
        for name, (y, colour) in ends.items()
    ]
    for label in labels:
        label.group = labels
        axes.add_artist(label)
        label.set_clip_on(False)


def _spread(labels: Sequence[_EndLabel]) -> None:
    """Move labels up and down from their places, so that none lies on another.

    Neighbours that would overlap become a block, whose middle is the mean of their places.
    """
    axes, figure = labels[0].axes, labels[0].get_figure(root=True)
    assert axes is not None
    assert figure is not None
    axes.get_ylim()  # it sets the limits by the data; before, no place is known
    to_points, line = 72 / figure.dpi, LINE * float(labels[0].get_fontsize())
    points = [float(axes.transData.transform((1.0, each.xy[1]))[1]) * to_points for each in labels]
    blocks: list[list[int]] = []
    for place in sorted(range(len(points)), key=points.__getitem__):
        blocks.append([place])
        while len(blocks) > 1 and _overlap(points, line, *blocks[-2:]):
            last = blocks.pop()
            blocks[-1] += last
    for block in blocks:
        bottom = _middle(points, block) - line * (len(block) - 1) / 2
        for number, place in enumerate(block):
            labels[place].set_position((8, bottom + line * number - points[place]))


def _middle(points: Sequence[float], block: Sequence[int]) -> float:
    return sum(points[place] for place in block) / len(block)


def _overlap(
    points: Sequence[float], line: float, lower: Sequence[int], upper: Sequence[int]
) -> bool:
    room = line * (len(lower) + len(upper)) / 2
    return _middle(points, upper) - _middle(points, lower) < room


LEGEND: Final[Any] = {"columnspacing": 1.2, "handlelength": 2.2}


def legend_above(axes: Axes, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Write a legend above the axes, in as many columns as there is room for.

    Above the only axes of a figure that makes room for it, it is as wide as the figure, and stands
    above their title.
    """
    figure: Any = axes.get_figure(root=True)
    alone = figure.axes == [axes] and isinstance(
        figure.get_layout_engine(), ConstrainedLayoutEngine
    )
    if alone:
        legend_of(figure, handles, names)
        return
    columns = legend_columns(names, letters_wide(axes))
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    axes.legend(handles, names, ncols=columns, **LEGEND, **place)


def legend_of(figure: Figure, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Write a legend above all axes of a figure with a constrained layout."""
    letters = 72 * figure.get_figwidth() / (LETTER * mpl.rcParams["font.size"])
    columns = legend_columns(names, letters)
    figure.legend(handles, names, loc="outside upper left", ncols=columns, **LEGEND)


def legend_columns(names: Sequence[str], letters: float) -> int:
    """Return in how many columns a legend fits into so many letters, with its lines and gaps."""
    return max(1, min(len(names), int(letters / (max(map(len, names), default=1) + 6))))
