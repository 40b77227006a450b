"""Charts of runs over the same legs over time, which show why one is faster than the other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from minitopo_dc.analysis.errors import naming
from minitopo_dc.analysis.figures.chart import (
    DASHES,
    Axis,
    Chart,
    Look,
    Numbers,
    Panel,
    Series,
    draw,
    numbers,
)
from minitopo_dc.analysis.measures.congestion import congestion_series
from minitopo_dc.analysis.measures.pdcp import receive_counters
from minitopo_dc.analysis.tables.load import load_result
from minitopo_dc.analysis.tables.series import leg_series, pdcp_series
from minitopo_dc.units import NS_PER_MS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_BINS = 100
"""The most bins of a transfer: more is noise at this width."""
MIN_BIN_S = 0.1
"""The least width of a bin, the default interval of a run's series."""
Curves = Mapping[str, tuple[Any, Any]]
"""Times and values by their legs: `leg 1`."""


def draw_why(runs: Mapping[str, Path], title: str) -> Figure:
    """Draw the chart of `why_chart` for a paper."""
    return draw(why_chart("why", runs, title))


def why_chart(name: str, runs: Mapping[str, Path], title: str) -> Chart:
    """Return rates and queues of the legs, congestion windows, round-trip times, waits in PDCP.

    Args:
        name: the name of the figure's files.
        runs: directories of runs that are ok, by name.
        title: the title of the figure.

    Raises:
        ResultError, OSError: a file of a run is missing or broken.
    """
    found = {run: run_series(directory) for run, directory in runs.items()}
    rows = []
    for label in dict.fromkeys(label for each in found.values() for label in each):
        series = tuple(
            _series(f"{run}, {what}", number, what, points)
            for number, run in enumerate(found)
            for what, points in found[run].get(label, {}).items()
        )
        if series:
            rows.append(Panel("", Axis("time (s)", from_zero=True), Axis(label, from_zero=True),
                              series))  # fmt: skip
    return Chart(name, title, tuple(rows), together=True)


def _series(label: str, run: int, what: str, points: tuple[Numbers, Numbers]) -> Series:
    """Return a curve with a colour for its run and a dash for its leg."""
    turn, dash = divmod(int(what.rsplit(maxsplit=1)[-1]) - 1, len(DASHES))
    return Series(label, *points, Look(run + 2 * turn, dash))


def run_series(run: Path) -> dict[str, Curves]:
    """Return the curves of a run by the label of their axis, up to the end of its transfer.

    Raises:
        ResultError, OSError: a file of the run is missing or broken.
    """
    with naming(run):
        end_s = load_result(run).completion_s or 0.0
        legs = leg_series(run)
        bin_s = max(MIN_BIN_S, end_s / MAX_BINS)
        return {
            "rate of a leg (Mbit/s)": _rates(legs, end_s, bin_s),
            "queue of a leg (kB)": _queues(legs, end_s, bin_s),
            **_congestion(run, end_s, bin_s),
            "mean wait for reordering (ms)": reordering_waits(run, end_s, bin_s),
        }


def _rates(legs: pd.DataFrame, end_s: float, bin_s: float) -> Curves:
    edges = np.arange(int(np.ceil(end_s / bin_s)) + 1) * bin_s
    found = {}
    for leg, rows in legs.groupby("leg"):
        delivered = np.interp(edges, rows["time_s"], rows["delivered_bytes"])
        if delivered[-1] > delivered[0]:
            rates = np.diff(delivered) * 8 / bin_s / 1e6
            found[f"leg {leg}"] = (edges[:-1] + bin_s / 2, rates)
    return found


def _queues(legs: pd.DataFrame, end_s: float, bin_s: float) -> Curves:
    return {
        f"leg {leg}": _thinned(rows["time_s"], rows["queue_bytes"] / 1000, end_s, bin_s)
        for leg, rows in legs.groupby("leg")
        if rows["queue_bytes"].any()
    }


def _congestion(run: Path, end_s: float, bin_s: float) -> dict[str, Curves]:
    series = congestion_series(run)
    labels = {
        "congestion window (kB)": series["cwnd_bytes"] / 1000,
        "smoothed round-trip time (ms)": series["smoothed_rtt_ms"],
    }
    return {
        label: {
            f"path {path:g}": _thinned(series["time_s"][rows], values[rows], end_s, bin_s)
            for path, rows in series.groupby("path").groups.items()
        }
        for label, values in labels.items()
    }


def reordering_waits(run: Path, end_s: float, bin_s: float) -> Curves:
    """Return the mean wait of the PDUs of each interval; NaN where it delivered nothing."""
    if not receive_counters(run):
        return {}
    series = pdcp_series(run)
    first: pd.DataFrame = series[series["bearer"] == series["bearer"].min()]
    chosen = _chosen(first["time_s"].to_numpy(), end_s, bin_s)
    waited, delivered = (
        np.diff(first[name].to_numpy(dtype=float)[chosen])
        for name in ("waiting_total_ns", "delivered")
    )
    times = first["time_s"].to_numpy()[chosen][1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"bearer 1": (times, numbers(waited / delivered / NS_PER_MS))}


def _thinned(
    times: pd.Series[float], values: pd.Series[float], end_s: float, bin_s: float
) -> tuple[Numbers, Numbers]:
    chosen = _chosen(times.to_numpy(), end_s, bin_s)
    return times.to_numpy()[chosen], numbers(values.to_numpy()[chosen])


def _chosen(times: Any, end_s: float, bin_s: float) -> Any:
    """Return the places of the first sample of each bin, up to the end."""
    _, first = np.unique(np.floor(times / bin_s + 1e-6), return_index=True)
    return first[times[first] <= end_s + bin_s]
