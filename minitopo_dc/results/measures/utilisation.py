"""The utilisation of each leg by a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import pandas as pd

from minitopo_dc.results.errors import ResultError
from minitopo_dc.results.measures.pdcp import receive_counters
from minitopo_dc.results.tables.load import load_result
from minitopo_dc.results.tables.series import leg_series, pdcp_series
from minitopo_dc.runs.capacity import available_bits
from minitopo_dc.runs.results import RunResult, flow_windows, load_as_run

END_TOLERANCE = 0.01
"""The part of a bin that may be missing: a client that is told to stop after whole seconds may do
so a few ms before."""
Bearer = TypeVar("Bearer", int, "pd.Series[int]")


def link_utilisation(run: Path, result: RunResult | None = None) -> list[float]:
    """Return the part of each downlink leg's capacity that carried IP packets, from 0 to 1.

    Bits delivered (headers, retransmissions and duplicates included) are divided by the bits that
    the leg's capacity allows from the first client's start of connecting to the last one's end.
    What a leg delivers from its queue after the end of a given duration does not count.

    Args:
        run: the run's directory.
        result: the run's result, where it is at hand.

    Raises:
        ResultError, ValueError: the run's files are broken, or it is not ok.
    """
    result = result or load_result(run)
    starts, ends = zip(*flow_windows(result.details, _completion_s(run, result)), strict=True)
    scenario = load_as_run(run)
    if all(flow.workload.lasts_s is None for flow in scenario.resolved_flows):
        # This is exact: the last byte of a download is the last that its legs carry before closing.
        carried: Sequence[float] = result.leg_bytes or []
    else:
        carried = _delivered_bytes(run, max(ends))
    available = available_bits(scenario, min(starts), max(ends))
    return [8 * count / bits for count, bits in zip(carried, available, strict=True)]


def leg_share(
    run: Path, column: Literal["delivered_bytes", "pushed_bytes"], *, leg: int, from_s: float
) -> float:
    """Return the share of one leg in the IP bytes that all downlink legs counted from a moment on.

    It is NaN when there were none.

    Args:
        run: the run's directory.
        column: what is counted: what a leg delivered, or all that was sent there.
        leg: the leg's number, from 1.
        from_s: the moment, in s since the elements' start.

    Raises:
        ResultError: the run's files are broken.
    """
    series = leg_series(run)
    before = series[series["time_s"] <= from_s].groupby("leg")[column].max()
    counted = series.groupby("leg")[column].max().sub(before, fill_value=0)
    total = counted.sum()
    return float(counted.get(leg, 0) / total) if total else math.nan


def leg_bytes_per_byte(run: Path, result: RunResult | None = None) -> float:
    """Return the IP bytes that the downlink legs delivered for each byte of the download.

    Headers, retransmissions and copies make it more than 1. It is NaN for a run without a size.

    Args:
        run: the run's directory.
        result: the run's result, where it is at hand.

    Raises:
        ResultError: the run's result is broken.
    """
    result = result or load_result(run)
    if not result.size_bytes or result.leg_bytes is None:
        return math.nan
    return sum(result.leg_bytes) / result.size_bytes


def leg_loss_percent(run: Path) -> float:
    """Return the packets that the downlink legs dropped, of those that reached them (%).

    Counted are all packets of the whole run. It is NaN when none reached a leg.

    Raises:
        ResultError: the run's files are broken.
    """
    last = leg_series(run).groupby("leg").last()
    dropped = last[[name for name in last if str(name).startswith("dropped_")]].to_numpy().sum()
    reached = last["pushed_packets"].sum()
    return float(100 * dropped / reached) if reached else math.nan


def arrived_copies(run: Path) -> dict[int, float]:
    """Return the PDUs that arrived for each PDU delivered, by the number of the flow (1, 2, ...).

    It is 1 without duplication, and 2 over two legs without losses. A flow without a bearer, whose
    transport splits it, is not there.

    Raises:
        ResultError: `ue-summary.json` is missing or broken.
    """
    try:
        return {
            _flow(number): sum(count for name, count in bearer.items() if name.startswith("pdus_"))
            / bearer["delivered"]
            for number, bearer in receive_counters(run).items()
        }
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise ResultError(f"{run / 'ue-summary.json'}: malformed summary: {error!r}") from None


def leg_rates(run: Path) -> pd.DataFrame:
    """Return each downlink leg's delivered rate: `time_s` (interval end), `leg`, `rate_mbps`.

    Intervals are those of the scenario's `statistics_ms`.

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
    """Return the mean rate of IP bytes that PDCP delivered of each flow, in whole bins of `bin_s`.

    Columns: `time_s`, the begin of a bin, counted from the flow's own start of connecting; `flow`
    (1, 2, ...), `rate_mbps`. A flow without a bearer, whose transport splits it, is not there. The
    bins end with the run's completion time; bytes that arrive later, when connections close and
    queues drain, are in none.

    Raises:
        ResultError, ValueError: the run's files are broken, it is not ok, or no flow has a bearer.
    """
    series, result = pdcp_series(run), load_result(run)
    completion_s = _completion_s(run, result)
    edges = np.arange(int(completion_s / bin_s + END_TOLERANCE) + 1) * bin_s
    windows = flow_windows(result.details, completion_s)
    tables = []
    for number, rows in series.groupby(_flow(series["bearer"])):
        start, _ = windows[number - 1]
        delivered = np.interp(start + edges, rows["time_s"], rows["delivered_bytes"])
        rates = np.diff(delivered) * 8 / bin_s / 1e6
        tables.append(pd.DataFrame({"time_s": edges[:-1], "flow": number, "rate_mbps": rates}))
    return pd.concat(tables, ignore_index=True)


def _delivered_bytes(run: Path, end_s: float) -> list[float]:
    """Return the bytes that each downlink leg had delivered at a moment, by interpolation."""
    return [
        float(np.interp(end_s, rows["time_s"], rows["delivered_bytes"]))
        for _, rows in leg_series(run).groupby("leg")
    ]


def _completion_s(run: Path, result: RunResult) -> float:
    if result.completion_s is None:
        raise ValueError(
            f"{run}: status {result.status}; only a run that is ok has a completion time"
        )
    return result.completion_s


def _flow(bearer: Bearer) -> Bearer:
    """Return the flow of a downlink bearer (`run.routers`): 1 of bearer 1, 2 of bearer 3, ..."""
    return (bearer + 1) // 2
