"""The verdict's two rows on packets: whether the real clock says the same."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

from minitopo_dc.advice.runs import Progress, Runs
from minitopo_dc.advice.sequence import Asked
from minitopo_dc.advice.verdict import Difference, Verdict
from minitopo_dc.scenario import VirtualSettings
from minitopo_dc.statistics import mean_interval

REAL_SEEDS = 3
"""A run on packets takes as long as it takes, and seconds beside it."""
REAL_START_S = 5.0
"""What it takes beside: hosts, elements and programs that start and end (docs/measurements.md)."""


def on_packets(verdict: Verdict, asked: Asked, runs: Runs, progress: Progress) -> Verdict:
    """Return the verdict with what its two rows do on the real clock, a seed after the other.

    A run that the machine disturbed is in no pair.

    Args:
        verdict: on the virtual clock.
        asked: what it is about.
        runs: makes runs, one at a time.
        progress: hears what is under way.
    """
    if verdict.dual is None or verdict.multipath is None:
        return verdict
    base = asked.base.model_copy(update={"clock": "real", "virtual": VirtualSettings()})
    rows = (verdict.dual, verdict.multipath)
    wanted = replace(asked, base=base).wanted(rows, range(1, REAL_SEEDS + 1))
    values: dict[str, dict[int, float]] = {row.name: {} for row in rows}
    for done in runs.make(wanted, asked.root / "real", math.inf, progress):
        value = asked.criterion.value(done.result)
        if not math.isnan(value):
            values[done.wanted.row.name][done.wanted.repetition] = value
    mine, theirs = (values[row.name] for row in rows)
    seeds = sorted(mine.keys() & theirs.keys())
    if not seeds:
        return verdict
    return replace(verdict, real=_difference(asked, [(mine[each], theirs[each]) for each in seeds]))


def _difference(asked: Asked, pairs: Sequence[tuple[float, float]]) -> Difference:
    criterion = asked.criterion
    values = [criterion.difference(*pair) for pair in pairs]
    interval = mean_interval(values)
    first, second = (criterion.mean(column) for column in zip(*pairs, strict=True))
    return Difference(first, second, statistics.fmean(values), interval, len(pairs),
                      criterion.outcome(interval))  # fmt: skip
