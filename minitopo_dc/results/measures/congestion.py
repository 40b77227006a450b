"""A sender's congestion control over time, in a run with one path or with several."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from minitopo_dc.results.files import read_numbers
from minitopo_dc.results.tables.series import path_series

Numbers = npt.NDArray[np.float64]
COLUMNS = ("time_s", "path", "cwnd_bytes", "smoothed_rtt_ms")
FALL = 0.9
"""The part of the window before below which it has fallen. CUBIC, which falls the least, goes to
0.7 (RFC 9438)."""
ROUND_TRIPS = 2
"""The round trips within which a window falls for a loss: it is noticed within one, and the second
is for queues that grow."""


def congestion_series(run: Path) -> pd.DataFrame:
    """Return `time_s`, `path` (1, 2, ...), `cwnd_bytes` and `smoothed_rtt_ms` of the first flow.

    There are no rows when the run recorded none, as with a single path on the real clock.

    Raises:
        ResultError: a file is broken.
    """
    if (run / "paths.csv").exists():
        samples = path_series(run)
        samples = samples[(samples["flow"] == 1) & (samples["state"] == "open")]
        return samples.assign(path=samples["path"] + 1)[[*COLUMNS]].reset_index(drop=True)
    if (run / "connections.csv").exists():
        numbers = [name for name in COLUMNS if name != "path"]
        samples = read_numbers(run, "connections.csv", ["flow", *numbers])
        samples = samples[(samples["flow"] == 1) & samples["cwnd_bytes"].notna()]
        samples = samples[numbers].astype(float).assign(path=1)
        return samples[[*COLUMNS]].reset_index(drop=True)
    return pd.DataFrame(columns=[*COLUMNS], dtype=float)


def needless_falls(windows: pd.DataFrame, losses: pd.DataFrame, wait_s: float) -> float:
    """Return how often a congestion window fell though no packet had just been lost.

    It is NaN for a run that recorded no window. Windows of BBR, which fall without losses by
    design, count too.

    Args:
        windows: `congestion_series`.
        losses: `losses_over_time` of the same run.
        wait_s: how long a gap may be hidden from the receiver. A loss counts as recent within this
            time, two smoothed round-trip times, and the interval between two samples together.
    """
    if windows["cwnd_bytes"].dropna().empty:
        return math.nan
    times, (lost,) = _grouped_series(losses, "part", "time_s", "lost")
    moments = np.sort(times[1:][(np.diff(lost) > 0) & ~np.isnan(times[:-1])])
    times, (cwnd, rtt_ms) = _grouped_series(
        windows, "path", "time_s", "cwnd_bytes", "smoothed_rtt_ms"
    )
    fell = cwnd[1:] < FALL * cwnd[:-1]
    since = (times[:-1] - ROUND_TRIPS * rtt_ms[1:] / 1000 - wait_s)[fell]
    first, last = (
        np.searchsorted(moments, since),
        np.searchsorted(moments, times[1:][fell], "right"),
    )
    return float((np.isnan(since) | (last <= first)).sum())


def _grouped_series(
    table: pd.DataFrame, key: str, time: str, *columns: str
) -> tuple[Numbers, Numbers]:
    """Return times, and rows of numbers, of one leg or path after the other, with NaN between."""
    keys = pd.factorize(table[key])[0]
    order = np.argsort(keys, kind="stable")
    values = np.stack([table[name].to_numpy(dtype=float)[order] for name in (time, *columns)])
    starts = np.flatnonzero(np.diff(keys[order])) + 1
    parted = np.insert(values, starts, np.nan, axis=1)
    return parted[0], parted[1:]
