"""Mahimahi's rule against a plain simulation that walks from opportunity to opportunity."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.link import OpportunityCapacity, make_capacity
from minitopo_dc.trace import EndRule, OpportunityTrace

MS = 10**6

times_ms = st.lists(st.integers(0, 12), min_size=1, max_size=10).map(sorted)
traces = times_ms.filter(lambda times: times[-1] > 0).map(
    lambda times: OpportunityTrace("t", tuple(times))
)
packets = st.lists(st.tuples(st.integers(0, 6 * MS), st.integers(1, 4000)), max_size=12)
ends: st.SearchStrategy[EndRule] = st.sampled_from(["loop", "stop"])


def naive_finishes(
    trace: OpportunityTrace, end: EndRule, arrivals: list[tuple[int, int]]
) -> list[int | None]:
    """When each (arrival in ns, bytes) is through, by handing out one opportunity after another."""
    finishes: list[int | None] = [None] * len(arrivals)
    missing = [size for _, size in arrivals]
    waiting = deque(range(len(arrivals)))
    for lap in range(1 if end == "stop" else 100):
        for time in trace.times_ms:
            moment = lap * trace.duration_ns + time * MS
            left = trace.bytes_per_opportunity
            while waiting and left and arrivals[waiting[0]][0] <= moment:
                first = waiting[0]
                used = min(left, missing[first])
                missing[first] -= used
                left -= used
                if not missing[first]:
                    finishes[first] = moment
                    waiting.popleft()
    return finishes


@given(traces, ends, packets)
def test_opportunities_are_handed_out_as_mahimahi_does(
    trace: OpportunityTrace, end: EndRule, gaps: list[tuple[int, int]]
) -> None:
    arrivals: list[tuple[int, int]] = []
    for gap, size in gaps:
        arrivals.append(((arrivals[-1][0] if arrivals else 0) + gap, size))
    capacity = OpportunityCapacity(trace, end)
    finish: int | None = 0
    for (arrival, size), expected in zip(
        arrivals, naive_finishes(trace, end, arrivals), strict=True
    ):
        assert finish is not None
        finish = capacity.finish(max(arrival, finish), size * 8)
        assert finish == expected
        if finish is None:
            return


@given(traces, ends, st.integers(0, 40 * MS), st.integers(0, 40 * MS))
def test_the_bits_of_an_interval_are_those_of_its_opportunities(
    trace: OpportunityTrace, end: EndRule, start: int, length: int
) -> None:
    laps = range(1 if end == "stop" else 100)
    moments = [lap * trace.duration_ns + time * MS for lap in laps for time in trace.times_ms]
    inside = sum(start <= moment < start + length for moment in moments)
    capacity = OpportunityCapacity(trace, end)
    assert capacity.bits_between(start, start + length) == inside * 12_000


@given(traces, packets, st.integers(0, 100))
def test_an_interrupted_packet_loses_no_bit_and_gains_none(
    trace: OpportunityTrace, gaps: list[tuple[int, int]], percent: int
) -> None:
    """Stopped at any moment and resumed at once, all is as if nothing had been."""
    plain, stopped = OpportunityCapacity(trace), OpportunityCapacity(trace)
    start = 0
    for gap, size in gaps:
        start += gap
        expected = plain.finish(start, size * 8)
        finish = stopped.finish(start, size * 8)
        assert expected is not None
        assert finish == expected
        now = start + (expected - start) * percent // 100
        if now < expected:
            left = stopped.interrupt(now)
            assert 0 < left <= size * 8
            assert stopped.finish(now, left) == expected
        start = expected


def test_a_lap_begins_at_the_last_opportunity() -> None:
    """Mahimahi: the second lap's 0 ms is the first one's last ms."""
    capacity = OpportunityCapacity(OpportunityTrace("t", (0, 4)))
    finishes = [capacity.finish(0, 12_000) for _ in range(5)]
    assert finishes == [0, 4 * MS, 4 * MS, 8 * MS, 8 * MS]


def test_before_time_zero_the_trace_has_looped_for_ever() -> None:
    capacity = OpportunityCapacity(OpportunityTrace("t", (1, 4)), "stop")
    assert capacity.finish(-7 * MS - 1, 12_000) == -7 * MS


def test_many_laps_do_not_drift() -> None:
    capacity = OpportunityCapacity(OpportunityTrace("t", (1, 2, 5)))
    finish = 0
    for _ in range(30_000):
        done = capacity.finish(finish, 12_000)
        assert done is not None
        finish = done
    assert finish == 10_000 * 5 * MS


def test_the_rate_is_the_mean_of_the_100_ms_before() -> None:
    capacity = OpportunityCapacity(OpportunityTrace("t", (1, 1, 4, 1000)))
    three, one = 3 * 12_000 * 10, 12_000 * 10
    rates = [capacity.rate_at(ms * MS) for ms in (1, 2, 5, 101, 102, 104, 105, 1001)]
    # At 1 ms: the opportunity of the lap before, at its end.
    assert rates == [one, three, three + one, three, one, one, 0, one]


def test_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="allowed: loop, stop"):
        make_capacity(OpportunityTrace("t", (1,)), "hold")
