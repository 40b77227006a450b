"""Figures of a drive's channels: figures 1 and 2 of Krämer et al., Electronics 11 (2022) 1492."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from minitopo_dc.analysis.figures.panel import FONT
from minitopo_dc.analysis.figures.received import DOTS_PER_INCH
from minitopo_dc.files import replacing
from minitopo_dc.trace import Capacities, channel_statistics

WINDOWS_S = (1, 5)
"""The windows over which figure 1 takes means."""
_COLOURS = ("#1f77b4", "#ff7f0e")
_SIZE_INCHES = (9.0, 7.5)


def drive_figure(capacities: Capacities, path: Path) -> None:
    """Write `draw_drive` as PNG, replacing a file of that name.

    Raises:
        OSError: `path` cannot be written.
    """
    figure = draw_drive(capacities)
    with replacing(path) as partial:
        figure.savefig(partial, format="png")


def draw_drive(capacities: Capacities) -> Figure:
    """Draw the two strongest channels over time, and the distribution of the number of channels."""
    figure = Figure(figsize=_SIZE_INCHES, layout="constrained", dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    *windows, last = figure.subplots(len(WINDOWS_S) + 1, 1)
    for axes, window in zip(windows, WINDOWS_S, strict=True):
        _strongest(axes, capacities, window)
    _available(last, capacities)
    figure.suptitle(capacities.name, fontsize=12, family=FONT, fontweight="bold")
    return figure


def _strongest(axes: Axes, capacities: Capacities, window_s: int) -> None:
    """Draw figure 1: the primary and the secondary cell of each second."""
    ranked = [sorted(step, reverse=True) for step in zip(*capacities.mbps, strict=True)]
    steps = max(1, window_s // capacities.step_s)
    for place, name in enumerate(("strongest", "second")[: len(capacities.mbps)]):
        means = _means([step[place] for step in ranked], steps)
        times = [index * steps * capacities.step_s for index in range(len(means))]
        axes.plot(times, means, drawstyle="steps-post", color=_COLOURS[place], lw=0.8, label=name)
    axes.set_ylim(bottom=0)
    _label(axes, "Time (s)", f"Mbit/s, {window_s} s")
    axes.legend(loc="upper right", fontsize=8)


def _available(axes: Axes, capacities: Capacities) -> None:
    """Draw figure 2: the cumulative distribution of the number of channels."""
    shares = channel_statistics(capacities).available_shares
    axes.step(range(len(shares)), list(accumulate(shares)), where="post", color=_COLOURS[0])
    axes.set_ylim(0, 1.05)
    axes.set_xticks(range(len(shares)))
    _label(axes, "Available cells", "Cumulative share")


def _means(values: Sequence[float], steps: int) -> list[float]:
    """Return the means over windows of so many values; the last window may be shorter."""
    return [fmean(values[start : start + steps]) for start in range(0, len(values), steps)]


def _label(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x, fontsize=9.5, family=FONT)
    axes.set_ylabel(y, fontsize=9.5, family=FONT)
