"""Capacity: piecewise constant, in steps, and packet-delivery opportunities."""

from __future__ import annotations

import math
from collections import deque
from fractions import Fraction
from itertools import accumulate, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.link import OpportunityCapacity, RateCapacity, make_capacity
from minitopo_dc.trace import EndRule, OpportunityTrace, RateTrace
from minitopo_dc.trace.model import OPPORTUNITY_BYTES

MS = 10**6
SECOND = 10**9
END_RULES: tuple[EndRule, ...] = ("loop", "hold", "stop")


@st.composite
def rate_traces(draw: st.DrawFn) -> RateTrace:
    steps = draw(st.lists(st.integers(50_000, 5 * MS), min_size=1, max_size=5))
    rate = st.one_of(st.just(0), st.integers(10**6, 10**9))
    rates = draw(st.lists(rate, min_size=len(steps), max_size=len(steps)))
    *times, duration = accumulate(steps, initial=0)
    return RateTrace("t", tuple(times), tuple(rates), duration)


def naive_segment(trace: RateTrace, end: EndRule, time: Fraction) -> tuple[int, Fraction | None]:
    """The rate that holds at `time`, and until when (None: for ever)."""
    if time < 0:
        return trace.rates_bps[0], Fraction(0)
    if time >= trace.duration_ns and end != "loop":
        return (trace.rates_bps[-1] if end == "hold" else 0), None
    lap = time // trace.duration_ns * trace.duration_ns
    index = max(i for i, start in enumerate(trace.times_ns) if start <= time - lap)
    ends = (*trace.times_ns[1:], trace.duration_ns)
    return trace.rates_bps[index], Fraction(lap + ends[index])


def naive_finish(trace: RateTrace, end: EndRule, start: Fraction, bits: int) -> Fraction | None:
    """The exact moment (ns) at which `bits` from `start` on are through."""
    missing = Fraction(bits * SECOND)
    while True:
        rate, until = naive_segment(trace, end, start)
        if until is None or rate * (until - start) >= missing:
            return start + missing / rate if rate else None
        if end == "loop" and not any(trace.rates_bps) and start >= 0:
            return None
        missing -= rate * (until - start)
        start = until


def naive_bits(trace: RateTrace, end: EndRule, start: int, stop: int) -> int:
    """Whole bits in [start, stop), segment by segment."""
    time = Fraction(start)
    work = Fraction(0)
    while time < stop:
        rate, until = naive_segment(trace, end, time)
        until = Fraction(stop) if until is None else min(until, Fraction(stop))
        work += rate * (until - time)
        time = until
    return math.floor(work / SECOND)


gaps_and_bits = st.lists(
    st.tuples(st.one_of(st.just(0), st.integers(0, 8 * MS)), st.integers(1, 40_000)),
    min_size=1,
    max_size=12,
)


@given(rate_traces(), st.sampled_from(END_RULES), st.integers(-3 * MS, 3 * MS), gaps_and_bits)
def test_a_rate_trace_is_integrated_exactly(
    trace: RateTrace, end: EndRule, first: int, packets: list[tuple[int, int]]
) -> None:
    capacity = RateCapacity(trace, end)
    start, exact = first, Fraction(first)
    for gap, bits in packets:
        start += gap
        exact = exact if gap == 0 else Fraction(start)
        done = naive_finish(trace, end, exact, bits)
        finish = capacity.finish(start, bits)
        assert finish == (None if done is None else math.ceil(done))
        if done is None or finish is None:
            return
        start, exact = finish, done


@given(
    rate_traces(),
    st.sampled_from(END_RULES),
    st.integers(-5 * MS, 20 * MS),
    st.integers(0, 30 * MS),
)
def test_the_bits_of_an_interval_are_its_integral(
    trace: RateTrace, end: EndRule, start: int, length: int
) -> None:
    capacity = RateCapacity(trace, end)
    assert capacity.bits_between(start, start + length) == naive_bits(
        trace, end, start, start + length
    )


@given(rate_traces(), st.sampled_from(END_RULES), st.integers(-5 * MS, 20 * MS))
def test_the_rate_at_a_moment_is_the_one_that_holds(
    trace: RateTrace, end: EndRule, time: int
) -> None:
    assert RateCapacity(trace, end).rate_at(time) == naive_segment(trace, end, Fraction(time))[0]


@given(rate_traces(), st.integers(0, 10 * MS), st.integers(1, 50_000), st.integers(0, 100))
def test_an_interrupted_packet_has_left_what_did_not_pass(
    trace: RateTrace, start: int, bits: int, percent: int
) -> None:
    capacity = RateCapacity(trace, "loop")
    finish = capacity.finish(start, bits)
    if finish is None:
        return
    now = start + (finish - 1 - start) * percent // 100
    assert capacity.interrupt(now) == bits - naive_bits(trace, "loop", start, now)


