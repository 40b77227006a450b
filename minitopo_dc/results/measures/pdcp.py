"""The counters of a run's elements at its end, and measures of its PDCP entities."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import lru_cache
from pathlib import Path
from typing import Any

from minitopo_dc.results.files import ResultError, read_mapping
from minitopo_dc.units import NS_PER_MS, NS_PER_S


def receive_counters(run: Path) -> dict[int, dict[str, Any]]:
    """Return the counters of each downlink bearer, by its number; empty when the run had no bearer.

    Raises:
        ResultError: `ue-summary.json` is missing or broken.
    """
    return counters(run / "ue-summary.json", "receive")


def counters(path: Path, part: str) -> dict[int, dict[str, Any]]:
    """Return the counters of an element's `legs`, or of its bearers' ends, by their numbers.

    Raises:
        ResultError: the summary `path` is missing or broken.
    """
    try:
        version = path.stat().st_mtime_ns
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror}") from None
    return _read(path, part, version)


@lru_cache(maxsize=8)
def _read(path: Path, part: str, _version: int) -> dict[int, dict[str, Any]]:
    """Return the counters of a summary; keep the last ones.

    Several measures of a run ask for them one after the other.
    """
    summary = read_mapping(path.parent, path)
    try:
        return {int(number): dict(counted) for number, counted in summary[part].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResultError(f"{path}: malformed summary: {error!r}") from None


def _measured(
    run: Path, measure: Callable[[Collection[dict[str, Any]]], float], without: float = math.nan
) -> float:
    bearers = receive_counters(run).values()
    try:
        return measure(bearers) if bearers else without
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise ResultError(f"{run / 'ue-summary.json'}: malformed summary: {error!r}") from None


def given_up(run: Path) -> float:
    """Return the COUNTs that the downlink's receiving entities gave up; NaN without a bearer.

    Raises:
        ResultError: `ue-summary.json` is missing or broken.
    """
    return _measured(run, lambda bearers: sum(bearer["missing"] for bearer in bearers))


def leg_failures(run: Path) -> float:
    """Return how often a transmitting entity took a leg for failed, downlink and uplink.

    It is NaN when no bearer of the run detected failures (`leg_failure_ms`).

    Raises:
        ResultError: `gnb-summary.json` or `ue-summary.json` is missing or broken.
    """
    failures: list[int] = []
    for path in (run / "gnb-summary.json", run / "ue-summary.json"):
        for bearer in counters(path, "transmit").values():
            counts = [count for name, count in bearer.items() if name.startswith("failures_")]
            if not all(isinstance(count, int) for count in counts):
                raise ResultError(f"{path}: malformed summary: failures are {counts}")
            failures += counts
    return sum(failures) if failures else math.nan


def reordering_wait_ms(run: Path) -> float:
    """Return the mean time in ms that a PDU waited in the reordering buffer until its delivery.

    The mean is over all PDUs that the downlink bearers delivered, those that did not wait included.
    It is NaN when the run had no bearer.

    Raises:
        ResultError: `ue-summary.json` is missing or broken.
    """

    def wait(bearers: Collection[dict[str, Any]]) -> float:
        waited: int = sum(bearer["waiting_total_ns"] for bearer in bearers)
        delivered: int = sum(bearer["delivered"] for bearer in bearers)
        return waited / delivered / NS_PER_MS

    return _measured(run, wait)


def longest_wait_s(run: Path) -> float:
    """Return the longest time in s that a PDU waited in a downlink's reordering buffer.

    It is 0 without a bearer.

    Raises:
        ResultError: `ue-summary.json` is missing or broken.
    """
    return _measured(
        run, lambda bearers: max(entity["waiting_maximum_ns"] for entity in bearers) / NS_PER_S, 0.0
    )
