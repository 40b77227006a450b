"""Statistics of a capacity trace, and doubts about traces."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median_low

from minitopo_dc.numbers import significant
from minitopo_dc.trace.model import (
    OPPORTUNITY_BYTES,
    DelayTrace,
    OpportunityTrace,
    Source,
    Trace,
    resample,
)
from minitopo_dc.units import NS_PER_MS, NS_PER_S

_WINDOW = 100 * NS_PER_MS

MAX_BPS = 10_000_000_000
"""The capacity from which on another unit is likelier: 10 Gbit/s, several times a 5G cell's."""
MAX_DELAY_NS = 10 * NS_PER_S
"""The delay from which on another unit is likelier: several times what a full queue takes."""
SHORTEST_NS = NS_PER_S
"""A second: what is shorter has mostly times in another unit."""
GAP_STEPS = 20
"""The number of median steps from which on a step is a gap."""
PERCENTILES = (5, 25, 50, 75, 95)
"""The percentiles of the rate that are told, in per cent of the time."""


@dataclass(frozen=True, slots=True)
class TraceInfo:
    """Statistics of a capacity trace; rates in Mbit/s, weighted by how long they hold.

    `percentiles_mbps` are those at `percentiles` (%). `variation` is the coefficient of variation
    (standard deviation / mean, 0 for a trace of zeros), `changes` the number of moments at which
    the rate changes, `zero_share` the share of time at rate zero, `autocorrelation_1s` what
    :func:`autocorrelation` gives for one second.

    Steps are the times (s) for which the file's rates hold, or those between opportunities at
    different times. `gaps` are the steps of rates that last more than `GAP_STEPS` median ones
    (opportunities have none: between them nothing passes). `equal_times` are the rows with the time
    of the row before.
    """

    name: str
    duration_s: float
    mean_mbps: float
    min_mbps: float
    max_mbps: float
    percentiles_mbps: tuple[float, ...]
    variation: float
    changes: int
    zero_share: float
    autocorrelation_1s: float | None
    step_median_s: float
    step_min_s: float
    step_max_s: float
    gaps: int
    equal_times: int
    percentiles: tuple[int, ...] = PERCENTILES


def trace_info(trace: Trace) -> TraceInfo:
    """Return the statistics of `trace`; of opportunities, those of their means over 100 ms."""
    rates = resample(trace, _WINDOW) if isinstance(trace, OpportunityTrace) else trace
    spans = pairwise((*rates.times_ns, rates.duration_ns))
    shares = ((end - start) / rates.duration_ns for start, end in spans)
    weighted = sorted(zip(rates.rates_bps, shares, strict=True))
    mean = rates.cumulative_nbit()[-1] / rates.duration_ns
    _, lengths = step_lengths(trace)
    if isinstance(trace, OpportunityTrace):
        equal_times = len(trace.times_ms) - len(set(trace.times_ms))
    else:
        equal_times = trace.source.equal_times if trace.source else 0
    square = sum(weight * (rate - mean) ** 2 for rate, weight in weighted)
    return TraceInfo(
        name=trace.name,
        duration_s=trace.duration_ns / NS_PER_S,
        mean_mbps=mean / 1e6,
        min_mbps=weighted[0][0] / 1e6,
        max_mbps=weighted[-1][0] / 1e6,
        percentiles_mbps=tuple(_percentile(weighted, percent / 100) for percent in PERCENTILES),
        variation=square**0.5 / mean if mean else 0.0,
        changes=sum(a != b for a, b in pairwise(rates.rates_bps)),
        zero_share=math.fsum(weight for rate, weight in weighted if rate == 0),
        autocorrelation_1s=autocorrelation(trace, 1),
        step_median_s=median_low(lengths) / NS_PER_S,
        step_min_s=min(lengths) / NS_PER_S,
        step_max_s=max(lengths) / NS_PER_S,
        gaps=gaps_in(trace, lengths),
        equal_times=equal_times,
    )