def test_many_laps_do_not_drift() -> None:
    """50,000 packets back to back over about 43,000 laps of an odd trace end to the ns."""
    trace = RateTrace("t", (0, 333_333, 777_777), (12_345_679, 0, 23_456_789), 1_111_117)
    capacity = RateCapacity(trace, "loop")
    finish = 0
    for _ in range(50_000):
        done = capacity.finish(finish, 8 * 1237)
        assert done is not None
        finish = done
    total = 50_000 * 8 * 1237
    assert capacity.bits_between(0, finish) >= total > capacity.bits_between(0, finish - 1)
    laps = finish // trace.duration_ns
    assert laps > 40_000
    bits_a_lap = trace.cumulative_nbit()[-1]
    assert capacity.bits_between(0, laps * trace.duration_ns) == laps * bits_a_lap // SECOND


@given(st.integers(1, 10**9), gaps_and_bits)
def test_a_constant_rate_is_a_trace_of_one_rate(rate: int, packets: list[tuple[int, int]]) -> None:
    constant = make_capacity(rate)
    trace = RateCapacity(RateTrace("t", (0,), (rate,), 7 * MS), "loop")
    start = 0
    for gap, bits in packets:
        start += gap
        finish = constant.finish(start, bits)
        assert finish is not None
        assert finish == trace.finish(start, bits)
        now = start + (finish - start) // 2
        assert constant.bits_between(start, now) == trace.bits_between(start, now)
        if now < finish:
            left = constant.interrupt(now)
            assert left == trace.interrupt(now)
            finish = constant.finish(now, left)
            assert finish is not None
            assert finish == trace.finish(now, left)
        start = finish


def test_make_capacity_takes_a_rate_or_a_trace() -> None:
    assert make_capacity(5).rate_at(0) == 5
    assert make_capacity(RateTrace("t", (0,), (6,), 1)).rate_at(0) == 6
    assert make_capacity(OpportunityTrace("t", (1,))).rate_at(MS) == 12_000_000


@pytest.mark.parametrize("rate", [0, -1])
def test_a_constant_rate_that_is_not_positive_is_refused(rate: int) -> None:
    with pytest.raises(ValueError, match="above 0"):
        make_capacity(rate)


def test_an_unknown_end_rule_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'repeat'.*loop, hold, stop"):
        make_capacity(5, "repeat")  # type: ignore[arg-type]


TRACE = RateTrace("t", times_ns=(0, 10, 30), rates_bps=(5, 7, 0), duration_ns=40)


@pytest.mark.parametrize(
    ("capacity", "steps"),
    [
        (make_capacity(5), [(0, 5)]),
        (RateCapacity(TRACE, "hold"), [(0, 5), (10, 7), (30, 0), (40, 0)]),
        (RateCapacity(RateTrace("t", (0,), (5,), 40), "stop"), [(0, 5), (40, 0)]),
        (RateCapacity(TRACE, "loop"), [(0, 5), (10, 7), (30, 0), (40, 5), (50, 7), (70, 0)]),
    ],
)
def test_steps_are_the_rates_and_their_moments(
    capacity: RateCapacity, steps: list[tuple[int, int]]
) -> None:
    assert list(islice(capacity.steps(), 6)) == steps
    assert [capacity.rate_at(moment) for moment, _ in steps] == [rate for _, rate in steps]


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
            left = OPPORTUNITY_BYTES
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


@pytest.mark.parametrize("lap", [0, 1, 5])
def test_an_opportunity_at_the_begin_of_a_lap_is_past_a_nanosecond_later(lap: int) -> None:
    capacity = OpportunityCapacity(OpportunityTrace("t", (5, 10)), offset_ns=5 * MS)
    begin = lap * 10 * MS  # laps of 10 ms, with opportunities at 0 and 5 ms
    bits = [capacity.bits_between(start, start + 1) for start in (begin, begin + 1, begin + 5 * MS)]
    assert bits == [12_000, 0, 12_000]


def test_before_time_zero_the_trace_has_looped_for_ever() -> None:
    capacity = OpportunityCapacity(OpportunityTrace("t", (1, 4)), "stop")
    assert capacity.finish(-7 * MS - 1, 12_000) == -7 * MS


def test_the_rate_is_the_mean_of_the_100_ms_before() -> None:
    capacity = OpportunityCapacity(OpportunityTrace("t", (1, 1, 4, 1000)))
    three, one = 3 * 12_000 * 10, 12_000 * 10
    rates = [capacity.rate_at(ms * MS) for ms in (1, 2, 5, 101, 102, 104, 105, 1001)]
    # At 1 ms: the opportunity of the lap before, at its end.
    assert rates == [one, three, three + one, three, one, one, 0, one]


def test_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="allowed: loop, stop"):
        make_capacity(OpportunityTrace("t", (1,)), "hold")


def test_an_opportunity_right_after_an_interruption_is_not_lost() -> None:
    capacity = OpportunityCapacity(OpportunityTrace("t", (1, 2, 10)))
    assert capacity.finish(0, 12_000) == MS
    capacity.interrupt(2 * MS - 1)
    assert capacity.finish(2 * MS - 1, 12_000) == 2 * MS
