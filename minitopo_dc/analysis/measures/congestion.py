"""A sender's congestion control over time, of a run with one path or with several."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

from minitopo_dc.analysis.tables.rates import path_series
from minitopo_dc.analysis.tables.run_files import read_numbers

COLUMNS = ("time_s", "path", "cwnd_bytes", "smoothed_rtt_ms")
FALL = 0.9
"""Of the window before: less is a fall. CUBIC, which falls the least, goes to 0.7 (RFC 9438)."""
ROUND_TRIPS = 2
"""A loss is noticed within one, and its window falls then; the second is for queues that grow."""


def congestion_series(run: Path) -> pd.DataFrame:
    """`time_s`, `path` (1, 2, ...), `cwnd_bytes` and `smoothed_rtt_ms` of the first flow.

    No row when the run recorded none, as of a single path on the real clock.

    Raises:
        ResultError: a file is broken.
    """
    if (run / "paths.csv").exists():
        found = path_series(run)
        found = found[(found["flow"] == 1) & (found["state"] == "open")]
        return found.assign(path=found["path"] + 1)[[*COLUMNS]].reset_index(drop=True)
    if (run / "connections.csv").exists():
        found = _connections(run)
        return found.dropna(subset="cwnd_bytes").reset_index(drop=True)
    return pd.DataFrame(columns=[*COLUMNS], dtype=float)


def needless_falls(windows: pd.DataFrame, legs: pd.DataFrame, wait_s: float) -> float:
    """How often a congestion window fell though no leg had just dropped a packet.

    NaN of a run that recorded no window. Windows of BBR, which fall without losses by design, count
    too.

    Args:
        windows: `congestion_series`.
        legs: `leg_series` of the same run.
        wait_s: how long a gap may be hidden from the receiver. Just is within so long, two smoothed
            round-trip times, and the interval between two samples.
    """
    if windows["cwnd_bytes"].dropna().empty:
        return math.nan
    dropped = legs["dropped_loss"] + legs["dropped_queue"]
    losses = legs["time_s"][dropped.groupby(legs["leg"]).diff() > 0]
    before = windows.groupby("path").shift()
    fell = windows["cwnd_bytes"] < FALL * before["cwnd_bytes"]
    since = before["time_s"] - ROUND_TRIPS * windows["smoothed_rtt_ms"] / 1000 - wait_s
    at = np.sort(losses.to_numpy(dtype=float))
    before_it = np.searchsorted(at, since[fell].to_numpy(dtype=float), "left")
    by_then = np.searchsorted(at, windows["time_s"][fell].to_numpy(dtype=float), "right")
    known = since[fell].notna().to_numpy()
    return float((~(known & (by_then > before_it))).sum())


def _connections(run: Path) -> pd.DataFrame:
    """The first flow's rows, as its only path."""
    columns = [name for name in COLUMNS if name != "path"]
    table = read_numbers(run, "connections.csv", ["flow", *columns])
    return table[table["flow"] == 1].assign(path=1)[[*COLUMNS]]
