"""The times at which a capacity's rate changes."""

from __future__ import annotations

from itertools import islice

from minitopo_dc.link import ConstantCapacity, RateCapacity
from minitopo_dc.trace import RateTrace

TRACE = RateTrace("t", times_ns=(0, 10, 30), rates_bps=(5, 7, 0), duration_ns=40)


def test_a_constant_rate_has_one_step() -> None:
    assert list(ConstantCapacity(5).steps()) == [(0, 5)]


def test_a_trace_that_holds_ends_with_its_last_rate() -> None:
    assert list(RateCapacity(TRACE, "hold").steps()) == [(0, 5), (10, 7), (30, 0), (40, 0)]


def test_a_trace_that_stops_ends_with_zero() -> None:
    trace = RateTrace("t", times_ns=(0,), rates_bps=(5,), duration_ns=40)
    assert list(RateCapacity(trace, "stop").steps()) == [(0, 5), (40, 0)]


def test_a_trace_that_loops_goes_on_for_ever() -> None:
    found = list(islice(RateCapacity(TRACE, "loop").steps(), 5))
    assert found == [(0, 5), (10, 7), (30, 0), (40, 5), (50, 7)]


def test_each_step_is_the_rate_at_its_moment() -> None:
    capacity = RateCapacity(TRACE, "loop")
    for moment, rate in islice(capacity.steps(), 9):
        assert capacity.rate_at(moment) == rate
