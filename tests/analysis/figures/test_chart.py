"""What all charts keep to: looks, ticks, axes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.analysis.figures.chart import (
    COLOURS,
    Axis,
    Mark,
    Panel,
    Series,
    is_wide,
    lines,
    look,
    numbers,
    plain,
    swept,
    until,
    value_name,
)

MOST = 28
"""Seven colours times four dashes."""


@given(st.sets(st.integers(0, MOST - 1), min_size=2, max_size=2))
def test_no_two_curves_look_alike_without_markers_either(pair: set[int]) -> None:
    one, other = pair
    assert plain(one) != plain(other)
    assert look(one) != look(other)


def test_a_curve_more_than_there_are_colours_has_another_dash_and_marker() -> None:
    first, again = look(0), look(len(COLOURS))
    assert first.colour == again.colour
    assert first.dash != again.dash
    assert first.marker != again.marker


def test_numbers_have_their_place_and_a_tick_each() -> None:
    axis, places = swept("batch", [100, 2, 500.0, 100])
    assert axis.ticks == ((2.0, "2"), (100.0, "100"), (500.0, "500"))
    assert places == {"2": 2, "100": 100, "500": 500}


def test_a_table_s_decimals_are_our_whole_numbers() -> None:
    assert swept("", [1, 2, 1.0, 2.0])[0].ticks == ((1.0, "1"), (2.0, "2"))


def test_what_is_no_number_stands_at_equal_distances_in_its_order() -> None:
    axis, places = swept("ratio", [[9, 1], [1, 1], "off"])
    assert places == {"9:1": 0, "1:1": 1, "off": 2}
    assert not axis.log


@pytest.mark.parametrize(
    ("values", "log"),
    [([1, 10, 100, 1000, 10_000], True), ([1, 20, 40, 60], False), ([0, 1, 1000], False)],
)
def test_crowded_values_that_a_log_axis_parts_have_one(values: list[float], log: bool) -> None:
    assert swept("", values)[0].log == log


@pytest.mark.parametrize(
    ("values", "wide"),
    [([1, 20], True), ([0, 20], False), ([1, 2, math.inf, math.nan], False), ([], False)],
)
def test_a_wide_quantity_is_positive_and_over_orders_of_magnitude(
    values: list[float], wide: bool
) -> None:
    assert is_wide(values) == wide


def test_what_is_infinite_or_missing_is_not_drawn() -> None:
    assert np.isnan(numbers([math.inf, None, math.nan])).all()


def test_a_factor_s_value_is_named_as_people_write_it() -> None:
    assert [value_name(each) for each in (1.0, 0.25, (3, 1), "sp")] == ["1", "0.25", "3:1", "sp"]


def test_points_behind_the_end_are_left_out() -> None:
    (series,) = lines({"leg 1": ([0, 1, 2], [5, 6, 7])})
    assert list(until(series, 1).y) == [5, 6]
    assert until(series, None) is series


def test_a_mark_behind_the_last_point_did_not_happen() -> None:
    series = Series("", numbers([0, 2]), numbers([1, 1]))
    marks = (Mark(1, "open 2"), Mark(60, "abandon 1"))
    panel = Panel("", Axis(""), Axis(""), (series,), marks)
    assert [mark.label for mark in panel.shown_marks] == ["open 2"]
