"""How much of each leg a run used."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.analysis.series import leg_series
from minitopo_dc.results import RunResult
from minitopo_dc.scenario import Scenario

NS_PER_S = 1_000_000_000


def link_utilisation(run: Path) -> list[float]:
    """Of each downlink leg the part of its capacity that carried IP packets, from 0 to 1.

    Bits delivered (headers, retransmissions and duplicates included) divided by the bits that the
    leg's capacity allows in the completion time.

    Raises:
        ResultError, ValueError, OSError: the run's files are broken, or it is not ok.
    """
    result = RunResult.load(run)
    if result.completion_s is None or result.leg_bytes is None:
        raise ValueError(f"{run}: status {result.status}; only a run that is ok has a utilisation")
    end = round(result.completion_s * NS_PER_S)
    legs = Scenario.load(run / "scenario.yaml").legs
    return [
        8 * carried / leg.downlink.capacity().bits_between(0, end)
        for carried, leg in zip(result.leg_bytes, legs, strict=True)
    ]


def arrived_copies(run: Path) -> list[float]:
    """PDUs that arrived for each PDU delivered, of every downlink bearer in its order.

    1 without duplication; over two legs of which none loses anything, 2.

    Raises:
        ResultError: ``ue-summary.json`` is missing or broken.
    """
    path = run / "ue-summary.json"
    try:
        bearers = json.loads(path.read_text(encoding="utf-8"))["receive"]
        ordered = sorted(bearers.items(), key=lambda item: int(item[0]))
        return [
            sum(count for name, count in bearer.items() if name.startswith("pdus_"))
            / bearer["delivered"]
            for _, bearer in ordered
        ]
    except (OSError, ValueError, KeyError, ZeroDivisionError) as error:
        raise ResultError(f"{path}: no whole summary: {error!r}") from None


def leg_rates(run: Path) -> pd.DataFrame:
    """Rate that each downlink leg delivered: ``time_s`` (an interval end), ``leg``, ``rate_mbps``.

    Intervals are those of the scenario's ``statistics_ms``.

    Raises:
        ResultError, OSError: the run's files are broken.
    """
    series = leg_series(run)
    counts = series.groupby("leg")[["time_s", "delivered_bytes"]].diff()
    rates = series[["time_s", "leg"]].assign(
        rate_mbps=counts["delivered_bytes"] * 8 / 1e6 / counts["time_s"]
    )
    return rates[(counts["time_s"] > 0) & (rates["time_s"] > 0)].reset_index(drop=True)


def flow_rates(run: Path, bin_s: float = 1.0) -> pd.DataFrame:
    """Mean rate of IP bytes that each flow's client received, in bins of ``bin_s``.

    Columns: ``time_s``, the begin of a bin, ``flow`` (1, 2, ...), ``rate_mbps``. Only runs on the
    virtual clock have the file.

    Raises:
        ResultError: ``connections.csv`` is missing or broken.
    """
    path = run / "connections.csv"
    try:
        series = pd.read_csv(path, usecols=["time_s", "flow", "received_bytes"])
    except (OSError, ValueError) as error:
        raise ResultError(f"{path}: {error}") from None
    edges = np.arange(0, series["time_s"].max() + bin_s, bin_s)
    tables = []
    for number, flow in series.groupby("flow"):
        received = np.interp(edges, flow["time_s"], flow["received_bytes"])
        rates = np.diff(received) * 8 / bin_s / 1e6
        tables.append(pd.DataFrame({"time_s": edges[:-1], "flow": number, "rate_mbps": rates}))
    return pd.concat(tables, ignore_index=True)
