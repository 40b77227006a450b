"""Delays of a run's packets: their median and 95th percentile."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import numpy as np

from minitopo_dc.results.logs.connection_log import connection_log
from minitopo_dc.results.measures.congestion import congestion_series
from minitopo_dc.results.tables.load import load_result

PACKETS, ROUND_TRIPS = "packet_delay", "smoothed_rtt"
QUANTILES = {"median": 0.5, "p95": 0.95}


def delay_ms(run: Path, name: str) -> float:
    """Return a quantile of a run's delays in ms; of several flows, of the first one.

    Args:
        run: the run's directory.
        name: `packet_delay_median_ms`, `packet_delay_p95_ms`: one way, of each packet with content
            that arrived, which needs records of both ends (docs/results.md); or
            `smoothed_rtt_median_ms`, `smoothed_rtt_p95_ms`: of the sender's samples.

    Raises:
        ResultError: the run lacks the records, or a file is broken.
    """
    what, part = name.removesuffix("_ms").rsplit("_", 1)
    return _quantiles(run, what, (run / "result.json").stat().st_mtime_ns)[part]


@lru_cache(maxsize=4096)
def _quantiles(run: Path, what: str, _version: int) -> dict[str, float]:
    """Return all quantiles by one reading of the logs, which may be long."""
    values = _packets(run) if what == PACKETS else _round_trips(run)
    values = values[np.isfinite(values)]
    return {
        part: float(np.quantile(values, share)) if len(values) else math.nan
        for part, share in QUANTILES.items()
    }


def _packets(run: Path) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    packets = connection_log(run).packets
    return np.asarray(1000 * (packets["received_s"] - packets["sent_s"]), dtype=float)


def _round_trips(run: Path) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    series = congestion_series(run)
    end_s = load_result(run).completion_s or math.inf
    return np.asarray(series["smoothed_rtt_ms"][series["time_s"] <= end_s], dtype=float)


DELAY_MEASURES = tuple(f"{what}_{part}_ms" for what in (PACKETS, ROUND_TRIPS) for part in QUANTILES)
