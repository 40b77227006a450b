"""Runs over the same legs side by side: what shows why one is faster than the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from minitopo_dc.analysis.errors import naming
from minitopo_dc.analysis.figures.curves import COLOURS, DOTS_PER_INCH
from minitopo_dc.analysis.figures.panel import FONT
from minitopo_dc.analysis.measures.congestion import congestion_series
from minitopo_dc.analysis.measures.pdcp import receive_counters
from minitopo_dc.analysis.tables.rates import leg_rates
from minitopo_dc.analysis.tables.run_files import read_numbers
from minitopo_dc.analysis.tables.series import pdcp_series
from minitopo_dc.units import NS_PER_MS

PANEL_INCHES = (4.2, 1.75)
MOST_BINS = 60
"""Of a transfer: more is noise at this width."""
LEAST_BIN_S = 0.1
"""The default interval of a run's series."""


@dataclass(frozen=True)
class Row:
    """One quantity of all runs."""

    label: str
    lines: Callable[[Path, float], Mapping[str, tuple[pd.Series[float], pd.Series[float]]]]
    """Of a run that took so long: name, times, values."""


def draw_why(runs: Mapping[str, Path], title: str) -> Figure:
    """Rates of the legs, congestion windows, round-trip times and waits in PDCP over time.

    Args:
        runs: name: directory of a run that is ok; a column for each.
        title: of all.

    Raises:
        ResultError, OSError: a file of a run is missing or broken.
    """
    width, height = PANEL_INCHES
    figure = Figure(
        figsize=(width * len(runs), height * len(ROWS) + 0.5),
        layout="constrained",
        dpi=DOTS_PER_INCH,
    )
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(ROWS), len(runs), sharex=True, sharey="row", squeeze=False)
    for row, places in zip(ROWS, grid, strict=True):
        for (name, run), axes in zip(runs.items(), places, strict=True):
            with naming(run):
                _draw(axes, row.lines(run, _end_s(run)))
            axes.set_title(name if row is ROWS[0] else "", loc="left", fontsize=9, family=FONT)
        places[0].set_ylabel(row.label, fontsize=8, family=FONT)
        places[0].set_ylim(bottom=0)
    for axes in grid[-1]:
        axes.set_xlabel("time (s)", fontsize=8, family=FONT)
    figure.suptitle(title, fontsize=9.5, family=FONT, x=0.01, ha="left", parse_math=False)
    return figure


Lines = Mapping[str, tuple["pd.Series[float]", "pd.Series[float]"]]


def _draw(axes: Axes, lines: Lines) -> None:
    for name, (times, values) in lines.items():
        colour = COLOURS[(int(name.split()[-1]) - 1) % len(COLOURS)]
        axes.plot(times, values, color=colour, linewidth=1.1, label=name)
    if len(lines) > 1:
        axes.legend(frameon=False, prop={"family": FONT, "size": 7})
    if not lines:
        axes.text(0.5, 0.5, "none", transform=axes.transAxes, ha="center", fontsize=8, color="0.5")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7, labelfontfamily=FONT)


def _end_s(run: Path) -> float:
    return float(read_numbers(run, "client-rate.csv", ["time_s"])["time_s"].max())


def _legs(run: Path, end_s: float) -> Lines:
    bin_s = max(LEAST_BIN_S, end_s / MOST_BINS)
    rates = leg_rates(run, bin_s=bin_s)
    rates = rates[rates["time_s"] <= end_s]
    return {
        f"leg {leg}": (rows["time_s"] + bin_s / 2, rows["rate_mbps"])
        for leg, rows in rates.groupby("leg")
        if rows["rate_mbps"].any()
    }


def _congestion(column: str, divisor: float) -> Callable[[Path, float], Lines]:
    def lines(run: Path, end_s: float) -> Lines:
        series = congestion_series(run)
        series = series[series["time_s"] <= end_s]
        return {
            f"path {path}": (rows["time_s"], rows[column] / divisor)
            for path, rows in series.groupby("path")
        }

    return lines


def _waits(run: Path, end_s: float) -> Lines:
    """Mean over the PDUs of an interval; none where it delivered nothing."""
    if not receive_counters(run):
        return {}
    series = pdcp_series(run)
    first = series[(series["bearer"] == series["bearer"].min()) & (series["time_s"] <= end_s)]
    waited, delivered = (first[name].diff() for name in ("waiting_total_ns", "delivered"))
    return {"bearer 1": (first["time_s"], waited / delivered.replace(0, np.nan) / NS_PER_MS)}


ROWS = (
    Row("rate of a leg (Mbit/s)", _legs),
    Row("congestion window (kB)", _congestion("cwnd_bytes", 1000)),
    Row("smoothed round trip (ms)", _congestion("smoothed_rtt_ms", 1)),
    Row("wait in PDCP (ms)", _waits),
)
