"""Traces: their points, levels and offsets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.link import make_capacity
from minitopo_dc.scenario import LegDirection
from minitopo_dc.trace import (
    Capacities,
    CellLog,
    EndRule,
    OpportunityTrace,
    RateTrace,
    begun_at,
    channel_statistics,
    levels,
)
from minitopo_dc.trace.channels import capacity_statistics
from tests.trace.heard_cells import heard

TWO_OPERATORS = Capacities(
    name="d",
    operators=("A", "A", "B"),
    mbps=((10.0, 0.0, 3.0, 0.0), (5.0, 2.0, 0.0, 0.0), (1.0, 8.0, 0.0, 0.0)),
    cells=(("a", "", "a", ""), ("b", "b", "", ""), ("c", "c", "", "")),
)


def test_a_level_is_the_best_of_an_operator_the_best_of_all_or_the_sum() -> None:
    assert levels(TWO_OPERATORS) == {
        "A SP": (10, 2, 3, 0),
        "B SP": (1, 8, 0, 0),
        "Best Single Path": (10, 8, 3, 0),
        "Multipath": (16, 10, 3, 0),
    }


def test_channels_of_no_known_operator_have_no_level_of_one() -> None:
    unknown = Capacities("d", ("", ""), ((1.0,), (2.0,)), (("",), ("",)))
    assert set(levels(unknown)) == {"Best Single Path", "Multipath"}


def test_availability_is_the_share_of_time_with_each_number_of_channels() -> None:
    statistics = channel_statistics(TWO_OPERATORS)
    assert statistics.available_mean == 1.5
    assert statistics.available_shares == (0.25, 0.25, 0.25, 0.25)
    assert statistics.duration_s == 4
    assert statistics.visible_mean is None


def test_visible_cells_are_counted_before_the_carrier_s_best_is_chosen() -> None:
    many = heard(*((f"A/800/{number}", -90) for number in range(8)))
    log = CellLog("d", (many, many[:2], many[:7], many[:1]))
    one = Capacities("d", ("A",), ((1.0,) * 4,), (("x",) * 4,))
    statistics = channel_statistics(one, log)
    assert statistics.visible_mean == 4.5
    assert statistics.visible_more_than_7 == 0.25


def test_a_percentile_is_the_least_value_not_exceeded_for_that_time() -> None:
    row = capacity_statistics([float(value) for value in range(1000, 0, -1)])
    assert row.mean_mbps == 500.5
    assert row.median_mbps == 500
    assert row.percentiles_mbps == (200, 100, 50, 10, 1)


@pytest.mark.parametrize(
    ("kind", "arguments", "what"),
    [
        (RateTrace, ((0, 1), (5,), 2), "one rate for each time"),
        (RateTrace, ((1,), (5,), 2), "first time must be 0"),
        (RateTrace, ((0, 3, 3), (1, 2, 3), 4), "entry 1"),
        (RateTrace, ((0,), (-1,), 3), "entry 0 has the rate -1"),
        (OpportunityTrace, ((),), "after 0 ms"),
        (OpportunityTrace, ((-1, 5),), "before 0 ms"),
        (OpportunityTrace, ((4, 3),), "opportunity 1"),
        (Capacities, ((), (), ()), "at least one channel"),
        (Capacities, (("A",), ((),), ((),)), "at least one channel and one step"),
        (Capacities, (("A",), ((1.0,), (2.0,)), (("",), ("",))), "an operator for each"),
        (Capacities, (("A", "B"), ((1.0,), (2.0, 3.0)), (("",), ("", ""))), "different numbers of"),
        (Capacities, (("A",), ((-1.0,),), (("",),)), "0 or more"),
    ],
)
def test_what_is_no_trace_and_no_table_of_capacities_is_refused(
    kind: Any, arguments: tuple[Any, ...], what: str
) -> None:
    with pytest.raises(ValueError, match=what):
        kind("t", *arguments)


S = 1_000_000_000
TRACE = RateTrace("t", (0, 2 * S, 3 * S), (8, 4, 0), 5 * S)
lengths = st.lists(st.integers(1, 3 * S), min_size=1, max_size=6)


@st.composite
def rate_traces(draw: st.DrawFn) -> RateTrace:
    times = [0]
    for length in draw(lengths):
        times.append(times[-1] + length)
    rates = [draw(st.sampled_from([0, 1_000_000, 20_000_000])) for _ in times[1:]]
    return RateTrace("t", tuple(times[:-1]), tuple(rates), times[-1])


def test_a_loop_has_what_came_before_at_its_end_and_a_hold_the_last_rate() -> None:
    assert begun_at(TRACE, 0, "loop") is TRACE
    assert begun_at(TRACE, 2 * S, "loop") == RateTrace("t", (0, S, 3 * S), (4, 0, 8), 5 * S)
    assert begun_at(TRACE, 9 * S, "hold").rates_bps == (0,)
    with pytest.raises(ValueError, match="5 s"):
        begun_at(TRACE, 5 * S, "stop")


@given(
    rate_traces(),
    st.integers(0, 20 * S),
    st.integers(0, 20 * S),
    st.integers(0, 20 * S),
    st.sampled_from(["loop", "hold"]),
)
def test_the_capacity_is_that_of_the_trace_so_much_later(
    trace: RateTrace, offset: int, start: int, length: int, end: EndRule
) -> None:
    whole, later = make_capacity(trace, end), make_capacity(trace, end, offset)
    expected = whole.bits_between(start + offset, start + length + offset)
    assert abs(later.bits_between(start, start + length) - expected) <= 1  # both are rounded down


@given(
    st.lists(st.integers(0, 51), min_size=1, max_size=8).map(sorted),
    st.one_of(st.integers(0, 120), st.sampled_from([51, 102])),
    st.integers(0, 100),
    st.integers(0, 100),
)
def test_opportunities_too_are_those_so_much_later(
    times: list[int], offset: int, start: int, length: int
) -> None:
    trace = OpportunityTrace("t", (*times, 51))
    whole, later = make_capacity(trace), make_capacity(trace, "loop", offset * 1_000_000)
    moments = [moment * 1_000_000 for moment in (start, start + length)]
    shifted = [moment + offset * 1_000_000 for moment in moments]
    assert later.bits_between(*moments) == whole.bits_between(*shifted)


@pytest.mark.parametrize(("times", "packets"), [((0, 51), 2), ((3, 51), 1), ((0, 51, 51), 3)])
def test_at_the_seam_of_two_laps_there_are_the_opportunities_of_both(
    times: tuple[int, ...], packets: int
) -> None:
    """Mahimahi's next lap counts its times from the last one of the lap before."""
    trace = OpportunityTrace("t", times)
    capacities = [make_capacity(trace, "loop", laps * 51_000_000) for laps in (1, 2)]
    assert [each.bits_between(0, 1_000_000) for each in capacities] == [packets * 12_000] * 2
    assert make_capacity(trace).bits_between(51_000_000, 52_000_000) == packets * 12_000


def test_opportunities_that_stop_before_the_offset_are_refused() -> None:
    with pytest.raises(ValueError, match=r"up to 0\.005 s"):
        make_capacity(OpportunityTrace("t", (1, 5)), "stop", 6_000_000)


def test_a_leg_begins_its_trace_at_the_offset(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("0,8\n10,4\n20,\n")
    leg = LegDirection(trace=tmp_path / "t.csv", offset_s=9.5)
    assert leg.capacity().bits_between(0, S) == 6_000_000
    assert LegDirection.check(leg.model_dump(mode="json"), "t") == leg


def test_an_offset_behind_a_trace_that_stops_names_the_field(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("0,8\n10,4\n20,\n")
    leg = LegDirection(trace=tmp_path / "t.csv", offset_s=20, end="stop")
    with pytest.raises(SettingsError, match=r"offset_s, end: trace t\.csv: .*20 s"):
        leg.capacity()
