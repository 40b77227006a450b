"""Rates over time that each leg of a run delivered, and that each path carried."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from minitopo_dc.results.tables.run_files import read_numbers
from minitopo_dc.results.tables.series import bin_edges, leg_series
from minitopo_dc.settings import Direction
from minitopo_dc.workloads.path_reports import COLUMNS

BIN_S = 0.2
"""The default width of bins, two samples of the default interval: with one, rates would show where
in it the samples were."""


def leg_rates(
    run: Path | str, direction: Direction = "downlink", bin_s: float = BIN_S
) -> pd.DataFrame:
    """Return the mean rate of the IP bytes that each leg delivered, in bins of `bin_s`.

    Columns: `time_s`, the begin of a bin, `leg` and `rate_mbps`. Between two samples the bytes are
    spread evenly; after the last one there are none.

    Raises:
        ResultError: a file of the element's is missing or broken.
    """
    run = Path(run)
    series = leg_series(run, direction)
    edges = bin_edges(run, series["time_s"].max() if len(series) else 0.0, bin_s)
    tables = []
    for leg, rows in series.groupby("leg"):
        delivered = np.interp(edges, rows["time_s"], rows["delivered_bytes"])
        rates = np.diff(delivered) * 8 / bin_s / 1e6
        tables.append(pd.DataFrame({"time_s": edges[:-1], "leg": leg, "rate_mbps": rates}))
    return pd.concat(tables, ignore_index=True)


def path_series(run: Path | str) -> pd.DataFrame:
    """Return the rows of `paths.csv` (docs/results.md); NaN for what a transport does not know.

    Raises:
        ResultError: the file is missing or broken, or lacks a column.
    """
    return read_numbers(Path(run), "paths.csv", (name for name in COLUMNS if name != "state"))


def path_rates(run: Path | str, bin_s: float = BIN_S) -> pd.DataFrame:
    """Return the goodput over the paths of each leg in bins of `bin_s`.

    Columns: `time_s`, the begin of a bin, `flow` and `leg` (1, 2, ...), `rate_mbps`. Bytes count
    when the sender learns that they arrived (`bytes_acked`). Between two samples of a path they are
    spread evenly; before its first sample and after its last one there are none.

    Raises:
        ResultError: `paths.csv` is missing or broken.
    """
    series = path_series(run)
    end = series["time_s"].max() if len(series) else 0.0
    edges = bin_edges(Path(run) / "paths.csv", end, bin_s)
    tables = [
        pd.DataFrame(
            {"time_s": edges[:-1], "flow": flow, "leg": leg, "rate_mbps": _rates(rows, edges)}
        )
        for (flow, leg), rows in series.groupby(["flow", "leg"])
    ]
    columns = ["time_s", "flow", "leg", "rate_mbps"]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)


def _rates(rows: pd.DataFrame, edges: np.ndarray[tuple[int], np.dtype[np.float64]]) -> pd.Series:
    """Return the rates of one leg, over all paths that it had one after the other."""
    acked = sum(
        np.interp(edges, path["time_s"], path["bytes_acked"], left=0.0)
        for _, path in rows.dropna(subset="bytes_acked").groupby("path")
    )
    return pd.Series(np.diff(acked + np.zeros_like(edges)) * 8 / np.diff(edges) / 1e6)
