"""Delays of requests, with those that were never answered counted as infinite."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

from minitopo_dc.results.errors import ResultError
from minitopo_dc.results.tables.run_files import read_numbers

FILE = "request-response.csv"
LATE = 0.95
KEPT = 1024
"""The number of runs whose delays are kept: a file has some hundreds of requests."""


def answer_worst_ms(run: Path) -> float:
    """Return the longest delay in ms; infinite when a request had no answer.

    Raises:
        ResultError: the run has no table of requests, or a broken one.
    """
    return _delays(run, _version(run))[-1]


def answer_p95_ms(run: Path) -> float:
    """Return the 95th percentile (nearest rank) of the delays of all requests, in ms.

    Raises:
        ResultError: see `answer_worst_ms`.
    """
    delays = _delays(run, _version(run))
    return delays[math.ceil(LATE * len(delays)) - 1]


def _version(run: Path) -> int:
    try:
        return (run / FILE).stat().st_mtime_ns
    except OSError as error:
        raise ResultError(f"{run / FILE}: {error.strerror}") from None


@lru_cache(KEPT)
def _delays(run: Path, _version: int) -> list[float]:
    """Return the delays in ms in ascending order, from a cache, as each measure asks for them."""
    column = read_numbers(run, FILE, ["delay_ms"])["delay_ms"]
    if column.empty:
        raise ResultError(f"{run / FILE}: no requests")
    return sorted(math.inf if math.isnan(delay) else float(delay) for delay in column)
