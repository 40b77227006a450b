"""How much of each leg a run used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.analysis.series import leg_series, pdcp_series
from minitopo_dc.results import RunResult
from minitopo_dc.scenario import Scenario

NS_PER_S = 1_000_000_000
END_TOLERANCE = 0.01
"""Of a bin: a client that is told to stop after whole seconds may do so a few ms before."""
Bearer = TypeVar("Bearer", int, "pd.Series[int]")


def link_utilisation(run: Path) -> list[float]:
    """Of each downlink leg the part of its capacity that carried IP packets, from 0 to 1.

    Bits delivered (headers, retransmissions and duplicates included) divided by the bits that the
    leg's capacity allows in the completion time.

    Raises:
        ResultError, ValueError, OSError: the run's files are broken, or it is not ok.
    """
    end = round(_completion_s(run) * NS_PER_S)
    leg_bytes = RunResult.load(run).leg_bytes or []
    legs = Scenario.load(run / "scenario.yaml").legs
    return [
        8 * carried / leg.downlink.capacity().bits_between(0, end)
        for carried, leg in zip(leg_bytes, legs, strict=True)
    ]


def arrived_copies(run: Path) -> dict[int, float]:
    """PDUs that arrived for each PDU delivered, by the number of the flow (1, 2, ...).

    1 without duplication; over two legs of which none loses anything, 2. A flow without a bearer,
    whose transport splits it, is not there.

    Raises:
        ResultError: ``ue-summary.json`` is missing or broken.
    """
    path = run / "ue-summary.json"
    try:
        bearers = json.loads(path.read_text(encoding="utf-8"))["receive"]
        return {
            _flow(int(number)): sum(
                count for name, count in bearer.items() if name.startswith("pdus_")
            )
            / bearer["delivered"]
            for number, bearer in bearers.items()
        }
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
    """Mean rate of IP bytes that PDCP delivered of each flow, in whole bins of ``bin_s``.

    Columns: ``time_s``, the begin of a bin, ``flow`` (1, 2, ...), ``rate_mbps``. A flow without a
    bearer, whose transport splits it, is not there. The bins end with the completion time; what is
    closed and drained behind it is in none.

    Raises:
        ResultError, ValueError, OSError: the run's files are broken, it is not ok, or no flow has a
            bearer.
    """
    series, bins = pdcp_series(run), int(_completion_s(run) / bin_s + END_TOLERANCE)
    edges = np.arange(bins + 1) * bin_s
    tables = []
    for number, rows in series.groupby(_flow(series["bearer"])):
        delivered = np.interp(edges, rows["time_s"], rows["delivered_bytes"])
        rates = np.diff(delivered) * 8 / bin_s / 1e6
        tables.append(pd.DataFrame({"time_s": edges[:-1], "flow": number, "rate_mbps": rates}))
    return pd.concat(tables, ignore_index=True)


def _completion_s(run: Path) -> float:
    result = RunResult.load(run)
    if result.completion_s is None:
        raise ValueError(
            f"{run}: status {result.status}; only a run that is ok has a completion time"
        )
    return result.completion_s


def _flow(bearer: Bearer) -> Bearer:
    """The flow of a downlink bearer (`minitopo_dc.plan`): 1 of bearer 1, 2 of bearer 3, ..."""
    return (bearer + 1) // 2
