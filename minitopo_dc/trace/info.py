"""Statistics of a capacity trace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from minitopo_dc.trace.convert import resample
from minitopo_dc.trace.model import OpportunityTrace, RateTrace, Trace

_SECOND = 1_000_000_000
_WINDOW = 100_000_000


PERCENTILES = (5, 25, 50, 75, 95)
"""The percentiles of the rate that are told, in per cent of the time."""


@dataclass(frozen=True, slots=True)
class TraceInfo:
    """Statistics of a capacity trace; rates in Mbit/s, weighted by how long they hold.

    `percentiles_mbps` are those at `percentiles` (%). `variation` is the coefficient of variation
    (standard deviation / mean, 0 for a trace of zeros), `changes` the number of moments at which
    the rate changes, `zero_share` the share of time at rate zero, `autocorrelation_1s` what
    :func:`autocorrelation` gives for one second.
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
    percentiles: tuple[int, ...] = PERCENTILES


def trace_info(trace: Trace) -> TraceInfo:
    """Return the statistics of `trace`; of opportunities, those of their means over 100 ms."""
    rates = resample(trace, _WINDOW) if isinstance(trace, OpportunityTrace) else trace
    weighted = _sorted_weights(rates)
    mean = rates.cumulative_nbit()[-1] / rates.duration_ns
    square = sum(weight * (rate - mean) ** 2 for rate, weight in weighted)
    return TraceInfo(
        name=trace.name,
        duration_s=trace.duration_ns / _SECOND,
        mean_mbps=mean / 1e6,
        min_mbps=weighted[0][0] / 1e6,
        max_mbps=weighted[-1][0] / 1e6,
        percentiles_mbps=tuple(_percentile(weighted, each / 100) for each in PERCENTILES),
        variation=square**0.5 / mean if mean else 0.0,
        changes=sum(a != b for a, b in pairwise(rates.rates_bps)),
        zero_share=math.fsum(weight for rate, weight in weighted if rate == 0),
        autocorrelation_1s=autocorrelation(trace, 1),
    )


def autocorrelation(trace: Trace, lag_s: int) -> float | None:
    """Return the autocorrelation of the means over whole seconds at a lag of `lag_s` (> 0) s.

    It is None if the means do not vary, or if there are no more than `lag_s` + 1 of them.
    """
    whole = trace.duration_ns // _SECOND
    means = resample(trace, _SECOND).rates_bps[:whole]
    if len(means) <= lag_s + 1 or len(set(means)) == 1:
        return None
    centre = sum(means) / len(means)
    deviations = [value - centre for value in means]
    product = sum(a * b for a, b in zip(deviations, deviations[lag_s:], strict=False))
    return product / sum(value * value for value in deviations)


def _sorted_weights(trace: RateTrace) -> list[tuple[int, float]]:
    """Return (rate, share of the duration) of each segment, sorted by rate."""
    spans = pairwise((*trace.times_ns, trace.duration_ns))
    shares = ((end - start) / trace.duration_ns for start, end in spans)
    return sorted(zip(trace.rates_bps, shares, strict=True))


def _percentile(weighted: list[tuple[int, float]], share: float) -> float:
    """Return the least rate (Mbit/s) that is not exceeded for `share` of the time."""
    passed = 0.0
    for rate, weight in weighted:
        passed += weight
        if passed >= share:
            return rate / 1e6
    return weighted[-1][0] / 1e6  # the shares' rounding errors
