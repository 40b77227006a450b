"""Traces derived from another: resampled, as opportunities, from a later moment on, rescaled."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from minitopo_dc.trace.model import (
    MAX_BPS,
    MAX_STEPS,
    NBIT,
    EndRule,
    OpportunityTrace,
    RateTrace,
    Trace,
)

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
    integral = _integral(trace)
    rates: list[int] = []
    carry = done = 0
    for start, end in pairwise((*times, trace.duration_ns)):
        before, done = done, integral(end)
        rate, carry = divmod(done - before + carry, end - start)
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


def scaled_to_mean(trace: Trace, mean_bps: int) -> RateTrace:
    """Return the trace with all rates times one factor, so that their mean is another.

    Args:
        trace: of rates.
        mean_bps: in bit/s, above 0; each rate is rounded to whole bit/s.

    Raises:
        ValueError: the trace has opportunities or no capacity, or a rate becomes too large.
    """
    if not isinstance(trace, RateTrace):
        raise ValueError(f"trace {trace.name}: opportunities have no rate to change")
    total = trace.cumulative_nbit()[-1]
    if not total:
        raise ValueError(f"trace {trace.name}: no capacity throughout, so that it has no shape")
    target = mean_bps * trace.duration_ns
    rates = tuple((2 * rate * target + total) // (2 * total) for rate in trace.rates_bps)
    if max(rates) > MAX_BPS:
        raise ValueError(f"trace {trace.name}: a rate of {max(rates):,} bit/s; most: {MAX_BPS:,}")
    return replace(trace, rates_bps=rates)


def begun_at(trace: RateTrace, offset_ns: int, end: EndRule) -> RateTrace:
    """Return the trace whose time 0 is the moment `offset_ns` (ns, >= 0) of this one.

    `loop`: it is as long as before, and what came before the moment follows at its end. `hold`: it
    is what is left, behind the trace's end its last rate. `stop`: it is what is left.

    Raises:
        ValueError: `stop`, and nothing is left.
    """
    if not offset_ns:
        return trace
    if end == "loop":
        offset_ns %= trace.duration_ns
        rest = _rest(trace, offset_ns)
        before = bisect_left(trace.times_ns, offset_ns)
        times = (rest.duration_ns + time for time in trace.times_ns[:before])
        return replace(
            trace,
            times_ns=(*rest.times_ns, *times),
            rates_bps=rest.rates_bps + trace.rates_bps[:before],
        )
    if offset_ns < trace.duration_ns:
        return _rest(trace, offset_ns)
    if end == "hold":
        return replace(trace, times_ns=(0,), rates_bps=trace.rates_bps[-1:])
    raise ValueError(
        f"trace {trace.name}: nothing is left {offset_ns / 1e9:g} s behind its begin "
        f"(allowed with end: stop: less than {trace.duration_ns / 1e9:g} s)"
    )


def _rest(trace: RateTrace, offset_ns: int) -> RateTrace:
    first = bisect_right(trace.times_ns, offset_ns) - 1
    return replace(
        trace,
        times_ns=(0, *(time - offset_ns for time in trace.times_ns[first + 1 :])),
        rates_bps=trace.rates_bps[first:],
        duration_ns=trace.duration_ns - offset_ns,
    )


def _integral(trace: Trace) -> Callable[[int], int]:
    """Return the function of what a trace carries from 0 to a time (ns), in 1e-9 bit."""
    if isinstance(trace, OpportunityTrace):
        times, size = trace.times_ms, trace.bytes_per_opportunity * 8 * NBIT

        def opportunities(until: int) -> int:
            last = until == trace.duration_ns
            return size * (len(times) if last else bisect_left(times, -(-until // _MS)))

        return opportunities
    sums = trace.cumulative_nbit()

    def rates(until: int) -> int:
        index = bisect_right(trace.times_ns, until) - 1
        return sums[index] + trace.rates_bps[index] * (until - trace.times_ns[index])

    return rates


def _full_at(trace: RateTrace, portion: int) -> Iterator[int]:
    """Yield the ms (rounded up) at which each further `portion` of work is complete."""
    target = portion
    segments = zip(trace.times_ns, trace.rates_bps, pairwise(trace.cumulative_nbit()), strict=True)
    for start, rate, (before, after) in segments:
        while target <= after:
            time = start - (before - target) // rate
            yield -(-time // _MS)
            target += portion
