"""Charts over the points of a design."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from minitopo_dc.analysis.figures.over_points import (
    BORDER,
    Map,
    box_panel,
    cdf_panel,
    draw_map,
    map_panel,
    share_panel,
)
from minitopo_dc.statistics import Proportion

LOSSES = [0.0, 0.01, 0.1, 1.0]


def table(loss: list[float], gain: list[float] | None = None) -> pd.DataFrame:
    rate = [4.0 + place for place in range(len(loss))]
    return pd.DataFrame({"loss": loss, "rate": rate, "gain": gain or [1.0] * len(loss)})


def sloped(border: bool) -> Map:
    """Gains that grow to the right, through 1 in the middle."""
    right = np.tile(np.linspace(10, 20, 10), 4)
    return Map("Gain", table(list(right), list(right / 15)), 1.0, border)


def test_a_factor_of_few_levels_has_them_at_equal_distances_and_each_has_a_tick() -> None:
    panel = map_panel(Map("Gain", table(LOSSES * 5), 1.0))
    assert panel.x.ticks == ((0.0, "0"), (1.0, "0.01"), (2.0, "0.1"), (3.0, "1"))


def test_points_of_one_level_lie_beside_each_other_and_nearest_to_it() -> None:
    found = map_panel(Map("Gain", table(LOSSES * 5), 1.0)).series[0].x
    assert len(set(found)) == len(found)
    assert [round(place) for place in found] == [0, 1, 2, 3] * 5


def test_a_factor_of_many_values_has_an_axis_of_numbers() -> None:
    panel = map_panel(Map("Gain", table([5, 6, 7, 8, 9, 11]), 1.0))
    assert list(panel.series[0].x) == [5, 6, 7, 8, 9, 11]


@pytest.mark.parametrize("border", [True, False])
def test_a_map_has_a_border_only_where_a_rule_was_found(border: bool) -> None:
    panel = map_panel(sloped(border))
    assert any(each.label == BORDER for each in panel.series) == border


def test_a_factor_with_zeros_has_a_tick_for_them_below_its_decades() -> None:
    known = [0.0, 0.0, 0.002, 0.02, 0.5, 7.5]
    panel = map_panel(Map("Gain", table(known, list(range(1, 7))), 1.0))
    assert panel.x.log
    assert [name for _, name in panel.x.ticks] == ["0", "0.01", "0.1", "1"]
    (points,) = panel.series
    assert points.x[0] == panel.x.ticks[0][0] < 0.002
    assert list(points.x[2:]) == known[2:]


def test_a_border_is_where_the_measure_crosses_the_level() -> None:
    (line,) = (each for each in map_panel(sloped(True)).series if each.label == BORDER)
    assert np.allclose(line.x, 15, atol=0.5)


def test_the_colours_of_a_map_are_labelled() -> None:
    axes = draw_map(table(LOSSES * 5, LOSSES * 5), "loss", "rate", {"gain": "Gain"}, 0.5).axes
    assert axes[1].get_ylabel() == "gain"


def test_a_cumulated_share_begins_at_0_and_ends_at_1_and_counts_its_points() -> None:
    values = pd.Series([2.0, 1.0, math.inf, 4.0])
    (series,) = cdf_panel({"DC": values}, "ratio", 1.0).series
    assert series.label == "DC (n = 4, 1 without end)"
    assert list(series.y) == [0, 0.25, 0.5, 0.75, 1]
    assert list(series.x[:4]) == [1, 1, 2, 4]


def test_boxes_are_quantiles_of_the_finite_values() -> None:
    panel = box_panel({"DC": pd.Series([*map(float, range(101)), math.inf])}, "ms", None)
    (series,) = panel.series
    assert series.quartiles is not None
    assert series.low is not None
    assert (series.low[0], series.quartiles[0][0], series.y[0]) == (5, 25, 50)
    assert panel.x.ticks == ((0.0, "DC (n = 102, 1 without end)"),)


def test_shares_have_their_intervals() -> None:
    found = Proportion(8, 10)
    (series,) = share_panel({"DC": found}, "share").series
    assert series.low is not None
    assert series.high is not None
    assert (series.low[0], series.high[0]) == (found.low, found.high)
