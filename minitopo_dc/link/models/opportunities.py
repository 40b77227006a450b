"""Mahimahi's delivery opportunities as a capacity (Netravali et al., USENIX ATC 2015)."""

from __future__ import annotations

from bisect import bisect_left

from minitopo_dc.trace.model import EndRule, OpportunityTrace
from minitopo_dc.units import NS_PER_MS, NS_PER_S

_FAR = 1 << 80
"""In ns or opportunities, beyond any run."""
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

    __slots__ = ("_duration", "_index", "_left", "_limit", "_moments", "_size", "_time", "end")

    def __init__(self, trace: OpportunityTrace, end: EndRule = "loop", offset_ns: int = 0) -> None:
        if end == "hold":
            raise ValueError(
                f"trace {trace.name}: opportunities cannot 'hold' (allowed: loop, stop)"
            )
        self.end = end
        """What follows the trace's end."""
        self._moments = tuple(_moments(trace, end, offset_ns))
        self._duration = trace.duration_ns
        self._size = trace.bytes_per_opportunity * 8
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
