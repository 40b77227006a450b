"""Capacities of a leg: exact integrals of a rate, or delivery opportunities.

Rules that every capacity keeps:

* Times are ns relative to the trace's own zero and may be negative.
* `finish` is called for one packet after the other, each `start` not before the last finish. A
  packet that starts in the very ns in which the last one finished goes on from the exact moment,
  which lies less than 1 ns earlier, so that rounding to ns never adds up.
* Before time 0 a rate trace holds its first rate.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Protocol, get_args

from minitopo_dc.link.models.opportunities import OpportunityCapacity
from minitopo_dc.trace.convert import begun_at
from minitopo_dc.trace.model import NBIT, EndRule, RateTrace, Trace

_FAR = 1 << 80
"""In ns, beyond any run: the edge of a segment that has none."""


class Capacity(Protocol):
    """The serialiser of one direction of a leg."""

    def finish(self, start: int, bits: int) -> int | None:
        """Return when `bits` (> 0) that may begin at `start` are through (ns), None if never."""

    def left(self, now: int) -> int:
        """Return the bits that are left, at `now`, of the packet of the last `finish`.

        Its end must be later than `now`.
        """

    def interrupt(self, now: int) -> int:
        """Stop the packet of the last `finish`; return the bits left of it."""

    def bits_between(self, start: int, end: int) -> int:
        """Return how many whole bits could pass in [start, end), in ns."""

    def rate_at(self, time: int) -> int:
        """Return the rate in bit/s at a moment, of what is known by then."""


def make_capacity(source: int | Trace, end: EndRule = "loop", offset_ns: int = 0) -> Capacity:
    """Return the capacity of a constant rate (bit/s) or of a trace with its end rule.

    Args:
        source: the rate or the trace.
        end: what follows the trace's end.
        offset_ns: of the moment in the trace (ns, >= 0) that is time 0.

    Raises:
        ValueError: a rate that is not positive, an unknown end rule, `hold` for opportunities, or a
            trace with the end rule `stop` of which nothing is left at the offset.
    """
    if end not in get_args(EndRule):
        raise ValueError(f"end rule {end!r} (allowed: {', '.join(get_args(EndRule))})")
    if isinstance(source, int):
        return ConstantCapacity(source)
    if isinstance(source, RateTrace):
        return RateCapacity(begun_at(source, offset_ns, end), end)
    return OpportunityCapacity(source, end, offset_ns)


class ConstantCapacity:
    """A rate in bit/s that never changes.

    Raises:
        ValueError: the rate is not positive (take the leg down instead).
    """

    __slots__ = ("_bits", "_last", "_origin", "_rate")

    def __init__(self, rate_bps: int) -> None:
        if rate_bps <= 0:
            raise ValueError(f"rate of {rate_bps} bit/s: must be above 0 (or take the leg down)")
        self._rate = rate_bps
        self._last: int | None = None
        self._origin = 0  # start of the current run of packets without a pause
        self._bits = 0  # bits of that run up to the last packet

    @property
    def rate_bps(self) -> int:
        """Return the constant rate in bit/s."""
        return self._rate

    def finish(self, start: int, bits: int) -> int:
        """Return when `bits` are through (ns); see the module's rules."""
        if start != self._last:
            self._origin = start
            self._bits = 0
        self._bits += bits
        self._last = finish = self._origin - (-self._bits * NBIT // self._rate)
        return finish

    def left(self, now: int) -> int:
        """Return the bits left of the packet in service."""
        return -((self._rate * (now - self._origin) - self._bits * NBIT) // NBIT)

    def interrupt(self, now: int) -> int:
        """Stop the packet in service and return its bits left."""
        self._last = None
        return self.left(now)

    def bits_between(self, start: int, end: int) -> int:
        """Return how many whole bits could pass in [start, end), in ns."""
        return self._rate * (end - start) // NBIT

    def rate_at(self, time: int) -> int:  # noqa: ARG002 (the protocol's)
        """Return the constant rate in bit/s."""
        return self._rate

    def steps(self) -> Iterator[tuple[int, int]]:
        """Yield the one step: the rate (bit/s) from time 0 on."""
        yield 0, self._rate


_Segment = tuple[int, int, int, int, int]
"""From and to (ns), work done at both (1e-9 bit, counted from time 0), rate (bit/s)."""


class RateCapacity:
    """The exact integral of a rate trace, in integers.

    After the trace's end: `loop` starts again, `hold` keeps the last rate, `stop` is zero.
    """

    __slots__ = (
        *("_cumulative", "_duration", "_edges", "_last", "_loop", "_rates", "end"),
        *("_rate", "_reached", "_t0", "_t1", "_w0", "_w1"),
    )

    def __init__(self, trace: RateTrace, end: EndRule = "loop") -> None:
        self._edges = (*trace.times_ns, trace.duration_ns)
        self._cumulative = trace.cumulative_nbit()
        self._duration = trace.duration_ns
        self._rates = (*trace.rates_bps, trace.rates_bps[-1] if end == "hold" else 0)
        self._loop = end == "loop"
        self.end = end
        """What follows the trace's end."""
        self._last: int | None = None
        self._reached = 0  # work at the exact end of the last packet
        self._enter(self._segment_at(0))

    def table(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the times (ns) between the trace's rates, its end too, and the rates (bit/s)."""
        return self._edges, self._rates[:-1]

    def finish(self, start: int, bits: int) -> int | None:
        """Return when `bits` are through (ns), None if never; see the module's rules."""
        if start == self._last:
            work = self._reached
        else:
            if not self._t0 <= start < self._t1:
                self._enter(self._segment_at(start))
            work = self._w0 + self._rate * (start - self._t0)
        work += bits * NBIT
        if work > self._w1:
            segment = self._segment_reaching(work)
            if segment is None:
                return None
            self._enter(segment)
        self._reached = work
        self._last = finish = self._t0 - (self._w0 - work) // self._rate
        return finish

    def left(self, now: int) -> int:
        """Return the bits left of the packet in service."""
        return -((self._work_at(now) - self._reached) // NBIT)

    def interrupt(self, now: int) -> int:
        """Stop the packet in service and return its bits left."""
        self._last = None
        return self.left(now)

    def bits_between(self, start: int, end: int) -> int:
        """Return how many whole bits could pass in [start, end), in ns."""
        return (self._work_at(end) - self._work_at(start)) // NBIT

    def rate_at(self, time: int) -> int:
        """Return the rate in bit/s at a moment (ns)."""
        return self._segment_at(time)[4]

    def steps(self) -> Iterator[tuple[int, int]]:
        """Yield each time (ns, from 0) at which a rate begins, and the rate; endless for `loop`."""
        start, end, *_, rate = self._segment_at(0)
        yield start, rate
        while end < _FAR:
            start, end, *_, rate = self._segment_at(end)
            yield start, rate

    def _enter(self, segment: _Segment) -> None:
        self._t0, self._t1, self._w0, self._w1, self._rate = segment

    def _work_at(self, time: int) -> int:
        t0, _, w0, _, rate = self._segment_at(time)
        return w0 + rate * (time - t0)

    def _segment_at(self, time: int) -> _Segment:
        """Return the segment of constant rate that holds at `time` (ns)."""
        if time < 0:
            return self._before()
        lap, local = divmod(time, self._duration) if self._loop else (0, time)
        return self._segment(lap, bisect_right(self._edges, local) - 1)

    def _segment_reaching(self, work: int) -> _Segment | None:
        """Return the segment in which `work` is first complete; None if it never is."""
        if work <= 0:
            return self._before()
        total = self._cumulative[-1]
        lap = (work - 1) // total if self._loop and total else 0
        index = bisect_left(self._cumulative, work - lap * total) - 1
        if index == len(self._edges) - 1 and (self._loop or not self._rates[index]):
            return None
        return self._segment(lap, index)

    def _segment(self, lap: int, index: int) -> _Segment:
        """Return segment `index` of a lap; the one after the last follows the trace's end."""
        start = lap * self._duration + self._edges[index]
        work = lap * self._cumulative[-1] + self._cumulative[index]
        rate = self._rates[index]
        tail = index == len(self._edges) - 1
        end = _FAR if tail else lap * self._duration + self._edges[index + 1]
        return start, end, work, work + rate * (end - start), rate

    def _before(self) -> _Segment:
        return -_FAR, 0, -_FAR * self._rates[0], 0, self._rates[0]
