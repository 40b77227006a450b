"""Capacities of a leg: exact integrals of a rate, or delivery opportunities.

Rules that every capacity keeps:

* Times are ns relative to the trace's own zero and may be negative.
* `finish` is called for one packet after the other, each `start` not before the last finish. A
  packet that starts in the very ns in which the last one finished goes on from the exact moment,
  which lies less than 1 ns earlier, so that rounding to ns never adds up.
* `left` and `interrupt` are asked before the end that the last `finish` gave.
* Before time 0 a rate trace holds its first rate.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import count
from typing import get_args

from minitopo_dc.trace.model import (
    NBIT,
    OPPORTUNITY_BYTES,
    EndRule,
    OpportunityTrace,
    RateTrace,
    Trace,
    begun_at,
)
from minitopo_dc.units import NS_PER_MS, NS_PER_S

_FAR = 1 << 80
"""In ns or opportunities, beyond any run."""
_AGE = 1 << 61
"""In ns: 73 years, for which a constant rate is a trace."""


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
        if source <= 0:
            raise ValueError(f"rate of {source} bit/s: must be above 0 (or take the leg down)")
        return RateCapacity(RateTrace("constant", (0,), (source,), _AGE), "hold")
    if isinstance(source, RateTrace):
        return RateCapacity(begun_at(source, offset_ns, end), end)
    return OpportunityCapacity(source, end, offset_ns)


_Segment = tuple[int, int, int, int, int]
"""From and to (ns), work done at both (1e-9 bit, counted from time 0), rate (bit/s)."""


class RateCapacity:
    """The exact integral of a rate trace, in integers.

    After the trace's end: `loop` starts again, `hold` keeps the last rate, `stop` is zero.
    """

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
        return self._rate if self._t0 <= time < self._t1 else self._segment_at(time)[4]

    def steps(self) -> Iterator[tuple[int, int]]:
        """Yield each time (ns, from 0) at which a rate begins, and the rate; endless for `loop`."""
        start, end, *_, rate = self._segment_at(0)
        yield start, rate
        while end < _AGE:
            start, end, *_, rate = self._segment_at(end)
            yield start, rate

    def _enter(self, segment: _Segment) -> None:
        self._t0, self._t1, self._w0, self._w1, self._rate = segment

    def _work_at(self, time: int) -> int:
        t0, w0, rate = self._t0, self._w0, self._rate
        if not t0 <= time < self._t1:
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


RATE_WINDOW_NS = 100 * NS_PER_MS
"""Over which opportunities become a rate. This project's choice: 8 of them at 1 Mbit/s."""


