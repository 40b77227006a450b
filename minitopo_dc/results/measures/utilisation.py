"""The utilisation of the legs by a run: what they carried, and could have carried while open."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from minitopo_dc.fields.path_schedule import Period
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.run_result import available_bits, flow_windows
from minitopo_dc.results.tables.runs import load_result
from minitopo_dc.results.tables.series import leg_series
from minitopo_dc.scenario import Scenario
from minitopo_dc.units import NS_PER_S


def link_utilisation(run: Path) -> list[float]:
    """Return the part of each downlink leg's capacity that carried IP packets, from 0 to 1.

    Bits delivered (headers, retransmissions and duplicates included) are divided by the bits that
    the leg's capacity allows from the first client's start of connecting to the last one's end.
    What a leg delivers from its queue after the end of a given duration does not count.

    Raises:
        ResultError, ValueError: the run's files are broken, or it is not ok.
    """
    (start, end), scenario = transfer_window(run), load_as_run(run)
    if all(flow.workload.lasts_s is None for flow in scenario.resolved_flows):
        # This is exact: the last byte of a download is the last that its legs carry before closing.
        carried: Sequence[float] = load_result(run).leg_bytes or []
    else:
        carried = [
            float(np.interp(end, rows["time_s"], rows["delivered_bytes"]))
            for _, rows in leg_series(run).groupby("leg")
        ]
    available = available_bits(scenario.legs, scenario.loads, start, end)
    return [8 * count / bits for count, bits in zip(carried, available, strict=True)]


def leg_utilisation(run: Path, leg: int) -> float:
    """Return `link_utilisation` of one leg (1, 2, ...); NaN of one that the run does not have."""
    return dict(enumerate(link_utilisation(run), start=1)).get(leg, math.nan)


def leg_bytes_per_byte(run: Path) -> float:
    """Return the IP bytes that the downlink legs delivered for each byte of the download.

    Headers, retransmissions and copies make it more than 1. It is NaN for a run without a size.

    Raises:
        ResultError: the run's result is broken.
    """
    result = load_result(run)
    if not result.size_bytes or result.leg_bytes is None:
        return math.nan
    return sum(result.leg_bytes) / result.size_bytes


def open_capacity(run: Path) -> tuple[float, float]:
    """Return what the open links of a run could have carried downlink, all and the best one.

    Both are means over the transfer in Mbit/s: of the sum of the capacities of all open links, and
    of the largest of them (Krämer et al., Electronics 11 (2022) 1492).
    A link is open while it is up and a flow uses it: has a path there that is no backup, or a
    bearer. The largest is that of each second, or of what a change of the open links leaves of it.

    Raises:
        SettingsError, TraceError, OSError, ValueError: the run's files are broken, or it is not ok.
    """
    scenario, (start, end) = load_as_run(run), transfer_window(run)
    radios = [leg.direction("downlink") for leg in scenario.legs]
    periods = [list(_open(scenario, leg)) for leg in range(1, len(radios) + 1)]
    changes = chain(*periods, *(radio.down_periods() for radio in radios))
    moments = {moment for period in changes for moment in period}
    moments.update(range(math.ceil(start), math.ceil(end)))
    edges = [start, *sorted(moment for moment in moments if start < moment < end), end]
    edges_ns = [round(edge * NS_PER_S) for edge in edges]
    could = [radio.available_bits(edges_ns) for radio in radios]
    total = largest = 0.0
    for begin, of_legs in zip(edges, zip(*could, strict=True), strict=False):
        bits = [
            count
            for count, times in zip(of_legs, periods, strict=True)
            if any(since <= begin < to for since, to in times)
        ]
        total += sum(bits)
        largest += max(bits, default=0)
    return total / (end - start) / 1e6, largest / (end - start) / 1e6


def transfer_window(run: Path) -> Period:
    """Return the first client's start of connecting and the last one's end, in s of the legs' time.

    Raises:
        ResultError, ValueError: the run's result is broken, or it is not ok.
    """
    result = load_result(run)
    if result.completion_s is None:
        raise ValueError(f"{run}: status {result.status}; only a run that is ok has a transfer")
    starts, ends = zip(*flow_windows(result.details, result.completion_s), strict=True)
    return min(starts), max(ends)


def _open(scenario: Scenario, leg: int) -> Iterator[Period]:
    """Yield when (s) a flow uses a leg, be it up or down."""
    for flow in scenario.resolved_flows:
        if flow.paths is not None:
            yield from flow.paths.available_periods(leg)
        elif leg in flow.legs:
            yield 0.0, math.inf
