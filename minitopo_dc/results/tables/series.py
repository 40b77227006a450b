"""Time series of one run, with time counted from the elements' start (docs/results.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from minitopo_dc.results.errors import ResultError
from minitopo_dc.results.tables.run_files import is_finite, read_csv, read_mapping
from minitopo_dc.settings import Direction
from minitopo_dc.units import NS_PER_S

BIN_S = 0.5
"""The default width of bins in s: long against a round trip of the papers' legs (20 ms), short
against a change of an LTE cell's capacity in the traces (sampled once a second)."""

MAX_BINS = 10_000_000
"""The most bins, a day at 10 ms: more come from a wrong time."""


def client_rate(run: Path | str, bin_s: float = BIN_S) -> pd.DataFrame:
    """Return the mean rate at which IP bytes reached the client, in bins of `bin_s`.

    Columns: `time_s`, the begin of a bin, and `rate_mbps`. Between two samples of the
    cumulative count the bytes are spread evenly; after the last one nothing arrives. So the bins
    together hold every byte, and the last bin is low where the transfer ended within it.

    Raises:
        ResultError: `client-rate.csv` is missing or broken, or its times or counts go backwards.
    """
    if not bin_s > 0:
        raise ValueError(f"bin_s: {bin_s}; allowed: above 0")
    path = Path(run) / "client-rate.csv"
    samples = _read(path, ["time_s", "received_bytes"])
    times, counts = (samples[name].to_numpy(dtype=float) for name in ("time_s", "received_bytes"))
    if times.size == 0:
        return pd.DataFrame({"time_s": times, "rate_mbps": counts})
    _check_order(path, samples)
    edges = bin_edges(path, times[-1], bin_s)
    received = np.interp(edges, times, counts)
    received[0], received[-1] = 0, counts[-1]
    return pd.DataFrame({"time_s": edges[:-1], "rate_mbps": np.diff(received) * 8 / bin_s / 1e6})


def bin_edges(path: Path, end_s: float, bin_s: float) -> np.ndarray[tuple[int], np.dtype[Any]]:
    """Return the edges of bins of `bin_s` from 0 to a series' end or beyond: one bin or more.

    Raises:
        ResultError: there are too many, by a wrong time in the file `path`.
    """
    bins = max(1.0, np.ceil(end_s / bin_s))
    if not bins <= MAX_BINS:
        raise ResultError(
            f"{path}: ends after {end_s:g} s; allowed: {MAX_BINS:,} bins of {bin_s:g} s"
        )
    return np.arange(bins + 1) * bin_s


def leg_series(run: Path | str, direction: Direction = "downlink") -> pd.DataFrame:
    """Return the legs' counters: `gnb-legs.csv`, uplink `ue-legs.csv`, with `time_s` for `time_ns`.

    One row per interval and `leg`; the other columns are the leg's statistics, cumulative except
    for the gauges. Rows from before the start have a negative time.

    Raises:
        ResultError: this file or the element's summary is missing (its element died) or broken.
    """
    host = "gnb" if direction == "downlink" else "ue"
    return element_series(Path(run), host, "legs", "leg", "delivered_bytes")


def pdcp_series(run: Path | str) -> pd.DataFrame:
    """Return the counters of ue's receiving PDCP entities: `ue-receive.csv` with `time_s`.

    One row per interval and `bearer`, otherwise as `leg_series`. Only runs over DC have the file.

    Raises:
        ResultError: `ue-receive.csv` or `ue-summary.json` is missing or broken.
    """
    return element_series(Path(run), "ue", "receive", "bearer")


def element_series(run: Path, host: str, name: str, *columns: str) -> pd.DataFrame:
    """Return `HOST-NAME.csv` with `time_s` for `time_ns`; it has to have these columns.

    Raises:
        ResultError: the file or the host's summary is missing or broken.
    """
    table = _read(run / f"{host}-{name}.csv", ["time_ns", *columns])
    # Subtracted as integers: a float cannot hold the ns of a clock that has run for months.
    elapsed = table.pop("time_ns").to_numpy() - start_ns(run / f"{host}-summary.json")
    table.insert(0, "time_s", elapsed / NS_PER_S)
    return table


def start_ns(path: Path) -> int:
    """Return when an element was started, by its summary: ns on the clock of its files.

    Raises:
        ResultError: the summary is missing or broken.
    """
    start = read_mapping(path.parent, path).get("start_ns")
    if not isinstance(start, int) or isinstance(start, bool):
        raise ResultError(f"{path}: start_ns: {start!r}; allowed: a number of ns")
    return start


def _read(path: Path, columns: list[str]) -> pd.DataFrame:
    """Return a CSV file of numbers with at least these columns."""
    table = read_csv(path.parent, path)
    for column in columns:
        if column not in table.columns:
            raise ResultError(f"{path}: no column {column}; has: {', '.join(table.columns)}")
    if not is_finite(table):
        _refuse(path, table)
    return table


def _refuse(path: Path, table: pd.DataFrame) -> None:
    for column in table.columns:
        try:
            numbers = pd.to_numeric(table[column], errors="coerce")
        except OverflowError:
            raise ResultError(f"{path}: {column}: a number out of range") from None
        wrong = ~np.isfinite(numbers.to_numpy(dtype=float, na_value=np.nan))
        if wrong.any():
            row = int(wrong.argmax())
            raise ResultError(
                f"{path}: line {row + 2}: {column}: {table[column][row]} is no number"
            )


def _check_order(path: Path, samples: pd.DataFrame) -> None:
    """Refuse times or counts that begin below 0 or decrease."""
    for column in ("time_s", "received_bytes"):
        values = samples[column].to_numpy(dtype=float)
        back = np.diff(values, prepend=0.0) < 0
        if back.any():
            row = int(back.argmax())
            allowed = "no less than the line before, and never below 0"
            raise ResultError(
                f"{path}: line {row + 2}: {column}: {values[row]:g}; allowed: {allowed}"
            )