class OpportunityCapacity:
    """A capacity that serves packets at moments instead of at a rate.

    Rules:

    * An opportunity passes up to its bytes of what has arrived by its moment. Several small
      packets share it, a packet larger than what is left takes that and goes on in the next one.
    * What nothing waits for is lost. (Mahimahi counts whole ms and takes packets in after the
      opportunities of the same ms; here a packet that arrives in the very ns is still in time.)
    * `loop`: the next lap begins at the trace's last opportunity, as in Mahimahi; `stop`:
      nothing passes after it. There is no last rate that `hold` could keep.
    * Before time 0 the trace runs as if it had looped for ever; the opportunity that so falls on 0
      serves only what waited before.

    * `offset_ns`: time 0 is that moment of the trace (ns, >= 0).

    Raises:
        ValueError: the end rule is `hold`, or `stop` and nothing is left at the offset.
    """

    def __init__(self, trace: OpportunityTrace, end: EndRule = "loop", offset_ns: int = 0) -> None:
        if end == "hold":
            raise ValueError(
                f"trace {trace.name}: opportunities cannot 'hold' (allowed: loop, stop)"
            )
        self.end = end
        """What follows the trace's end."""
        self._moments = tuple(_moments(trace, end, offset_ns))
        self._duration = trace.duration_ns
        self._size = OPPORTUNITY_BYTES * 8
        self._limit = len(self._moments) if end == "stop" else _FAR
        # Opportunities are numbered through all laps, from 0 at time 0. The one in use:
        self._index = 0
        self._time = -_FAR
        self._left = 0  # bits that it can still pass

    def table(self) -> tuple[tuple[int, ...], int, int]:
        """Return the first lap's moments (ns), its length (ns) and the bits of one opportunity."""
        return self._moments, self._duration, self._size

    def finish(self, start: int, bits: int) -> int | None:
        """Return when `bits` are through (ns), None if the opportunities end before."""
        if start > self._time:
            self._index = self._first_from(start)
            self._time = self._moment(self._index)
            self._left = self._size
        index = self._index
        left = self._left - bits
        if left < 0:
            more = -(left // self._size)
            index += more
            left += more * self._size
        if index >= self._limit:
            return None
        if index != self._index:
            self._index = index
            self._time = self._moment(index)
        self._left = left
        return self._time

    def left(self, now: int) -> int:
        """Return the bits left of the packet in service at `now` (ns).

        These are what it takes of its last opportunity, and all opportunities between that one and
        `now`: the opportunity that it may share with the packet before it is not after `now`.
        """
        between = self._index - self._count_before(now + 1)
        return self._size - self._left + between * self._size

    def interrupt(self, now: int) -> int:
        """Stop the packet in service, return its bits left; opportunities to `now` stay used."""
        bits = self.left(now)
        self._index = self._count_before(now + 1) - 1
        self._time = self._moment(self._index)
        self._left = 0
        return bits

    def bits_between(self, start: int, end: int) -> int:
        """Return the bits of the opportunities in [start, end)."""
        return (self._first_from(end) - self._first_from(start)) * self._size

    def rate_at(self, time: int) -> int:
        """Return the mean rate in bit/s over the `RATE_WINDOW_NS` before a moment."""
        return self.bits_between(time - RATE_WINDOW_NS, time) * NS_PER_S // RATE_WINDOW_NS

    def steps(self) -> Iterator[tuple[int, int]]:
        """Yield each second (ns, from 0) and the mean rate (bit/s) over it, without end."""
        for second in count(0, NS_PER_S):
            yield second, self.bits_between(second, second + NS_PER_S)

    def _moment(self, index: int) -> int:
        lap, place = divmod(index, len(self._moments))
        return lap * self._duration + self._moments[place]

    def _first_from(self, time: int) -> int:
        """Return the number of the first opportunity for a packet that arrives at `time`."""
        first = self._count_before(time)
        return max(first, 0) if time >= 0 else first

    def _count_before(self, time: int) -> int:
        """Return the number of the first opportunity at or after `time`."""
        # A lap is open at its start and closed at its end: its last opportunity belongs to it.
        lap = (time - 1) // self._duration
        before = bisect_left(self._moments, time - lap * self._duration)
        return min(lap * len(self._moments) + before, self._limit)


def _moments(trace: OpportunityTrace, end: EndRule, offset_ns: int) -> list[int]:
    """Return the moments of the first lap's opportunities, in ns from the offset on.

    The end of a lap is the begin of the next one, so an offset of whole laps has at time 0 both the
    last opportunities of one and the first of the other. Without an offset no lap came before.
    """
    moments = [time * NS_PER_MS for time in trace.times_ms]
    if not offset_ns:
        return moments
    if end == "loop":
        return sorted((time - offset_ns) % trace.duration_ns for time in moments)
    if left := [time - offset_ns for time in moments if time >= offset_ns]:
        return left
    raise ValueError(
        f"trace {trace.name}: nothing is left {offset_ns / 1e9:g} s behind its begin "
        f"(allowed with end: stop: up to {trace.duration_ns / 1e9:g} s)"
    )


Capacity = RateCapacity | OpportunityCapacity
"""The serialiser of one direction of a leg."""
