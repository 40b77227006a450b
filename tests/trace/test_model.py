from __future__ import annotations

import pytest

from minitopo_dc.trace import OpportunityTrace, RateTrace


@pytest.mark.parametrize(
    ("times", "rates", "duration", "message"),
    [
        ((), (), 1, "at least one"),
        ((0, 1), (5,), 2, "one rate for each time"),
        ((1,), (5,), 2, "first time must be 0"),
        ((0, 3, 3), (1, 2, 3), 4, "entry 1"),
        ((0, 3), (1, 2), 3, "entry 1"),
        ((0,), (-1,), 3, "entry 0 has the rate -1"),
    ],
)
def test_a_rate_trace_that_is_no_function_is_refused(
    times: tuple[int, ...], rates: tuple[int, ...], duration: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        RateTrace("t", times, rates, duration)


def test_the_cumulative_integral_has_one_value_more_than_the_times() -> None:
    trace = RateTrace("t", (0, 10, 30), (3, 0, 5), 31)
    assert trace.cumulative_nbit() == (0, 30, 30, 35)


@pytest.mark.parametrize(
    ("times", "size", "message"),
    [
        ((), 1500, "after 0 ms"),
        ((0, 0), 1500, "after 0 ms"),
        ((-1, 5), 1500, "before 0 ms"),
        ((4, 3), 1500, "opportunity 1"),
        ((1,), 0, "at least 1 byte"),
    ],
)
def test_opportunities_that_are_no_ascending_list_are_refused(
    times: tuple[int, ...], size: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        OpportunityTrace("t", times, size)


def test_opportunities_last_until_the_last_one() -> None:
    assert OpportunityTrace("t", (0, 7)).duration_ns == 7_000_000
