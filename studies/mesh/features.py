"""Features of a connection, as measures of runs: those of table 4, by its names.

They are the same on both clocks; docs/results.md describes them.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from connection import ConnectionLog, connection_log
from numpy.typing import NDArray

import minitopo_dc as dc

LAGS = (1, 10, 100)
"""The lags of the index of dispersion for intervals. The study does not tell its own."""
LAG = 10
"""The lag of `server_burstiness` and `client_burstiness`, chosen by this project."""
BURST_PACKETS = 16
"""The packets that aioquic's pacing sends at once: a window with more room than that is not
filled."""
STATES = ("slow_start", "congestion_avoidance", "application_limited", "recovery")
FEATURES = (
    *(
        f"{end}_{name}"
        for end in ("server", "client")
        for name in (
            *("inter_packet_time_mean_ms", "inter_packet_time_median_ms"),
            "inter_packet_time_variance_ms2",
            *("burstiness_1", "burstiness", "burstiness_100"),
        )
    ),
    *("mean_delay_ms", "delay_variation_ms2", "packet_loss", "out_of_order", "ack_frequency"),
    *("cwnd_mean_kb", "cwnd_variance_kb2"),
    *(f"{state}_share" for state in STATES),
)
"""The names of all features; docs/results.md has their units."""
MS = 1000.0
KB = 1000.0


@dc.run_measures(*FEATURES)
def connection_features(run: Path) -> dict[str, float]:
    """Return the features of a run's connection; of several flows, of the first one.

    Raises:
        ResultError: a record is missing or broken (`connection_log`).
    """
    log = connection_log(run)
    return {
        **_intervals("server", log.packets["sent_s"]),
        **_intervals("client", log.packets["received_s"].dropna().sort_values()),
        **_path(log.packets),
        "ack_frequency": log.acknowledgements / len(log.packets),
        **_window(log),
        **{f"{state}_share": share for state, share in state_shares(log).items()},
    }


def dispersion(intervals: NDArray[Any], lag: int) -> float:
    """Return the index of dispersion for intervals: the variance of sums of `lag` over Poisson's.

    `Var(X_i + ... + X_(i+k-1)) / (k * mean(X)^2)` (Cox and Lewis 1966; Sriram and Whitt 1986) is 1
    for a Poisson process, and 0 for a regular one. It is NaN with fewer than two such sums, or when
    no time passed.
    """
    if len(intervals) < lag + 1 or not intervals.any():
        return math.nan
    summed = np.convolve(intervals, np.ones(lag), "valid")
    return float(summed.var(ddof=1) / (lag * intervals.mean() ** 2))


def _intervals(end: str, times: pd.Series[float]) -> dict[str, float]:
    gaps = np.diff(times.to_numpy(dtype=float)) * MS
    times_between = f"{end}_inter_packet_time"
    found = {
        f"{times_between}_mean_ms": float(gaps.mean()) if gaps.size else math.nan,
        f"{times_between}_median_ms": float(np.median(gaps)) if gaps.size else math.nan,
        f"{times_between}_variance_ms2": float(gaps.var(ddof=1)) if gaps.size > 1 else math.nan,
    }
    for lag in LAGS:
        suffix = "" if lag == LAG else f"_{lag}"
        found[f"{end}_burstiness{suffix}"] = dispersion(gaps, lag)
    return found


def _path(packets: pd.DataFrame) -> dict[str, float]:
    arrived = packets.dropna(subset=["received_s"]).sort_values("received_s", kind="stable")
    delays = (arrived["received_s"] - arrived["sent_s"]).to_numpy() * MS
    numbers = arrived["number"].to_numpy()
    overtaken = numbers < np.maximum.accumulate(numbers)
    return {
        "mean_delay_ms": float(delays.mean()),
        "delay_variation_ms2": float(delays.var(ddof=1)) if delays.size > 1 else math.nan,
        "packet_loss": 1 - len(arrived) / len(packets),
        "out_of_order": float(overtaken.sum() / len(packets)),
    }


def _window(log: ConnectionLog) -> dict[str, float]:
    windows, lasted = log.during()
    sizes = windows["cwnd_bytes"].to_numpy(dtype=float) / KB
    mean = float(np.average(sizes, weights=lasted))
    variance = float(np.average((sizes - mean) ** 2, weights=lasted))
    return {"cwnd_mean_kb": mean, "cwnd_variance_kb2": variance}


def state_shares(log: ConnectionLog) -> dict[str, float]:
    """Return the shares of the transfer's time by `STATES`; they add up to 1.

    - recovery: from a cut of the window until a packet sent after it has arrived;
    - application limited: else, while the window has more room than pacing fills at once;
    - slow start: else, below the threshold or without one; congestion avoidance: else.
    """
    windows, lasted = log.during()
    times, room = windows["time_s"], windows["cwnd_bytes"] - windows["in_flight_bytes"]
    in_recovery = np.zeros(len(windows), dtype=bool)
    for begin, end in _recoveries(log):
        in_recovery |= ((times >= begin) & (times < end)).to_numpy()
    limited = (room > BURST_PACKETS * log.packets["bytes"].max()).to_numpy() & ~in_recovery
    threshold = windows["ssthresh_bytes"]
    below = (threshold.isna() | (windows["cwnd_bytes"] < threshold)).to_numpy()
    starting = below & ~in_recovery & ~limited
    parts = (starting, ~(starting | limited | in_recovery), limited, in_recovery)
    shares = [float(lasted[part].sum() / lasted.sum()) for part in parts]
    return dict(zip(STATES, shares, strict=True))


def _recoveries(log: ConnectionLog) -> list[tuple[float, float]]:
    packets = log.packets
    found = []
    for cut in log.cuts:
        later = packets[packets["sent_s"] > cut.time_s]["received_s"].dropna()
        found.append((cut.time_s, float(later.min()) if len(later) else log.end_s))
    return found
