"""Capacities that a terminal gets from its channels, and their statistics over a drive.

The levels of aggregation and statistics are those of Krämer et al., Electronics 11 (2022) 1492,
section 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from minitopo_dc.trace.drives.cells import CellLog
from minitopo_dc.trace.drives.channels import Capacities

BEST = "Best Single Path"
"""The best channel of each second."""
MULTIPATH = "Multipath"
"""All channels of each second together."""
PERCENTILES = (20.0, 10.0, 5.0, 1.0, 0.1)
"""Those of table 3, in %."""
MANY_CELLS = 7
"""Section 3.2 tells how often more cells than these are visible."""


@dataclass(frozen=True, slots=True)
class CapacityStatistics:
    """Statistics of one level of aggregation over the seconds of a drive, in Mbit/s."""

    mean_mbps: float
    median_mbps: float
    percentiles_mbps: tuple[float, ...]
    """Of `PERCENTILES`, in this order."""


@dataclass(frozen=True, slots=True)
class ChannelStatistics:
    """Statistics of the channels over a drive: tables 2 and 3.

    `available_shares[n]` is the share of time with n channels. Numbers of visible cells are known
    only with a log of cells.
    """

    name: str
    duration_s: int
    available_mean: float
    available_shares: tuple[float, ...]
    visible_mean: float | None
    visible_more_than_7: float | None
    capacity: dict[str, CapacityStatistics]


def levels(capacities: Capacities) -> dict[str, tuple[float, ...]]:
    """Return Mbit/s at each step by level: `OPERATOR SP`, `Best Single Path`, `Multipath`.

    An operator's level is the best of its channels; without a known operator there is none.
    """
    steps = list(zip(*capacities.mbps, strict=True))
    found: dict[str, tuple[float, ...]] = {}
    for operator in sorted(set(capacities.operators) - {""}):
        own = [k for k, name in enumerate(capacities.operators) if name == operator]
        found[f"{operator} SP"] = tuple(max(step[k] for k in own) for step in steps)
    found[BEST] = tuple(max(step) for step in steps)
    found[MULTIPATH] = tuple(math.fsum(step) for step in steps)
    return found


def channel_statistics(capacities: Capacities, log: CellLog | None = None) -> ChannelStatistics:
    """Return tables 2 and 3 of a drive; with its log also how many cells are visible."""
    available = [sum(rate > 0 for rate in step) for step in zip(*capacities.mbps, strict=True)]
    counts = range(len(capacities.mbps) + 1)
    visible = None if log is None else [len(second) for second in log.seconds]
    return ChannelStatistics(
        name=capacities.name,
        duration_s=capacities.duration_s,
        available_mean=fmean(available),
        available_shares=tuple(available.count(n) / len(available) for n in counts),
        visible_mean=None if visible is None else fmean(visible),
        visible_more_than_7=None if visible is None else fmean(n > MANY_CELLS for n in visible),
        capacity={level: capacity_statistics(row) for level, row in levels(capacities).items()},
    )


def capacity_statistics(mbps: Sequence[float]) -> CapacityStatistics:
    """Return one row of table 3, of capacities in Mbit/s."""
    ordered = sorted(mbps)
    return CapacityStatistics(
        mean_mbps=fmean(ordered),
        median_mbps=_percentile(ordered, 50),
        percentiles_mbps=tuple(_percentile(ordered, share) for share in PERCENTILES),
    )


def _percentile(ordered: Sequence[float], percent: float) -> float:
    """Return the least value that is not exceeded for `percent` of the time."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
