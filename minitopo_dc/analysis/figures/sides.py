"""Ways to use the same legs over time: what the client receives, and what waits for its order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from minitopo_dc.analysis.errors import naming
from minitopo_dc.analysis.figures.chart import Axis, Chart, Panel, lines
from minitopo_dc.analysis.figures.why import MAX_BINS, MIN_BIN_S, reordering_waits
from minitopo_dc.analysis.tables.load import load_result
from minitopo_dc.analysis.tables.series import client_rate

BEARER = "bearer 1"


def sides_chart(name: str, title: str, runs: Mapping[str, Path]) -> Chart:
    """Return a panel of the rates and, where a run has a bearer, one of waits for reordering.

    Args:
        name: of the figure's files.
        title: of all.
        runs: what a run is called, and the directory of one that is ok.

    Raises:
        ResultError, OSError: a file of a run is missing or broken.
    """
    rates, waits = {}, {}
    for label, run in runs.items():
        with naming(run):
            end_s = load_result(run).completion_s or 0.0
            bin_s = max(MIN_BIN_S, end_s / MAX_BINS)
            rate = client_rate(run, bin_s)
            rates[label] = (rate["time_s"] + bin_s / 2, rate["rate_mbps"])
            if BEARER in (found := reordering_waits(run, end_s, bin_s)):
                waits[label] = found[BEARER]
    time = Axis("time (s)", from_zero=True)
    panels = [Panel("", time, Axis("received (Mbit/s)", from_zero=True), lines(rates))]
    if waits:
        panels.append(Panel("", time, Axis("reordering wait (ms)", from_zero=True), lines(waits)))
    return Chart(name, title, tuple(panels), together=True)
