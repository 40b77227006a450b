"""Conversion from one kind of trace to another that keeps the integral."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

from minitopo_dc.trace.model import MAX_STEPS, NBIT, OpportunityTrace, RateTrace, Trace

_MS = 1_000_000


def resample(trace: Trace, step_ns: int) -> RateTrace:
    """Return the mean rates over windows of `step_ns` (the last one may be shorter).

    The integral is kept: what a window's rate loses by being a whole number of bit/s goes into the
    next window, so that at the end of each window less than 1 bit/s x `step_ns` is missing.
    An opportunity counts in the window that it falls into, the very last one in the last window.

    Raises:
        ValueError: `step_ns` is not positive, or there are more than `MAX_STEPS` windows.
    """
    if step_ns <= 0:
        raise ValueError(f"step of {step_ns} ns: must be above 0")
    if trace.duration_ns > MAX_STEPS * step_ns:
        raise ValueError(
            f"trace {trace.name}: {trace.duration_ns / 1e9:g} s in steps of {step_ns / 1e6:g} ms "
            f"are too many steps; allowed: {MAX_STEPS:,}"
        )
    times = tuple(range(0, trace.duration_ns, step_ns))
    ends = (*times[1:], trace.duration_ns)
    rates: list[int] = []
    carry = 0
    for start, end in zip(times, ends, strict=True):
        work = _work_between(trace, start, end) + carry
        rate, carry = divmod(work, end - start)
        rates.append(rate)
    return RateTrace(trace.name, times, tuple(rates), trace.duration_ns)


def to_opportunities(trace: RateTrace) -> OpportunityTrace:
    """Return delivery opportunities (1500 bytes each) that follow the exact integral of the rate.

    Opportunity k comes in the first whole ms at which the trace has carried k x 1500 bytes: never
    early, at most 1 ms late, and what does not fill an opportunity is carried over to the next.
    The format cannot say when a trace ends: the result is as long as its last opportunity, so a
    silence at the end is lost, and so is the last part of an opportunity.

    Raises:
        ValueError: the trace carries less than one opportunity, or more than `MAX_STEPS`.
    """
    count = trace.cumulative_nbit()[-1] // (1500 * 8 * NBIT)
    if count > MAX_STEPS:
        raise ValueError(
            f"trace {trace.name}: carries {count:,} packets of 1500 bytes; allowed: "
            f"{MAX_STEPS:,}: cut it, or see whether its rates are in the unit that is said"
        )
    times = tuple(_full_at(trace, 1500 * 8 * NBIT))
    if not times:
        raise ValueError(f"trace {trace.name}: carries less than one packet of 1500 bytes")
    return OpportunityTrace(trace.name, times)


def _work_between(trace: Trace, start: int, end: int) -> int:
    if isinstance(trace, RateTrace):
        return _rate_work(trace, start, end)
    last = end == trace.duration_ns
    first_ms, end_ms = -(-start // _MS), -(-end // _MS)
    stop = bisect_right(trace.times_ms, end_ms) if last else bisect_left(trace.times_ms, end_ms)
    count = stop - bisect_left(trace.times_ms, first_ms)
    return count * trace.bytes_per_opportunity * 8 * NBIT


def _rate_work(trace: RateTrace, start: int, end: int) -> int:
    index = bisect_right(trace.times_ns, start) - 1
    work = 0
    while start < end:
        following = index + 1
        until = trace.times_ns[following] if following < len(trace.times_ns) else end
        until = min(until, end)
        work += trace.rates_bps[index] * (until - start)
        start, index = until, following
    return work


def _full_at(trace: RateTrace, portion: int) -> Iterator[int]:
    """Yield the ms (rounded up) at which each further `portion` of work is complete."""
    target = portion
    segments = zip(trace.times_ns, trace.rates_bps, pairwise(trace.cumulative_nbit()), strict=True)
    for start, rate, (before, after) in segments:
        while target <= after:
            time = start - (before - target) // rate
            yield -(-time // _MS)
            target += portion
