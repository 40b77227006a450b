from __future__ import annotations

import re
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.trace import (
    OpportunityTrace,
    RateTrace,
    Trace,
    autocorrelation,
    doubts,
    read_trace,
    resample,
    trace_info,
)
from tests.trace.heard_cells import rate_traces

SECOND = 10**9


def test_rates_are_weighted_by_the_time_that_they_hold() -> None:
    trace = RateTrace("t", (0, SECOND), (10_000_000, 2_000_000), 4 * SECOND)
    info = trace_info(trace)
    assert info.duration_s == 4
    assert info.mean_mbps == 4
    assert (info.min_mbps, info.max_mbps) == (2, 10)
    assert info.percentiles == (5, 25, 50, 75, 95)
    assert info.percentiles_mbps == (2, 2, 2, 2, 10)
    assert info.variation == pytest.approx((1 / 4 * 36 + 3 / 4 * 4) ** 0.5 / 4)


def test_zeros_and_changes_are_counted_and_an_alternating_trace_is_anticorrelated() -> None:
    seconds = range(0, 100 * SECOND, SECOND)
    info = trace_info(RateTrace("t", tuple(seconds[:5]), (0, 0, 5, 5, 7), 10 * SECOND))
    assert info.zero_share == pytest.approx(0.2)
    assert info.changes == 2
    trace = RateTrace("t", tuple(seconds), (1, 3) * 50, 100 * SECOND)
    assert trace_info(trace).autocorrelation_1s == pytest.approx(-0.99)
    assert autocorrelation(trace, 2) == pytest.approx(0.98)
    assert autocorrelation(trace, 99) is None
    info = trace_info(RateTrace("t", (0,), (0,), 2 * SECOND))  # constant
    assert (info.autocorrelation_1s, info.variation) == (None, 0)


def test_opportunities_are_described_by_their_rate_over_100_ms() -> None:
    info = trace_info(OpportunityTrace("t", (*range(1, 101), 200)))
    assert info.max_mbps == pytest.approx(12.0, rel=0.02)
    assert info.mean_mbps == pytest.approx(101 * 0.012 / 0.2)


def test_steps_gaps_and_equal_times_are_described(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = ["0,1,4", "1,1,5", "1,1,6", "3,1,7", "64,1,-", "64,1,8", "65,1,8"]
    path.write_text("\n".join(["time_s,cell,dl_mbps", *rows]))
    info = trace_info(read_trace(path, column="dl_mbps"))
    assert (info.step_min_s, info.step_median_s, info.step_max_s) == (1, 1, 61)
    assert (info.gaps, info.equal_times) == (1, 2)


def test_the_steps_of_opportunities_are_between_different_times() -> None:
    info = trace_info(OpportunityTrace("t", (0, 2, 2, 2, 5, 1005)))
    assert (info.step_min_s, info.step_median_s, info.step_max_s) == (0.002, 0.003, 1)
    assert (info.gaps, info.equal_times) == (0, 2)


def _steps(*lengths: int) -> RateTrace:
    *times, duration = accumulate(lengths, initial=0)
    return RateTrace("t", tuple(times), (1_000_000,) * len(times), duration)


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        (_steps(*[SECOND] * 5, 20 * SECOND), None),
        (
            _steps(*[SECOND] * 5, 21 * SECOND),
            r"a gap of 21\.0 s \(21\.0 median steps\) from 5\.00 s",
        ),
        (_steps(*[SECOND] * 5, 99 * SECOND, 30 * SECOND), r"2 gaps, the longest of 99\.0 s"),
        (_steps(SECOND), None),
        (_steps(SECOND - 1), "as short as 1000 ms"),
        (RateTrace("t", (0,), (10**10,), SECOND), None),
        (RateTrace("t", (0,), (2 * 10**10,), SECOND), r"20\.0 Gbit/s; read as rates: mean 20000"),
        (OpportunityTrace("t", (1, 2, 5000)), None),
        (OpportunityTrace("t", (1, 2, 500)), "as short as 500 ms; read as opportunities .* in ms"),
        (OpportunityTrace("t", (1000,) * 900_000), r"10\.8 Gbit/s"),
    ],
)
def test_what_is_doubtful_is_told(trace: Trace, words: str | None) -> None:
    told = doubts(trace)
    assert (told is None) == (words is None)
    assert words is None or re.search(words, str(told))


@given(rate_traces(), st.integers(10**7, SECOND))
def test_resampling_keeps_the_integral_within_one_bit_per_second(
    trace: RateTrace, step: int
) -> None:
    again = resample(trace, step)
    lost = trace.cumulative_nbit()[-1] - again.cumulative_nbit()[-1]
    assert 0 <= lost < min(step, trace.duration_ns)
    assert again.duration_ns == trace.duration_ns
    assert again.times_ns == tuple(range(0, trace.duration_ns, step))


@given(st.lists(st.integers(0, 5000), min_size=1).map(sorted).filter(lambda times: times[-1] > 0))
def test_resampling_counts_every_opportunity_once(times: list[int]) -> None:
    again = resample(OpportunityTrace("t", tuple(times)), 100_000_000)
    bits = -(-again.cumulative_nbit()[-1] // 10**9)
    assert bits == len(times) * 12_000


def test_resampling_to_no_step_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        resample(RateTrace("t", (0,), (1,), SECOND), 0)
