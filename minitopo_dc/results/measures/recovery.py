"""The time that a flow needs after a handover or another change until it uses what is there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt
import pandas as pd

from minitopo_dc.fields.path_schedule import Period
from minitopo_dc.results.files import ResultError, read_numbers
from minitopo_dc.results.kept_scenario import HANDOVERS, load_as_run
from minitopo_dc.results.measures.utilisation import transfer_window
from minitopo_dc.results.run_result import available_bits
from minitopo_dc.results.tables.series import leg_series
from minitopo_dc.scenario import LegDirection, Scenario
from minitopo_dc.trace.handover import Handover
from minitopo_dc.units import NS_PER_S

COLUMNS = ("time_s", "old_leg", "new_leg")
"""The columns of `handovers.csv`."""
HALF = 0.5
"""The part of the new leg's capacity from which on it is in use."""
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


def run_handovers(run: Path) -> list[Handover]:
    """Return a handover rule's handovers within a run's transfer; none without a rule.

    Raises:
        ResultError: `handovers.csv` is broken.
        ValueError, OSError: the run is not ok, or has no result.
    """
    start, end = transfer_window(run)
    if not (run / HANDOVERS).exists():
        return []
    table = read_numbers(run, HANDOVERS, COLUMNS)[[*COLUMNS]]
    if table.isna().any(axis=None):
        raise ResultError(f"{run / HANDOVERS}: no list of handovers: a number is missing")
    rows = table.itertuples(index=False)
    handovers = [Handover(float(time_s), int(old), int(new)) for time_s, old, new in rows]
    return [handover for handover in handovers if start <= handover.at_s < end]


def handovers_per_minute(run: Path) -> float:
    """Return the handovers per minute of the transfer; NaN for a run without a handover rule."""
    if not (run / HANDOVERS).exists():
        return math.nan
    start, end = transfer_window(run)
    return 60 * len(run_handovers(run)) / (end - start)


def handover_table(run: Path) -> pd.DataFrame:
    """Return for each handover in a run's transfer how long it took to use the new leg.

    Columns: `time_s`, `old_leg`, `new_leg`; `took_s`, the time until the new leg carried half of
    its capacity, in a window of 0.3 s that begins then, at most until it was left again, or the
    transfer's end; `recovered`, whether it ever did.

    Raises:
        ResultError, ValueError, OSError: the run's files are broken, or it is not ok.
    """
    rows, handovers = [], run_handovers(run)
    if handovers:
        (_, end), series, legs = transfer_window(run), leg_series(run), load_as_run(run).legs
        for handover in handovers:
            leg = series[series["leg"] == handover.new]
            new = legs[handover.new - 1].direction("downlink")
            later = (one for one in handovers if one.at_s > handover.at_s)
            until = next((one.at_s for one in later if one.old == handover.new), end)
            rows.append((*handover, *_use(handover, until, leg, new)))
    return pd.DataFrame(rows, columns=[*COLUMNS, "took_s", "recovered"])


def handover_recovery_s(run: Path) -> float:
    """Return the mean of `took_s` in `handover_table`; NaN where there was no handover."""
    table = handover_table(run)
    return fmean(table["took_s"]) if len(table) else math.nan


def _use(
    handover: Handover, until: float, rows: pd.DataFrame, new: LegDirection
) -> tuple[float, bool]:
    """Return how long it took until the new leg was in use, and whether it ever was."""
    time_s, carried = rows["time_s"].to_numpy(), 8 * rows["delivered_bytes"].to_numpy()
    for begin, bits in _windows(time_s, carried, handover.at_s, until):
        edges_ns = [round(edge * NS_PER_S) for edge in (begin, begin + WINDOW_S)]
        (capacity,) = new.available_bits(edges_ns)
        if capacity and bits >= HALF * capacity:
            return begin - handover.at_s, True
    return until - handover.at_s, False


def _windows(
    time_s: Floats, carried: Floats, begin: float, until: float
) -> Iterator[tuple[float, float]]:
    """Yield the windows from a moment on, which begin then or at a sample, with their bits."""
    for start in (begin, *time_s[time_s > begin].tolist()):
        if start + WINDOW_S > until:
            return
        first, last = np.interp((start, start + WINDOW_S), time_s, carried).tolist()
        yield start, last - first


def recoveries(run: Path) -> pd.DataFrame:
    """Return the recovery from each change of paths, and each begin or end of a leg's silence.

    The run has one flow. Columns: `time_s`, that of the change; `legs`, those that the flow may use
    from then on (up, and with a path that is no backup; the backups, if all are); `took_s`, the
    time until the rate over all of them was 0.8 of their capacity (again), in a window of 0.3 s
    that begins then, 0 if it was never below that for 1 s after the change, at most until the next
    change; `recovered`, whether that was before the next change, and before the run's end.

    Raises:
        ResultError, ValueError: the run's files are broken, or it is not ok.
    """
    scenario, (_, end) = load_as_run(run), transfer_window(run)
    series = leg_series(run).pivot_table(index="time_s", columns="leg", values="delivered_bytes")
    total = series.ffill().fillna(0).sum(axis=1) * 8
    time_s, carried = total.index.to_numpy(dtype=float), total.to_numpy(dtype=float)
    flow = scenario.resolved_flows[0]
    moments = {event.at_s for event in flow.paths.events} if flow.paths else set()
    for leg in flow.legs:
        moments.update(moment for period in _down(scenario, leg) for moment in period)
    changes = [moment for moment in sorted(moments) if 0 < moment < end]
    rows = [
        (begin, *_recovery(scenario, time_s, carried, begin, until))
        for begin, until in pairwise([*changes, end])
    ]
    return pd.DataFrame(rows, columns=["time_s", "legs", "took_s", "recovered"])


def worst_recovery_s(run: Path) -> float:
    """Return the longest of `recoveries` in s; NaN when nothing changes.

    Raises:
        ResultError, ValueError: see `recoveries`.
    """
    return float(recoveries(run)["took_s"].max())


def _recovery(
    scenario: Scenario, time_s: Floats, carried: Floats, begin: float, until: float
) -> tuple[tuple[int, ...], float, bool]:
    legs = _usable(scenario, begin)
    fell = False
    for start, got in _windows(time_s, carried, begin, min(until, time_s[-1])):
        bits = available_bits(scenario.legs, scenario.loads, start, start + WINDOW_S)
        capacity = sum(bits[leg - 1] for leg in legs)
        enough = bool(capacity and got >= ENOUGH * capacity)
        if enough and fell:
            return legs, start - begin, True
        if start > begin + REACTION_S and not fell:
            break
        fell = fell or not enough
    return legs, until - begin if fell else 0.0, not fell


def _usable(scenario: Scenario, moment: float) -> tuple[int, ...]:
    """Return the legs that are up and have a path; backups only when there is nothing else."""
    flow = scenario.resolved_flows[0]
    paths = flow.paths
    up = [
        leg
        for leg in sorted(flow.legs)
        if not any(begin <= moment < end for begin, end in _down(scenario, leg))
    ]
    if paths is None:
        return tuple(up)
    status = {leg: paths.status(leg, moment) for leg in up}
    available = tuple(leg for leg in up if status[leg] == "available")
    return available or tuple(leg for leg in up if status[leg] == "backup")


def _down(scenario: Scenario, leg: int) -> Iterator[Period]:
    return scenario.legs[leg - 1].direction("downlink").down_periods()
