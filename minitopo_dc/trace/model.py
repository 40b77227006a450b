"""Traces of capacities and delays: the types, which legs consume, and what is derived from one."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate, count, pairwise
from pathlib import Path
from typing import Literal

from minitopo_dc.errors import InputError
from minitopo_dc.units import NS_PER_MS

MAX_BPS = 10**12
"""1 Tbit/s, as of a leg's rate."""
LONGEST_S = 604_800
"""A week: a longer trace has times in another unit than is said, or two logs in one."""
SHORTEST_NS = NS_PER_MS
"""1 ms, the finest step of Mahimahi's format: of a leg's trace, which may loop."""
MAX_STEPS = 10_000_000
"""Of what is made: windows, steps, opportunities. Some 1 GB of memory."""
LONGEST_LINE = 100_000
"""Characters; the widest known table has some hundred columns."""
LONGEST_FILE = 500_000_000
"""Bytes."""
MAX_LINES = 5_000_000
"""Of a trace's file: some 1 GB of memory."""


def in_range(name: str, value: float, least: float, most: float, unit: str = "") -> None:
    """Refuse a number outside its range, and NaN.

    Raises:
        ValueError: naming it and what is allowed.
    """
    if not least <= value <= most or math.isnan(value):
        allowed = f"{least:,g} to {most:,g} {unit}".strip()
        raise ValueError(f"{name} = {value:g}: must be {allowed}")


EndRule = Literal["loop", "hold", "stop"]
"""What happens after a trace's last moment: start again, keep the last rate, or zero for ever."""

DelayBetween = Literal["hold", "linear"]
"""What is between two values: the former one, or a line."""
LINE_STEP_NS = 10 * NS_PER_MS
"""Of a line: far below a round trip's, and a hundred changes a second."""
NBIT = 1_000_000_000
"""One bit in the unit of exact integrals: (bit/s) x ns = 1e-9 bit, so that all are integers."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a reader took the numbers of a file for."""

    words: str
    """The columns and their units."""
    equal_times: int = 0
    """How many rows have the time of the row before."""
    notes: tuple[str, ...] = ()
    """What a reader had to choose, which the user is told."""


@dataclass(frozen=True, slots=True)
class RateTrace:
    """Capacity as a piecewise-constant function of time, right-continuous.

    `rates_bps[i]` (bit/s, >= 0) holds from `times_ns[i]` (ns, strictly ascending, the first is
    0) up to the next time, the last one up to `duration_ns` (ns, > the last time).

    Raises:
        ValueError: it is not such a function; the message names the first place that breaks it.
    """

    name: str
    times_ns: tuple[int, ...]
    rates_bps: tuple[int, ...]
    duration_ns: int
    source: Source | None = field(default=None, compare=False, repr=False)
    """Of a trace that was read; None for one that was made."""

    def __post_init__(self) -> None:
        """Refuse what is not such a function, naming the first place that breaks it."""
        if not self.times_ns or len(self.times_ns) != len(self.rates_bps):
            raise ValueError(f"trace {self.name}: needs one rate for each time, and at least one")
        if self.times_ns[0] != 0:
            raise ValueError(f"trace {self.name}: the first time must be 0")
        for index, (start, end) in enumerate(pairwise((*self.times_ns, self.duration_ns))):
            if end <= start:
                raise ValueError(
                    f"trace {self.name}: {end} ns after entry {index} ({start} ns) does not ascend"
                )
        for index, rate in enumerate(self.rates_bps):
            if rate < 0:
                raise ValueError(f"trace {self.name}: entry {index} has the rate {rate} bit/s < 0")

    def cumulative_nbit(self) -> tuple[int, ...]:
        """Return the exact integral from 0 to each of `times_ns` and to the end, in 1e-9 bit."""
        steps = pairwise((*self.times_ns, self.duration_ns))
        work = (r * (end - start) for r, (start, end) in zip(self.rates_bps, steps, strict=True))
        return tuple(accumulate(work, initial=0))


OPPORTUNITY_BYTES = 1500
"""Mahimahi (Netravali et al., USENIX ATC 2015): one packet of the MTU. Its source counts 1504 bytes
because its packets carry a 4-byte TUN header; an IP packet of 1500 bytes fits exactly."""


