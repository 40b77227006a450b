from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minitopo_dc.trace import (
    OpportunityTrace,
    RateTrace,
    read_trace,
    to_opportunities,
    write_csv,
    write_mahimahi,
)

same_directory = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def rate_traces(draw: st.DrawFn) -> RateTrace:
    steps = draw(st.lists(st.integers(1, 3 * 10**9), min_size=1, max_size=8))
    rates = draw(
        st.lists(st.integers(0, 10**8), min_size=len(steps), max_size=len(steps)),
    )
    *times, duration = accumulate(steps, initial=0)
    return RateTrace("trace.csv", tuple(times), tuple(rates), duration)


@same_directory
@given(rate_traces())
def test_csv_reads_back_what_was_written(tmp_path: Path, trace: RateTrace) -> None:
    path = tmp_path / "trace.csv"
    write_csv(trace, path, comment="two\nlines")
    assert read_trace(path) == trace


def test_csv_comments_stand_at_the_top(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    write_csv(RateTrace("t", (0,), (1_500_000,), 10**9), path, comment="one\ntwo")
    assert path.read_text() == "# one\n# two\ntime_s,rate_mbps\n0,1.5\n1,\n"


@same_directory
@given(st.lists(st.integers(0, 5000), min_size=1).map(sorted).filter(lambda times: times[-1] > 0))
def test_mahimahi_reads_back_what_was_written(tmp_path: Path, times: list[int]) -> None:
    trace = OpportunityTrace("trace.mahi", tuple(times))
    path = tmp_path / "trace.mahi"
    write_mahimahi(trace, path)
    assert read_trace(path) == trace


def test_mahimahi_writes_a_rate_trace_as_its_opportunities(tmp_path: Path) -> None:
    path = tmp_path / "t.mahi"
    write_mahimahi(RateTrace("t", (0,), (12_000_000,), 3_000_000), path)
    assert path.read_text() == "1\n2\n3\n"


@given(rate_traces())
def test_opportunities_follow_the_integral_within_one_ms_and_never_early(trace: RateTrace) -> None:
    cumulative = trace.cumulative_nbit()
    portion = 1500 * 8 * 10**9
    if cumulative[-1] < portion:
        with pytest.raises(ValueError, match="less than one packet"):
            to_opportunities(trace)
        return
    times = to_opportunities(trace).times_ms
    assert len(times) == cumulative[-1] // portion
    for number, time in enumerate(times, start=1):
        assert work_by(trace, time * 10**6) >= number * portion
        assert work_by(trace, (time - 1) * 10**6) < number * portion


def test_what_does_not_fill_an_opportunity_is_carried_over() -> None:
    """0.9 packets a second for ten seconds are nine packets."""
    times = tuple(second * 10**9 for second in range(10))
    trace = RateTrace("t", times, (10_800,) * 10, 10 * 10**9)
    assert len(to_opportunities(trace).times_ms) == 9


def test_mahimahi_refuses_opportunities_of_another_size(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1200 bytes"):
        write_mahimahi(OpportunityTrace("t", (1,), 1200), tmp_path / "t")


def work_by(trace: RateTrace, moment: int) -> int:
    """The integral up to `moment`, by adding up all that lies before it."""
    ends = (*trace.times_ns[1:], trace.duration_ns)
    return sum(
        rate * max(0, min(end, moment) - start)
        for start, end, rate in zip(trace.times_ns, ends, trace.rates_bps, strict=True)
    )
