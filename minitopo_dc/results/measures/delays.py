"""Delays of a run: of its packets, its sender's round trips, and the requests of its client."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from minitopo_dc.results.files import ResultError, read_numbers
from minitopo_dc.results.logs import connection_log
from minitopo_dc.results.measures.congestion import congestion_series
from minitopo_dc.results.tables.runs import load_result

PACKETS, ROUND_TRIPS = "packet_delay", "smoothed_rtt"
QUANTILES = {"median": 0.5, "p95": 0.95}
DELAY_MEASURES = tuple(f"{what}_{part}_ms" for what in (PACKETS, ROUND_TRIPS) for part in QUANTILES)
REQUESTS = "request-response.csv"
LATE = 0.95
KEPT = 1024
"""The number of runs whose requests are kept: a file has some hundreds of them."""


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


def answer_worst_ms(run: Path) -> float:
    """Return the longest delay of a request in ms; infinite when one had no answer.

    Raises:
        ResultError: the run has no table of requests, or a broken one.
    """
    return float(_answers(run).max())


def answer_p95_ms(run: Path) -> float:
    """Return the 95th percentile (nearest rank) of the delays of all requests, in ms.

    Raises:
        ResultError: see `answer_worst_ms`.
    """
    return float(np.quantile(_answers(run), LATE, method="inverted_cdf"))


@lru_cache(maxsize=4096)
def _quantiles(run: Path, what: str, _version: int) -> dict[str, float]:
    """Return all quantiles by one reading of the logs, which may be long."""
    if what == PACKETS:
        packets = connection_log(run).packets
        values = 1000 * (packets["received_s"] - packets["sent_s"])
    else:
        series, end_s = congestion_series(run), load_result(run).completion_s or math.inf
        values = series["smoothed_rtt_ms"][series["time_s"] <= end_s]
    known = values.to_numpy(dtype=float)
    known = known[np.isfinite(known)]
    return {
        part: float(np.quantile(known, share)) if len(known) else math.nan
        for part, share in QUANTILES.items()
    }


def _answers(run: Path) -> npt.NDArray[np.float64]:
    try:
        return _answers_ms(run, (run / REQUESTS).stat().st_mtime_ns)
    except OSError as error:
        raise ResultError(f"{run / REQUESTS}: {error.strerror}") from None


@lru_cache(KEPT)
def _answers_ms(run: Path, _version: int) -> npt.NDArray[np.float64]:
    """Return the delays in ms, infinite without an answer, from a cache: two measures need them."""
    delays = read_numbers(run, REQUESTS, ["delay_ms"])["delay_ms"].to_numpy(dtype=float)
    if not len(delays):
        raise ResultError(f"{run / REQUESTS}: no requests")
    return np.where(np.isnan(delays), math.inf, delays)