@dataclass(frozen=True, slots=True)
class OpportunityTrace:
    """Capacity as packet-delivery opportunities (Mahimahi's format).

    At each of `times_ms` (ms, >= 0, ascending, repeats allowed) the link may pass on
    `OPPORTUNITY_BYTES`; the trace is as long as its last time (which must be > 0).

    Raises:
        ValueError: it is not such a list; the message names the first place that breaks it.
    """

    name: str
    times_ms: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse what is not such a list, naming the first place that breaks it."""
        if not self.times_ms or self.times_ms[-1] <= 0:
            raise ValueError(f"trace {self.name}: needs at least one opportunity after 0 ms")
        if self.times_ms[0] < 0:
            raise ValueError(f"trace {self.name}: the first opportunity is before 0 ms")
        for index, (earlier, later) in enumerate(pairwise(self.times_ms)):
            if later < earlier:
                raise ValueError(
                    f"trace {self.name}: opportunity {index + 1} ({later} ms) is earlier than the "
                    f"one before it ({earlier} ms)"
                )

    @property
    def duration_ns(self) -> int:
        """Return the length of the trace in ns."""
        return self.times_ms[-1] * NS_PER_MS


@dataclass(frozen=True, slots=True)
class DelayTrace:
    """One-way delays as a piecewise-constant function of time, as `RateTrace` has rates.

    `delays_ns[i]` holds from `times_ns[i]` (ns, ascending, the first is 0) up to the next time, the
    last one up to `duration_ns`.
    """

    name: str
    times_ns: tuple[int, ...]
    delays_ns: tuple[int, ...]
    duration_ns: int
    source: Source | None = field(default=None, compare=False, repr=False)

    def steps(
        self, between: DelayBetween, end: EndRule, offset_ns: int = 0
    ) -> Iterator[tuple[int, int]]:
        """Yield each moment (ns, from 0) and the delay (ns) from then on, for ever with `loop`.

        Args:
            between: what is between two values.
            end: `loop`: it begins again; else the last value stays.
            offset_ns: the moment of the trace that is time 0.
        """
        begun = False
        before = self.delays_ns[0]
        for cycle in count() if end == "loop" else (0,):
            for moment, delay in self._once(between):
                time = cycle * self.duration_ns + moment - offset_ns
                if time > 0:
                    if not begun:
                        yield 0, before
                    begun = True
                    yield time, delay
                before = delay
        if not begun:
            yield 0, before

    def _once(self, between: DelayBetween) -> Iterator[tuple[int, int]]:
        points = list(zip(self.times_ns, self.delays_ns, strict=True))
        for (since, first), (until, second) in pairwise(points):
            steps = range(since, until, LINE_STEP_NS if between == "linear" else until - since)
            for moment in steps:
                yield moment, first + (second - first) * (moment - since) // (until - since)
        yield points[-1]


Trace = RateTrace | OpportunityTrace


class TraceError(InputError):
    """Error: a trace file says something that cannot be read.

    Attributes:
        path: the file.
        line: its line (from 1), or 0 when the whole file is meant.
        what: what is wrong there.
        allowed: what would have been right.
    """

    def __init__(self, path: Path, line: int, what: str, allowed: str) -> None:
        """Join the parts into the message `file:line: what (allowed: ...)`."""
        where = f"{path}:{line}" if line else str(path)
        super().__init__(f"{where}: {what} (allowed: {allowed})")
        self.path = path
        self.line = line
        self.what = what
        self.allowed = allowed


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
    count = trace.cumulative_nbit()[-1] // (OPPORTUNITY_BYTES * 8 * NBIT)
    if count > MAX_STEPS:
        raise ValueError(
            f"trace {trace.name}: carries {count:,} packets of 1500 bytes; allowed: "
            f"{MAX_STEPS:,}: cut it, or see whether its rates are in the unit that is said"
        )
    times = tuple(_full_at(trace, OPPORTUNITY_BYTES * 8 * NBIT))
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
        times, size = trace.times_ms, OPPORTUNITY_BYTES * 8 * NBIT

        def opportunities(until: int) -> int:
            last = until == trace.duration_ns
            return size * (len(times) if last else bisect_left(times, -(-until // NS_PER_MS)))

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
            yield -(-time // NS_PER_MS)
            target += portion
