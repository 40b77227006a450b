"""The state of a TCP connection in the server's kernel over time: `tcp-info.csv`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from minitopo_dc.results.errors import ResultError
from minitopo_dc.results.logs.qlog import Recovery
from minitopo_dc.results.tables.run_files import read_numbers
from minitopo_dc.runs.results import of_first_flow
from minitopo_dc.units import NS_PER_S

FILE = "tcp-info.csv"
NUMBERS = (
    *("time_ns", "client_port", "cwnd_bytes", "in_flight_bytes", "ssthresh_bytes"),
    *("smoothed_rtt_ms", "rtt_variation_ms", "least_rtt_ms", "retransmissions", "bytes_acked"),
)
DECREASED = ("recovery", "loss")
"""States in which the window was cut for lost segments (Linux' `enum tcp_ca_state`)."""


def tcp_info_file(run: Path) -> Path | None:
    """Return the path of a run's first flow's `tcp-info.csv`; None when it recorded none."""
    return of_first_flow(run, FILE)


def tcp_info(run: Path) -> pd.DataFrame:
    """Return the first flow's rows (docs/results.md); NaN where a number is not known.

    Raises:
        ResultError: there are no rows, or the file is broken.
    """
    path = tcp_info_file(run)
    if path is None:
        raise ResultError(
            f"{run}: no {FILE}; its scenario, or the first of its flows, lacks options: "
            "tcp_info: true"
        )
    table = read_numbers(run, path.relative_to(run), NUMBERS)
    try:
        found: pd.DataFrame = table[table["client_port"] == table["client_port"].iloc[0]]
        return found.astype({"state": str}).reset_index(drop=True)
    except (KeyError, IndexError) as error:
        raise ResultError(f"{path}: {error!r}") from None


def decreases(info: pd.DataFrame) -> pd.Series[bool]:
    """Return which samples are the first ones after a cut of the window for lost segments."""
    state = info["state"]
    return state.isin(DECREASED) & (state != state.shift())


def tcp_recovery(run: Path) -> Recovery:
    """Return the loss recovery of the first flow's connection, at the server.

    `lost_packets` are segments sent again; `rtt_ms` is the mean of the smoothed round-trip time
    over the samples.

    Raises:
        ResultError: see `tcp_info`.
    """
    info = tcp_info(run)
    elapsed = (info["time_ns"] - info["time_ns"].iloc[0]) / NS_PER_S
    return Recovery(
        window=info[["cwnd_bytes"]].assign(time_s=elapsed)[["time_s", "cwnd_bytes"]],
        lost_packets=int(info["retransmissions"].max()),
        drop_occasions=int(decreases(info).sum()),
        rtt_ms=float(info["smoothed_rtt_ms"].mean()),
    )
