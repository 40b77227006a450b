"""Constant rates and rate traces against a plain integration with fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.link import ConstantCapacity, RateCapacity, make_capacity
from minitopo_dc.trace import EndRule, OpportunityTrace, RateTrace

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
    constant = ConstantCapacity(rate)
    trace = RateCapacity(RateTrace("t", (0,), (rate,), 7 * MS), "loop")
    start = 0
    for gap, bits in packets:
        start += gap
        finish = constant.finish(start, bits)
        assert finish == trace.finish(start, bits)
        now = start + (finish - start) // 2
        assert constant.bits_between(start, now) == trace.bits_between(start, now)
        if now < finish:
            left = constant.interrupt(now)
            assert left == trace.interrupt(now)
            finish = constant.finish(now, left)
            assert finish == trace.finish(now, left)
        start = finish


def test_a_packet_that_ends_with_a_segment_does_not_wait_for_the_zero_after_it() -> None:
    capacity = RateCapacity(RateTrace("t", (0, MS), (12_000_000, 0), 10 * MS), "loop")
    assert capacity.finish(0, 12_000) == MS
    assert capacity.finish(MS, 12_000) == 11 * MS


@pytest.mark.parametrize("end", END_RULES)
def test_a_trace_of_zeros_never_finishes(end: EndRule) -> None:
    assert RateCapacity(RateTrace("t", (0,), (0,), MS), end).finish(0, 1) is None


def test_before_time_zero_the_first_rate_holds() -> None:
    capacity = RateCapacity(RateTrace("t", (0, MS), (12_000_000, 1), 2 * MS), "stop")
    assert capacity.finish(-5 * MS, 12_000) == -4 * MS
    assert capacity.rate_at(-SECOND) == 12_000_000


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
