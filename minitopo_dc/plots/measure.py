"""Which columns of a table of runs are measures, and which of them a figure shows unless told."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np
import pandas as pd

from minitopo_dc.errors import InputError
from minitopo_dc.plots.labels import is_number
from minitopo_dc.spelling import did_you_mean

MAIN: Final = (
    *("linear_qoe_mbps", "goodput_mbps", "delay_p95_ms", "frame_delay_p95_ms"),
    *("rtt_median_ms", "completion_s"),
)
"""The main measure of a run of video, a download, requests, a call, echoes, and a user's program:
the first one that any run has."""
BOOKKEEPING: Final = frozenset(
    {
        *("experiment", "seed", "status", "reason", "run", "repetition", "repeats", "wall_s"),
        *("started_s", "socket_drops", "server_socket_drops", "receive_buffer_bytes"),
        *("quic_version", "multipath", "bytes_received", "size_bytes", "trust"),
    }
)
"""Columns that are neither labels nor measures that a table of means shows."""


class ColumnError(InputError):
    """A name that no column of a table of runs has."""


def check_columns(table: pd.DataFrame, *names: str | None) -> None:
    """Refuse names that a table has no column of.

    Raises:
        ColumnError: a column is not there; the message has the known ones.
    """
    for name in names:
        if name is not None and name not in table:
            hint = did_you_mean(name, list(map(str, table)))
            known = ", ".join(map(str, table))
            raise ColumnError(f"no column {name}; {hint}{hint and '; '}known: {known}")


def measures_of(runs: pd.DataFrame, labels: Collection[str]) -> list[str]:
    """Return the columns with finite numbers that are neither labels nor bookkeeping."""
    numbers = [str(name) for name in runs if name not in BOOKKEEPING and name not in labels]
    return [
        name
        for name in numbers
        if is_number(runs[name]) and np.isfinite(runs[name].to_numpy(float, na_value=np.nan)).any()
    ]


def main_measure(runs: pd.DataFrame, labels: Collection[str] = ()) -> str:
    """Return the measure of runs by their workload: goodput, the delay of answers or frames, QoE.

    Without any number, as before the first run, it is the goodput.
    """
    known = measures_of(runs, labels)
    return next((name for name in (*MAIN, *known) if name in known), "goodput_mbps")


def is_better_low(measure: str) -> bool:
    """Return whether less of a measure is better: of times and losses."""
    return measure.endswith(("_s", "_ms")) or "loss" in measure or "lost" in measure
