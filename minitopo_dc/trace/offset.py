"""Traces derived from another: from a later moment on, or with another mean."""

from __future__ import annotations

from dataclasses import replace

from minitopo_dc.trace.model import MAX_BPS, EndRule, RateTrace, Trace


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
    wanted = mean_bps * trace.duration_ns
    rates = tuple((2 * rate * wanted + total) // (2 * total) for rate in trace.rates_bps)
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
        return _rotated(trace, offset_ns % trace.duration_ns)
    if offset_ns < trace.duration_ns:
        return _shifted(trace, offset_ns)
    if end == "hold":
        return replace(trace, times_ns=(0,), rates_bps=trace.rates_bps[-1:])
    raise ValueError(
        f"trace {trace.name}: nothing is left {offset_ns / 1e9:g} s behind its begin "
        f"(allowed with end: stop: less than {trace.duration_ns / 1e9:g} s)"
    )


def _rotated(trace: RateTrace, offset_ns: int) -> RateTrace:
    rest = _shifted(trace, offset_ns)
    before = [(time, rate) for time, rate in _pieces(trace) if time < offset_ns]
    return RateTrace(
        name=trace.name,
        times_ns=(*rest.times_ns, *(rest.duration_ns + time for time, _ in before)),
        rates_bps=(*rest.rates_bps, *(rate for _, rate in before)),
        duration_ns=trace.duration_ns,
    )


def _shifted(trace: RateTrace, offset_ns: int) -> RateTrace:
    """Return what begins at `offset_ns`, which is before the trace's end."""
    pieces = list(_pieces(trace))
    first = max(index for index, (time, _) in enumerate(pieces) if time <= offset_ns)
    return RateTrace(
        name=trace.name,
        times_ns=(0, *(time - offset_ns for time, _ in pieces[first + 1 :])),
        rates_bps=tuple(rate for _, rate in pieces[first:]),
        duration_ns=trace.duration_ns - offset_ns,
    )


def _pieces(trace: RateTrace) -> zip[tuple[int, int]]:
    return zip(trace.times_ns, trace.rates_bps, strict=True)