def step_lengths(trace: Trace | DelayTrace) -> tuple[Sequence[int], list[int]]:
    """Return when the steps of a trace begin, and how long they last, in ns."""
    if isinstance(trace, OpportunityTrace):
        times = (time * NS_PER_MS for time in dict.fromkeys((0, *trace.times_ms)))
        starts: Sequence[int] = tuple(times)[:-1]
    else:
        starts = trace.times_ns
    return starts, [end - start for start, end in pairwise((*starts, trace.duration_ns))]


def gaps_in(trace: Trace | DelayTrace, lengths: Sequence[int]) -> int:
    """Return how many steps are gaps; between opportunities nothing passes, so they have none."""
    longest = GAP_STEPS * median_low(lengths)
    is_gap = not isinstance(trace, OpportunityTrace)
    return is_gap and sum(length > longest for length in lengths)


def doubts(trace: Trace | DelayTrace) -> str | None:
    """Return what makes it likely that a trace is not what it is read as, and what it is read as.

    None if nothing does.
    """
    reasons: list[str] = []
    if isinstance(trace, OpportunityTrace):
        mean = most = len(trace.times_ms) * OPPORTUNITY_BYTES * 8 * NS_PER_S / trace.duration_ns
        source = Source("opportunities of 1,500 bytes at times in ms")
    else:
        values = trace.delays_ns if isinstance(trace, DelayTrace) else trace.rates_bps
        mean, most = _mean(trace.times_ns, values, trace.duration_ns), max(values)
        source = trace.source or Source("rates")
        reasons += source.notes
    shown = f"{significant(mean / 1e6)} Mbit/s"
    if isinstance(trace, DelayTrace):
        shown = f"{significant(mean / 1e6)} ms one way"
        if most > MAX_DELAY_NS:
            reasons.append(f"a delay of {significant(most / NS_PER_S)} s")
    elif most > MAX_BPS:
        reasons.append(f"a capacity of {significant(most / 1e9)} Gbit/s")
    reasons += _doubts_of_time(trace)
    if not reasons:
        return None
    return (
        f"trace {trace.name}: {'; '.join(reasons)}; read as {source.words}: mean {shown} over "
        f"{significant(trace.duration_ns / NS_PER_S)} s"
    )


def _mean(times: Sequence[int], values: Sequence[int], duration: int) -> float:
    ends = (*times[1:], duration)
    spans = zip(times, ends, values, strict=True)
    return sum(value * (end - start) for start, end, value in spans) / duration


def _doubts_of_time(trace: Trace | DelayTrace) -> Iterator[str]:
    if trace.duration_ns < SHORTEST_NS:
        yield f"as short as {significant(trace.duration_ns / 1e6)} ms"
    starts, lengths = step_lengths(trace)
    if gaps := gaps_in(trace, lengths):
        longest = max(lengths)
        at, length = (
            significant(ns / NS_PER_S) for ns in (starts[lengths.index(longest)], longest)
        )
        ratio = significant(longest / median_low(lengths))
        which = "a gap" if gaps == 1 else f"{gaps} gaps, the longest"
        yield (
            f"{which} of {length} s ({ratio} median steps) from {at} s on, over which the value "
            "before holds"
        )


def autocorrelation(trace: Trace, lag_s: int) -> float | None:
    """Return the autocorrelation of the means over whole seconds at a lag of `lag_s` (> 0) s.

    It is None if the means do not vary, or if there are no more than `lag_s` + 1 of them.
    """
    whole = trace.duration_ns // NS_PER_S
    means = resample(trace, NS_PER_S).rates_bps[:whole]
    if len(means) <= lag_s + 1 or len(set(means)) == 1:
        return None
    centre = sum(means) / len(means)
    deviations = [value - centre for value in means]
    product = sum(a * b for a, b in zip(deviations, deviations[lag_s:], strict=False))
    return product / sum(value * value for value in deviations)


def _percentile(weighted: list[tuple[int, float]], share: float) -> float:
    """Return the least rate (Mbit/s) that is not exceeded for `share` of the time."""
    passed = zip(weighted, accumulate(weight for _, weight in weighted), strict=True)
    reached = (rate for (rate, _), until in passed if until >= share)
    return next(reached, weighted[-1][0]) / 1e6  # the last: the shares' rounding errors
