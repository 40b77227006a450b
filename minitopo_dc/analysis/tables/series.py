"""Time series of one run, with time counted from the elements' start (docs/results.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.settings import Direction
from minitopo_dc.units import NS_PER_S

BIN_S = 0.5
"""s; long against a round trip of the papers' legs (20 ms), short against a change of an LTE cell's
capacity in the traces (sampled once a second)."""


def client_rate(run: Path, bin_s: float = BIN_S) -> pd.DataFrame:
    """Mean rate at which IP bytes reached the client, in bins of `bin_s`.

    Columns: `time_s`, the begin of a bin, and `rate_mbps`. Between two samples of the
    cumulative count the bytes are spread evenly; after the last one nothing arrives. So the bins
    together hold every byte, and the last bin is low where the transfer ended within it.

    Raises:
        ResultError: `client-rate.csv` is broken, or its times or counts go backwards.
        OSError: it cannot be read.
    """
    if not bin_s > 0:
        raise ValueError(f"bin_s: {bin_s}; allowed: above 0")
    path = run / "client-rate.csv"
    samples = _read(path, ["time_s", "received_bytes"])
    times, counts = (samples[name].to_numpy(dtype=float) for name in ("time_s", "received_bytes"))
    if times.size == 0:
        return pd.DataFrame({"time_s": times, "rate_mbps": counts})
    _check_order(path, samples)
    edges = np.arange(max(1, np.ceil(times[-1] / bin_s)) + 1) * bin_s
    received = np.interp(edges, times, counts)
    received[0], received[-1] = 0, counts[-1]
    return pd.DataFrame({"time_s": edges[:-1], "rate_mbps": np.diff(received) * 8 / bin_s / 1e6})


def leg_series(run: Path, direction: Direction = "downlink") -> pd.DataFrame:
    """What legs counted: `gnb-legs.csv`, uplink `ue-legs.csv`, with `time_s` for `time_ns`.

    One row per interval and `leg`; the other columns are the leg's statistics, cumulative except
    for the gauges. Rows from before the start have a negative time.

    Raises:
        ResultError: this file or the element's summary is broken.
        OSError: one of them cannot be read; a run whose element died has no summary.
    """
    return _element_series(run, "gnb" if direction == "downlink" else "ue", "legs", "leg")


def pdcp_series(run: Path) -> pd.DataFrame:
    """What ue's receiving PDCP entities counted: `ue-receive.csv` with `time_s`.

    One row per interval and `bearer`, otherwise as `leg_series`. Only runs over DC have the file.

    Raises:
        ResultError: `ue-receive.csv` or `ue-summary.json` is broken.
        OSError: one of them cannot be read.
    """
    return _element_series(run, "ue", "receive", "bearer")


def _element_series(run: Path, host: str, name: str, key: str) -> pd.DataFrame:
    table = _read(run / f"{host}-{name}.csv", ["time_ns", key])
    # Subtracted as integers: a float cannot hold the ns of a clock that has run for months.
    elapsed = table.pop("time_ns") - _start_ns(run / f"{host}-summary.json")
    table.insert(0, "time_s", elapsed / NS_PER_S)
    return table


def _start_ns(path: Path) -> int:
    try:
        start = json.loads(path.read_text(encoding="utf-8"))["start_ns"]
    except (ValueError, TypeError, KeyError) as error:
        raise ResultError(f"{path}: not a whole summary: {error}") from None
    if not isinstance(start, int):
        raise ResultError(f"{path}: start_ns: {start!r}; allowed: a number of ns")
    return start


def read_numbers(path: Path, columns: Iterable[str]) -> pd.DataFrame:
    """Read a CSV file, of which these columns are numbers, NaN where one is not known.

    Raises:
        ResultError: the file is missing or broken, or lacks a column.
    """
    try:
        table = pd.read_csv(path)
        for column in columns:
            table[column] = pd.to_numeric(table[column])
    except KeyError as error:
        raise ResultError(f"{path}: no column {error.args[0]}") from None
    except (OSError, ValueError) as error:
        raise ResultError(f"{path}: {error}") from None
    return table


def _read(path: Path, columns: list[str]) -> pd.DataFrame:
    """A CSV file of numbers with at least these columns."""
    try:
        table = pd.read_csv(path)
    except ValueError as error:  # no header, rows of different lengths, or not UTF-8
        raise ResultError(f"{path}: {' '.join(str(error).split())}") from None
    for column in columns:
        if column not in table.columns:
            raise ResultError(f"{path}: no column {column}; has: {', '.join(table.columns)}")
    for column in table.columns:
        numbers = pd.to_numeric(table[column], errors="coerce")
        if numbers.isna().any():
            row = int(numbers.isna().to_numpy().argmax())
            raise ResultError(
                f"{path}: line {row + 2}: {column}: {table[column][row]} is no number"
            )
    return table


def _check_order(path: Path, samples: pd.DataFrame) -> None:
    """Neither times nor counts begin below 0 or shrink."""
    for column in ("time_s", "received_bytes"):
        values = samples[column].to_numpy(dtype=float)
        back = np.diff(values, prepend=0.0) < 0
        if back.any():
            row = int(back.argmax())
            allowed = "no less than the line before, and never below 0"
            raise ResultError(
                f"{path}: line {row + 2}: {column}: {values[row]:g}; allowed: {allowed}"
            )
