"""Signs in a run's counters of what held it back, and those that explain a slower run.

What is not recorded is NaN: without a bearer nothing waits for its order, and the real clock
records no congestion window of a single path. What a QUIC stream holds back behind a gap is in no
counter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from minitopo_dc.results.measures.congestion import congestion_series, needless_falls
from minitopo_dc.results.measures.pdcp import longest_wait_s, receive_counters, reordering_wait_ms
from minitopo_dc.results.measures.utilisation import (
    leg_bytes_per_byte,
    link_utilisation,
    transfer_window,
)
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.tables.runs import load_result
from minitopo_dc.results.tables.series import leg_series

FEWEST_SAMPLES = 5
"""The fewest samples of a transfer for a share of its time: fewer are too coarse."""
COUNTED = ("leg", "time_s", "delivered_packets")
FULL = 0.8
"""The part of its capacity from which on a leg counts as full, on average from the handshake on."""


@dataclass(frozen=True)
class Signs:
    """The signs of one run."""

    goodput_mbps: float
    leg_shares: tuple[float, ...]
    """The share of each leg in the bytes that arrived."""
    waiting: float
    """A packet's mean wait for those before it in PDCP, in smoothed round-trip times."""
    needless: float
    """How often the congestion window fell though no packet had been lost."""
    lost: float
    """Share of the packets that legs dropped, by loss or at a full queue; of a bearer's PDUs that
    it gave up."""
    bytes_per_byte: float
    """IP bytes that the legs delivered for each byte of the file."""
    late: float
    """Share of the transfer that was over when the last leg began to carry something."""
    idle: float
    """Share of the transfer, after that, in which the leg that rested longest carried nothing; 1 of
    a run over one leg."""
    uneven: float
    """Utilisation of the fullest leg less that of the emptiest, if the fullest is full; else 0."""


REASONS: Mapping[str, tuple[float, str]] = {
    "waiting": (0.2, "its packets wait in PDCP behind one that is late or lost"),
    "needless": (3.0, "its sender takes late packets for lost ones"),
    "lost": (0.01, "it loses more packets"),
    "bytes_per_byte": (0.2, "it carries more bytes for the same file"),
    "late": (0.2, "its second leg starts late"),
    "idle": (0.2, "one of its legs carries nothing for part of the time"),
    "uneven": (0.3, "its full leg slows down the other one"),
}
"""The thresholds by which a sign must exceed that of the better run to count as a reason, with the
reason in words: a fifth of a round trip, three falls, one packet of 100, a fifth of the file, a
fifth of the time, 30 % of a capacity."""


def signs(run: Path) -> Signs:
    """Read the signs of a run that is ok.

    Raises:
        ResultError, ValueError: a file of it is missing or broken.
    """
    result, series = load_result(run), leg_series(run)
    counts = np.array(result.leg_bytes if result.leg_bytes else [math.nan], dtype=float)
    late, idle = _resting(series, _used(result), transfer_window(run, result))
    windows = congestion_series(run)
    return Signs(
        goodput_mbps=math.nan if result.goodput_mbps is None else result.goodput_mbps,
        leg_shares=tuple(float(each) for each in counts / counts.sum()),
        waiting=reordering_wait_ms(run) / float(windows["smoothed_rtt_ms"].mean()),
        needless=needless_falls(windows, series, longest_wait_s(run)),
        lost=_lost(run, series),
        # The bytes of a call are those in time: a late frame would be the reason of itself.
        bytes_per_byte=math.nan
        if result.workload == "realtime"
        else leg_bytes_per_byte(run, result),
        late=late,
        idle=idle,
        uneven=_uneven(run, result),
    )


def reason(worse: Signs, better: Signs) -> str:
    """Return in words why one run is slower than another over the same legs; empty if unknown.

    The reason is that of the strongest sign (`REASONS`).
    """
    strongest = strongest_sign(worse, better)
    return REASONS[strongest][1] if strongest else ""


def strongest_sign(worse: Signs, better: Signs) -> str:
    """Return the sign that exceeds the better run's by the most, relative to its threshold.

    Returns:
        a name of `REASONS`, or nothing where no sign exceeds its threshold.
    """
    mine, theirs = asdict(worse), asdict(better)
    excess = {
        name: (mine[name] - (0.0 if math.isnan(theirs[name]) else theirs[name])) / least
        for name, (least, _) in REASONS.items()
        if not math.isnan(mine[name])
    }
    strongest = max(excess, key=lambda name: excess[name], default="")
    return strongest if strongest and excess[strongest] >= 1 else ""


def _used(result: RunResult) -> list[int]:
    """Return the legs that carried anything (1, 2, ...)."""
    return [number for number, count in enumerate(result.leg_bytes or (), 1) if count]


def _lost(run: Path, series: pd.DataFrame) -> float:
    bearers = receive_counters(run).values()
    if bearers:
        missing = sum(bearer["missing"] for bearer in bearers)
        return float(missing / (missing + sum(bearer["delivered"] for bearer in bearers)))
    ends = series.groupby("leg").last()
    pushed = ends["pushed_packets"].sum()
    dropped = ends["dropped_loss"].sum() + ends["dropped_queue"].sum()
    return float(dropped / pushed) if pushed else math.nan


def _resting(
    series: pd.DataFrame, used: list[int], window: tuple[float, float]
) -> tuple[float, float]:
    """Return `late` and `idle` of the legs that were used; of a single one the other rests."""
    if len(used) < 2:
        return 0.0, 1.0
    start, end = window
    begins, rests = [], []
    legs, times, packets = (series[name].to_numpy() for name in COUNTED)
    during = (times >= start) & (times <= end)
    for leg in used:
        rows = np.flatnonzero((legs == leg) & during)
        carried = np.diff(packets[rows], prepend=packets[rows][:1]) > 0
        first = int(carried.argmax()) if carried.any() else len(rows) - 1
        # The time of the sample before a leg's first packet is its earliest possible begin.
        begins.append(float(times[rows[first - 1]]) if first > 0 else start)
        after = carried[first + 1 :]
        rests.append(float((~after).mean()) if len(after) >= FEWEST_SAMPLES else math.nan)
    return (max(begins) - start) / (end - start), float(np.max(rests))


def _uneven(run: Path, result: RunResult) -> float:
    if len(_used(result)) < 2:
        return 0.0
    parts = link_utilisation(run, result)
    return max(parts) - min(parts) if max(parts) >= FULL else 0.0
