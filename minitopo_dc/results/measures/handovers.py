"""Handovers of a run, and how long its flow needed until it used the new leg."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd

from minitopo_dc.results.errors import ResultError
from minitopo_dc.results.measures.open_links import transfer_window
from minitopo_dc.results.tables.run_files import read_numbers
from minitopo_dc.results.tables.series import leg_series
from minitopo_dc.link import Capacity
from minitopo_dc.runs.results import HANDOVERS, load_as_run
from minitopo_dc.trace.drives.handover import Handover
from minitopo_dc.units import NS_PER_S

COLUMNS = ("time_s", "old_leg", "new_leg")
"""The columns of `handovers.csv`."""
HALF = 0.5
"""The part of the new leg's capacity from which on it is in use."""
WINDOW_S = 0.3
"""The time over which rates are means: three samples of the default interval, several round
trips."""


@dataclass(frozen=True, slots=True)
class HandoverRecovery:
    """A handover, and the time until the new leg was in use.

    Attributes:
        handover: when, and from which leg to which one.
        took_s: the time until the new leg carried half of its capacity, in a window of 0.3 s that
            begins then; at most until it was left again, or the transfer's end.
        recovered: whether it ever did.
    """

    handover: Handover
    took_s: float
    recovered: bool


def run_handovers(run: Path) -> list[Handover]:
    """Return a handover rule's handovers within a run's transfer; none without a rule.

    Raises:
        ResultError: `handovers.csv` is broken.
        ValueError, OSError: the run is not ok, or has no result.
    """
    start, end = transfer_window(run)
    return [each for each in _handovers(run) if start <= each.at_s < end]


def handovers_per_minute(run: Path) -> float:
    """Return the handovers per minute of the transfer; NaN for a run without a handover rule."""
    if not (run / HANDOVERS).exists():
        return math.nan
    start, end = transfer_window(run)
    return 60 * len(run_handovers(run)) / (end - start)


def handover_recoveries(run: Path) -> list[HandoverRecovery]:
    """Return for each handover in a run's transfer how long it took to use the new leg.

    Raises:
        ResultError, ValueError, OSError: the run's files are broken, or it is not ok.
    """
    handovers = run_handovers(run)
    if not handovers:
        return []
    (_, end), series, legs = transfer_window(run), leg_series(run), load_as_run(run).legs
    return [
        _recovery(
            each,
            _left(handovers, each, end),
            series[series["leg"] == each.new],
            legs[each.new - 1].downlink.capacity(),
        )
        for each in handovers
    ]


def handover_table(run: Path) -> pd.DataFrame:
    """Return `handover_recoveries` as rows: `time_s`, `old_leg`, `new_leg`, `took_s`, `recovered`.

    Raises:
        ResultError, ValueError, OSError: the run's files are broken, or it is not ok.
    """
    rows = [
        (each.handover.at_s, each.handover.old, each.handover.new, each.took_s, each.recovered)
        for each in handover_recoveries(run)
    ]
    columns = ["time_s", "old_leg", "new_leg", "took_s", "recovered"]
    return pd.DataFrame(rows, columns=columns)


def handover_recovery_s(run: Path) -> float:
    """Return the mean of `HandoverRecovery.took_s` in s; NaN where there was no handover."""
    found = handover_recoveries(run)
    return fmean(each.took_s for each in found) if found else math.nan


def _recovery(
    handover: Handover, until: float, rows: pd.DataFrame, capacity: Capacity
) -> HandoverRecovery:
    time_s, delivered = rows["time_s"].to_numpy(), rows["delivered_bytes"].to_numpy()
    for begin in (handover.at_s, *time_s[time_s > handover.at_s]):
        if begin + WINDOW_S > until:
            break
        edges = (begin, begin + WINDOW_S)
        bits = capacity.bits_between(*(round(edge * NS_PER_S) for edge in edges))
        got = 8 * float(np.diff(np.interp(edges, time_s, delivered))[0])
        if bits and got >= HALF * bits:
            return HandoverRecovery(handover, float(begin - handover.at_s), recovered=True)
    return HandoverRecovery(handover, until - handover.at_s, recovered=False)


def _left(handovers: list[Handover], handover: Handover, end: float) -> float:
    """Return when the new leg of a handover is left again."""
    later = (each.at_s for each in handovers if each.at_s > handover.at_s)
    old = {each.at_s for each in handovers if each.old == handover.new}
    return next((moment for moment in later if moment in old), end)


def _handovers(run: Path) -> Iterator[Handover]:
    if not (run / HANDOVERS).exists():
        return
    table = read_numbers(run, HANDOVERS, COLUMNS)[[*COLUMNS]]
    if table.isna().any(axis=None):
        raise ResultError(f"{run / HANDOVERS}: no list of handovers: a number is missing")
    for time_s, old, new in table.itertuples(index=False):
        yield Handover(float(time_s), int(old), int(new))
