"""What each leg of a run delivered over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from minitopo_dc.analysis.curves import Line, Panel, draw_series
from minitopo_dc.analysis.series import leg_series
from minitopo_dc.settings import Direction
from minitopo_dc.whole_files import replacing

BIN_S = 0.2
"""Two samples of the default interval: with one, rates would show where in it the samples were."""
DIRECTIONS: tuple[Direction, ...] = ("downlink", "uplink")


def leg_rates(run: Path, direction: Direction = "downlink", bin_s: float = BIN_S) -> pd.DataFrame:
    """Mean rate of the IP bytes that each leg delivered, in bins of `bin_s`.

    Columns: `time_s`, the begin of a bin, `leg` and `rate_mbps`. Between two samples the bytes are
    spread evenly; after the last one there are none.

    Raises:
        ResultError: a file of the element's is broken.
        OSError: one of them cannot be read.
    """
    series = leg_series(run, direction)
    edges = np.arange(max(1, np.ceil(series["time_s"].max() / bin_s)) + 1) * bin_s
    tables = []
    for leg, rows in series.groupby("leg"):
        delivered = np.interp(edges, rows["time_s"], rows["delivered_bytes"])
        rates = np.diff(delivered) * 8 / bin_s / 1e6
        tables.append(pd.DataFrame({"time_s": edges[:-1], "leg": leg, "rate_mbps": rates}))
    return pd.concat(tables, ignore_index=True)


def legs_figure(run: Path, path: Path) -> None:
    """Draw the rates of a run's legs as PNG: a panel for each direction, a line for each leg.

    Raises:
        ResultError: a file of an element's is broken.
        OSError: one of them cannot be read, or `path` cannot be written.
    """
    panels = [
        Panel(direction, "rate of IP bytes (Mbit/s)", _lines(leg_rates(run, direction)))
        for direction in DIRECTIONS
    ]
    with replacing(path) as partial:
        draw_series(panels, steps=True).savefig(partial, format="png")


def _lines(rates: pd.DataFrame) -> list[Line]:
    lines = []
    for number, (leg, rows) in enumerate(rates.groupby("leg")):
        end = pd.DataFrame({"x": [rows["time_s"].iloc[-1] + BIN_S], "mean": [0.0]})
        bins = pd.DataFrame({"x": rows["time_s"], "mean": rows["rate_mbps"]})
        points = pd.concat([bins, end], ignore_index=True)
        lines.append(Line(f"leg {leg}", number, False, points))
    return lines
