"""The goodput figure: what the client received over time, against the legs' capacity.

Rules of the figure:

* Each transport and mode has a panel, in the order of the table; all have the same axes.
* Capacities are stacked: leg 1, on it leg 2, and so on. Their steps are also the bins of the rates.
* Each run that is ok is a line of its own: nothing is averaged over runs but the goodput in the
  title. Transports without such a run have a reason and no line.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from minitopo_dc.analysis.figures.panel import FONT, RATE_COLOUR, draw_panel, leg_greys, step_s
from minitopo_dc.analysis.tables.summary import compare_table
from minitopo_dc.files import replacing

MAX_COLUMNS = 3
"""The most columns; with more, the figure's text is too small on a page."""
PANEL_INCHES = (3.75, 2.0)
FRAME_INCHES = (0.5, 1.2)
"""The space for the labels of the axes, the title and the legend."""
DOTS_PER_INCH = 150


def goodput_figure(results: pd.DataFrame, capacities: pd.DataFrame, path: Path) -> None:
    """Write `draw_goodput` as PNG, replacing a file of that name.

    Raises:
        ResultError: a run's `client-rate.csv` is broken.
        OSError: it cannot be read, or `path` cannot be written.
    """
    figure = draw_goodput(results, capacities)
    with replacing(path) as partial:
        figure.savefig(partial, format="png")


def draw_goodput(results: pd.DataFrame, capacities: pd.DataFrame) -> Figure:
    """Draw the rate received by the client in each transport and mode.

    Args:
        results: runs (`load_results`); those that are ok have a `client-rate.csv`.
        capacities: `time_s`, the begins of equal steps, and the mean capacity of the legs in them
            as `leg_1_mbps`, `leg_2_mbps`, ...
    """
    figure, panels = run_panels(results)
    for axes, summary, same in panels:
        draw_panel(axes, summary, same, capacities)
    set_axes([axes for axes, *_ in panels])
    _label(figure, capacities)
    return figure


def run_panels(
    results: pd.DataFrame,
) -> tuple[Figure, list[tuple[Axes, dict[Any, Any], pd.DataFrame]]]:
    """Return a figure and, for each transport and mode, its axes, its summary and its runs."""
    figure = Figure(layout="constrained", dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    groups = []
    for summary in compare_table(results).to_dict("records"):
        keys = ["transport", "mode", "variant"]
        same = (results[keys] == [summary[key] for key in keys]).all(axis=1)
        groups.append((summary, results[same]))
    panels = _panel_grid(figure, len(groups))
    return figure, [(axes, *group) for axes, group in zip(panels, groups, strict=True)]


def _panel_grid(figure: Figure, count: int) -> list[Axes]:
    """Return axes of equal limits, in rows; the lowest of each column has the numbers."""
    columns = min(MAX_COLUMNS, math.ceil(math.sqrt(count)))
    rows = math.ceil(count / columns)
    figure.set_size_inches(
        max(columns, 2) * PANEL_INCHES[0] + FRAME_INCHES[0],
        rows * PANEL_INCHES[1] + FRAME_INCHES[1],
    )
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    panels: list[Axes] = list(grid.flat)
    for unused in panels[count:]:
        unused.remove()
    for lowest in panels[:count][-columns:]:
        lowest.tick_params(labelbottom=True)
    return panels[:count]


def set_axes(panels: list[Axes]) -> None:
    """Set common limits from 0, and remove all of the frame but the two axes."""
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8, labelfontfamily=FONT)
        axes.margins(x=0)
    panels[0].set_xlim(left=0)
    panels[0].set_ylim(bottom=0)


def _label(figure: Figure, capacities: pd.DataFrame) -> None:
    figure.supxlabel("time since the start (s)", fontsize=9.5, family=FONT)
    bins = f"bins of {step_s(capacities):g} s"
    figure.supylabel(f"rate of IP bytes (Mbit/s, {bins})", fontsize=9.5, family=FONT)
    figure.legend(
        handles=_legend(capacities),
        loc="outside upper left",
        title="Rate received by the client against the capacity of the legs",
        title_fontproperties={"family": FONT, "size": 12, "weight": "bold"},
        alignment="left",
        ncols=4,
        frameon=False,
        prop={"family": FONT, "size": 9},
    )


def _legend(capacities: pd.DataFrame) -> list[Artist]:
    return [
        Line2D([], [], label="received, one line per run", color=RATE_COLOUR, linewidth=1.7),
        Line2D([], [], label="complete", color=RATE_COLOUR, marker="^", linestyle="", markersize=5),
        *(
            Patch(color=grey, label="capacity of leg 1" if leg == 1 else f"+ leg {leg}")
            for leg, grey in enumerate(leg_greys(len(capacities.columns) - 1), start=1)
        ),
    ]
