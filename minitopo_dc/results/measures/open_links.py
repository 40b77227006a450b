"""The capacity of the links that a run's flows had open, over time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from minitopo_dc.results.tables.load import load_result
from minitopo_dc.runs.results import RunResult, flow_windows, load_as_run
from minitopo_dc.scenario import ResolvedFlow, Scenario
from minitopo_dc.settings.path_schedule import Period, without
from minitopo_dc.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class OpenCapacity:
    """Mean capacities over a transfer in Mbit/s, as of Krämer et al. (Electronics 11 (2022) 1492).

    Attributes:
        mp_mbps: the mean of the sum of the capacities of all open links.
        sp_mbps: the mean of the largest of them.
    """

    mp_mbps: float
    sp_mbps: float


def open_capacity(run: Path) -> OpenCapacity:
    """Return what the open links of a run could have carried downlink, all and the best one.

    A link is open while it is up and a flow uses it: has a path there that is no backup, or a
    bearer. The largest is that of each second, or of what a change of the open links leaves of it.

    Raises:
        SettingsError, TraceError, OSError, ValueError: the run's files are broken, or it is not ok.
    """
    scenario, (start, end) = load_as_run(run), transfer_window(run)
    capacities = [leg.downlink.capacity() for leg in scenario.legs]
    periods = [list(_open(scenario, leg)) for leg in range(1, len(scenario.legs) + 1)]
    total = largest = 0.0
    for begin, until in pairwise(_edges(periods, start, end)):
        bits = [
            capacity.bits_between(round(begin * NS_PER_S), round(until * NS_PER_S))
            for capacity, of_leg in zip(capacities, periods, strict=True)
            if any(since <= begin < to for since, to in of_leg)
        ]
        total += sum(bits)
        largest += max(bits, default=0)
    return OpenCapacity(total / (end - start) / 1e6, largest / (end - start) / 1e6)


def mp_capacity_mbps(run: Path) -> float:
    """Return `OpenCapacity.mp_mbps` of a run; see `open_capacity`."""
    return open_capacity(run).mp_mbps


def sp_capacity_mbps(run: Path) -> float:
    """Return `OpenCapacity.sp_mbps` of a run; see `open_capacity`."""
    return open_capacity(run).sp_mbps


def mp_share(run: Path) -> float:
    """Return the goodput divided by the capacity of all open links; NaN without goodput."""
    return _share(run, mp_capacity_mbps(run))


def sp_share(run: Path) -> float:
    """Return the goodput divided by the capacity of the best open link; NaN without goodput."""
    return _share(run, sp_capacity_mbps(run))


def transfer_window(run: Path, result: RunResult | None = None) -> Period:
    """Return the first client's start of connecting and the last one's end, in s of the legs' time.

    Args:
        run: the run's directory.
        result: the run's result, where it is at hand.

    Raises:
        ResultError, ValueError: the run's result is broken, or it is not ok.
    """
    result = result or load_result(run)
    if result.completion_s is None:
        raise ValueError(f"{run}: status {result.status}; only a run that is ok has a transfer")
    starts, ends = zip(*flow_windows(result.details, result.completion_s), strict=True)
    return min(starts), max(ends)


def _share(run: Path, capacity_mbps: float) -> float:
    goodput = load_result(run).goodput_mbps
    return goodput / capacity_mbps if goodput is not None and capacity_mbps else math.nan


def _open(scenario: Scenario, leg: int) -> Iterator[Period]:
    """Yield the periods (s) in which a leg is up and used, by any flow."""
    outages = scenario.legs[leg - 1].direction("downlink").outages
    for flow in scenario.resolved_flows:
        for period in _used(flow, leg):
            yield from without(period, outages)


def _used(flow: ResolvedFlow, leg: int) -> list[Period]:
    if flow.paths is not None:
        return flow.paths.available_periods(leg)
    return [(0.0, math.inf)] if leg in flow.legs else []


def _edges(periods: Sequence[Sequence[Period]], start: float, end: float) -> list[float]:
    """Return the whole seconds of a time and when links open or close in it, with its ends."""
    moments = {moment for of_leg in periods for period in of_leg for moment in period}
    moments.update(range(math.ceil(start), math.ceil(end)))
    return [start, *sorted(moment for moment in moments if start < moment < end), end]
