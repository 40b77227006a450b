"""The time that a flow needs after each change of its paths or legs until it uses what is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from minitopo_dc.results.tables.load import load_result
from minitopo_dc.results.tables.series import leg_series
from minitopo_dc.runs.capacity import available_bits
from minitopo_dc.runs.results import load_as_run
from minitopo_dc.scenario import Scenario

ENOUGH = 0.8
"""The part of the capacity from which on a flow has recovered, chosen by this project: below it a
flow is in slow start or waits; above it, its window was cut at most once (CUBIC: to 0.7 of it, RFC
9438, section 4.6, with a queue in front)."""
WINDOW_S = 0.3
"""The time over which rates are means: three samples of the default interval, several round
trips."""
REACTION_S = 1.0
"""A rate that falls within so long after a change falls because of it: the first probe timeout of a
path whose round trip is not known (RFC 9002, section 6.2.2), and of TCP (RFC 6298, section 2)."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Recovery:
    """A change, and how the flow's rate recovered from it.

    Attributes:
        at_s: when it was, in s since time zero of the legs.
        legs: those that the flow may use from then on: up, and with a path that is no backup (the
            backups, if all are).
        took_s: the time until the rate over all legs was 0.8 of the capacity of `legs` (again), in
            a window of 0.3 s that begins then; 0 if it was never below that for 1 s after the
            change. At most until the next change.
        recovered: whether that was before the next change, and before the run's end.
    """

    at_s: float
    legs: tuple[int, ...]
    took_s: float
    recovered: bool


def recoveries(run: Path) -> list[Recovery]:
    """Return the recovery from each change of paths, and each begin or end of an outage.

    The run has one flow.

    Raises:
        ResultError, ValueError: the run's files are broken, or it is not ok.
    """
    scenario, result = load_as_run(run), load_result(run)
    if result.completion_s is None:
        raise ValueError(f"{run}: status {result.status}; only a run that is ok has recoveries")
    end = result.details.get("started_s", 0.0) + result.completion_s
    time_s, carried = _carried_bits(run)
    changes = [moment for moment in _changes(scenario) if 0 < moment < end]
    return [
        _recovery(scenario, time_s, carried, begin, until)
        for begin, until in pairwise([*changes, end])
    ]


def worst_recovery_s(run: Path) -> float:
    """Return the longest of `recoveries` in s; NaN when nothing changes.

    Raises:
        ResultError, ValueError: see `recoveries`.
    """
    return max((each.took_s for each in recoveries(run)), default=float("nan"))


def _changes(scenario: Scenario) -> list[float]:
    flow = scenario.resolved_flows[0]
    moments = {each.at_s for each in flow.paths.events} if flow.paths else set()
    moments.update(
        moment for leg in flow.legs for outage in _outages(scenario, leg) for moment in outage
    )
    return sorted(moments)


def _recovery(
    scenario: Scenario, time_s: Floats, carried: Floats, begin: float, until: float
) -> Recovery:
    legs = _usable(scenario, begin)
    fell = False
    for start in _starts(time_s, begin, until):
        bits = available_bits(scenario, start, start + WINDOW_S)
        capacity = sum(bits[leg - 1] for leg in legs)
        got = np.interp(start + WINDOW_S, time_s, carried) - np.interp(start, time_s, carried)
        enough = bool(capacity and got >= ENOUGH * capacity)
        if enough and fell:
            return Recovery(begin, legs, float(start - begin), recovered=True)
        if start > begin + REACTION_S and not fell:
            break
        fell = fell or not enough
    return Recovery(begin, legs, until - begin if fell else 0.0, recovered=not fell)


def _starts(time_s: Floats, begin: float, until: float) -> Iterator[float]:
    """Yield where a window may begin: at the change, then at each sample."""
    yield from (
        float(start)
        for start in (begin, *time_s[(time_s > begin)])
        if start + WINDOW_S <= until and start + WINDOW_S <= time_s[-1]
    )


def _usable(scenario: Scenario, moment: float) -> tuple[int, ...]:
    """Return the legs that are up and have a path; backups only when there is nothing else."""
    flow = scenario.resolved_flows[0]
    paths = flow.paths
    up = [leg for leg in sorted(flow.legs) if not _is_down(_outages(scenario, leg), moment)]
    if paths is None:
        return tuple(up)
    status = {leg: paths.status(leg, moment) for leg in up}
    available = tuple(leg for leg in up if status[leg] == "available")
    return available or tuple(leg for leg in up if status[leg] == "backup")


def _outages(scenario: Scenario, leg: int) -> Sequence[tuple[float, float]]:
    return scenario.legs[leg - 1].direction("downlink").outages


def _is_down(outages: Sequence[tuple[float, float]], moment: float) -> bool:
    return any(begin <= moment < end for begin, end in outages)


def _carried_bits(run: Path) -> tuple[Floats, Floats]:
    """Return the sample times, and what all downlink legs had delivered by then, in bits."""
    series = leg_series(run).pivot_table(index="time_s", columns="leg", values="delivered_bytes")
    total = series.ffill().fillna(0).sum(axis=1) * 8
    return total.index.to_numpy(dtype=float), total.to_numpy(dtype=float)
