"""A trace of the same shape about another mean."""

from __future__ import annotations

from dataclasses import replace

from minitopo_dc.trace.limits import MOST_BPS
from minitopo_dc.trace.model import RateTrace, Trace


def scaled_to_mean(trace: Trace, mean_bps: int) -> RateTrace:
    """The trace with all rates times one factor, so that their mean over its length is another.

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
    wanted = mean_bps * trace.duration_ns
    rates = tuple((2 * rate * wanted + total) // (2 * total) for rate in trace.rates_bps)
    if max(rates) > MOST_BPS:
        raise ValueError(f"trace {trace.name}: a rate of {max(rates):,} bit/s; most: {MOST_BPS:,}")
    return replace(trace, rates_bps=rates)
