"""The picture of a page: goodput, rate over time, bytes a leg, and where a packet's delay is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from minitopo_dc import plots
from minitopo_dc.exploration.runs import DELAYS, Outcome
from minitopo_dc.numbers import significant
from minitopo_dc.plots.over_time import LEGS
from minitopo_dc.plots.theme import grid_of

SIZE_INCHES, DOTS_PER_INCH = (9.0, 5.6), 100
NO_LAYOUT: Any = "none"
MARGINS = {"left": 0.09, "right": 0.985, "top": 0.94, "bottom": 0.1, "wspace": 0.3, "hspace": 0.5}
"""Fixed ones: to compute them takes longer than all of the runs."""
DELAY_COLOURS = ("#332288", "#C8C8C8", "#999933")
"""Of the parts of a delay, to be told apart in grey; none is a way's, or one of two legs'."""
THICK = 0.7


def table_of(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """Return a row a run, as `plots` has them."""
    names = ("way", "seed", "status", "goodput_mbps", "capacity_share")
    return pd.DataFrame([{name: getattr(run, name) for name in names} for run in outcomes])


@plots.style()
def draw(outcomes: Sequence[Outcome], figure: Figure | None = None) -> Any:
    """Draw what the ways did; of several seeds the bars are means, the curves those of the first.

    Returns:
        Two rows of two axes, of a new figure unless one is given.
    """
    figure = figure or Figure(layout=NO_LAYOUT)
    figure.set(size_inches=SIZE_INCHES, dpi=DOTS_PER_INCH)
    figure.subplots_adjust(**MARGINS)
    grid = grid_of(figure, 2, 2)
    bars, rate, carried, delay = grid.flat
    plots.comparison(table_of(outcomes), ax=bars)
    bars.set(title="goodput", xlabel="Mbit/s; frame: what the legs could carry")
    ways = plots.ordered(run.way for run in outcomes)
    _rates(rate, [run for run in outcomes if run.seed == outcomes[0].seed])
    good = {way: [run for run in outcomes if (run.way, run.status) == (way, "ok")] for way in ways}
    legs = max((len(run.leg_bytes) for run in outcomes), default=0)
    _stacks(
        carried,
        {
            f"leg {leg + 1}": [_mean(run.leg_bytes[leg] / 1e6 for run in good[way]) for way in ways]
            for leg in range(legs)
        },
        LEGS,
    )
    carried.set(title="carried by each leg", xlabel="MB of IP packets")
    parts = {
        part: [_mean(run.delay_ms[part] for run in good[way]) for way in ways] for part in DELAYS
    }
    _stacks(delay, parts, DELAY_COLOURS)
    delay.set(title="delay of a packet", xlabel="ms, mean")
    for axes in (carried, delay):
        axes.set_yticks(range(len(ways)), ways)
        axes.set_ylim(len(ways) - 0.4, -0.7 - 0.15 * len(ways))  # above them the parts' names
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
    return grid


def png_of(grid: Any) -> bytes:
    """Return the figure of such axes as a PNG at the size of a screen."""
    file = BytesIO()
    canvas: Any = FigureCanvasAgg(grid[0, 0].figure)
    canvas.print_png(file)  # `savefig` would draw it twice
    return file.getvalue()


def _mean(values: Any) -> float:
    known = [*values]
    return float(np.mean(known)) if known else 0.0


def _rates(axes: Axes, runs: Sequence[Outcome]) -> None:
    """Draw what the client received over time, each curve with its name at its end."""
    looks = plots.looks(run.way for run in runs)
    for run in runs:
        look = looks[run.way]
        line: dict[str, Any] = {"color": look.colour, "linestyle": look.dash}
        if len(run.rate):
            axes.plot(run.rate["time_s"], run.rate["rate_mbps"], label=run.way, **line)
    axes.set(title="received over time", xlabel="time (s)", ylabel="Mbit/s")
    axes.set(xlim=(0, None), ylim=(0, None))
    if axes.lines:
        axes.legend(loc="best", ncols=2)


def _stacks(axes: Axes, parts: Mapping[str, Sequence[float]], colours: Sequence[str]) -> None:
    """Draw stacked bars, a bar a way, with the name of each part above them, and their sum."""
    sums = np.zeros(len(next(iter(parts.values()), ())))
    for (name, values), colour in zip(parts.items(), colours, strict=False):
        axes.barh(range(len(sums)), values, THICK, left=sums, color=colour, label=name)
        sums = sums + np.asarray(values)
    for place, total in enumerate(sums):
        beyond: Any = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(significant(float(total)) if total else "none", (total, place), **beyond)
    axes.set_xlim(0, 1.15 * max(sums, default=1.0) or 1.0)
    if axes.containers:
        axes.legend(loc="upper left", ncols=len(parts), borderaxespad=0.1)
