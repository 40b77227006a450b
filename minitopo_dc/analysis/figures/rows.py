"""Figures of a workload's rows (one per request, per echo) over time, by transport and mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from minitopo_dc.analysis.figures.panel import FONT, RATE_COLOUR
from minitopo_dc.analysis.figures.received import run_panels, set_axes
from minitopo_dc.analysis.tables.rows import lines_of, read_rows
from minitopo_dc.analysis.tables.summary import row_name
from minitopo_dc.files import replacing
from minitopo_dc.workloads import RowsFigure, Workload

MISSING_COLOUR = "#d62728"
LINE_COLOURS = (RATE_COLOUR, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Of a run's lines, one after the other; of the palette of Okabe and Ito."""
RIGHT = 1.02
"""Of the last point's time, where the axis ends, so that its marker is not cut off."""


def rows_figure(results: pd.DataFrame, workload: Workload, path: Path) -> None:
    """Write `draw_rows` as PNG, replacing a file of that name.

    Raises:
        ResultError: a run has no such rows, or they are broken.
        OSError: `path` cannot be written.
    """
    figure = draw_rows(results, workload)
    with replacing(path) as partial:
        figure.savefig(partial, format="png")


def draw_rows(results: pd.DataFrame, workload: Workload) -> Figure:
    """Draw the rows of a workload that has a figure of them.

    Each run that is ok is a line, or several (`RowsFigure.lines`). A row without a value (a request
    without an answer) is a cross on the axis, at its time.

    Raises:
        ResultError: a run has no such rows, or they are broken.
        ValueError: the workload has no such figure.
    """
    wanted = workload.figure
    if wanted is None:
        raise ValueError(f"workload {workload.kind} has no figure of its rows")
    figure, panels = run_panels(results)
    for axes, summary, same in panels:
        axes.set_title(f"{summary['transport']} {row_name(summary)}", fontsize=9.5, family=FONT)
        for rows in _runs(same, workload.kind, wanted):
            _draw(axes, rows, wanted)
        _legend(axes)
        if not summary["ok"]:
            axes.text(0.05, 0.5, "no run is ok", transform=axes.transAxes, family=FONT, fontsize=9)
    set_axes([axes for axes, *_ in panels])
    panels[0][0].set_xlim(right=RIGHT * panels[0][0].get_xlim()[1])
    figure.suptitle(wanted.title, fontsize=12, family=FONT, fontweight="bold")
    figure.supxlabel(wanted.x_label, fontsize=9.5, family=FONT)
    figure.supylabel(wanted.y_label, fontsize=9.5, family=FONT)
    return figure


def _runs(results: pd.DataFrame, kind: str, wanted: RowsFigure) -> Iterator[pd.DataFrame]:
    for run in results[results["status"] == "ok"]["directory"]:
        yield read_rows(Path(run), kind, wanted)


def _draw(axes: Axes, rows: pd.DataFrame, wanted: RowsFigure) -> None:
    for place, (name, line) in enumerate(lines_of(rows, wanted)):
        colour = LINE_COLOURS[place % len(LINE_COLOURS)]
        x, y = line[wanted.x], line[wanted.y]
        axes.plot(x, y, color=colour, linewidth=1.0, marker=".", label=name or None)
    missing = rows[rows[wanted.y].isna()][wanted.x]
    if not missing.empty:  # without a point, what is not clipped would have its place at (0, 0)
        axes.plot(missing, [0.0] * len(missing), "x", color=MISSING_COLOUR, clip_on=False)


def _legend(axes: Axes) -> None:
    """Name the lines where a run has several; those of further runs have the same names."""
    handles, names = axes.get_legend_handles_labels()
    named = dict(zip(names, handles, strict=True))
    if len(named) > 1:
        axes.legend([*named.values()], [*named], prop={"family": FONT, "size": 8})
