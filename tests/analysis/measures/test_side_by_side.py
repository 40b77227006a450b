"""Two sets of made-up runs beside each other."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from minitopo_dc.analysis.measures.side_by_side import side_by_side


def runs(row: str, *values: float, point: str = "", first_seed: int = 1) -> pd.DataFrame:
    seeds = range(first_seed, first_seed + len(values))
    table = {"row": row, "point": point, "seed": list(seeds), "value": list(values)}
    return pd.DataFrame(table)


def test_the_difference_is_paired_by_seed() -> None:
    found = side_by_side(runs("dc", 10, 20, 30), runs("dc", 11, 21, 32))
    (row,) = found.rows
    assert (row.first, row.second) == pytest.approx((20, 64 / 3))
    assert row.difference == pytest.approx(4 / 3)
    # Student's t of 2 degrees is 4.303; the differences 1, 1, 2 have the deviation 0.577.
    assert (row.low, row.high) == pytest.approx((4 / 3 - 1.434, 4 / 3 + 1.434), abs=0.001)
    assert (row.pairs, row.points) == (3, 1)


def test_only_runs_of_a_seed_that_is_in_both_are_compared() -> None:
    (row,) = side_by_side(runs("dc", 10, 20), runs("dc", 99, first_seed=2)).rows
    assert (row.first, row.second, row.pairs) == (20, 99, 1)
    assert math.isnan(row.low)
    assert row.to_json()["low"] is None


def test_without_a_seed_in_both_there_is_a_difference_and_no_interval() -> None:
    (row,) = side_by_side(runs("dc", 10, 20), runs("dc", 16, first_seed=7)).rows
    assert (row.difference, row.pairs) == (1, 0)
    assert math.isnan(row.high)


def test_points_are_matched_and_all_of_them_make_the_interval() -> None:
    first = pd.concat([runs("dc", 10, 12, point=name) for name in "abcdef"])
    second = pd.concat([runs("dc", 11, 13 + place, point=name) for place, name in enumerate("abc")])
    (row,) = side_by_side(first, second).rows
    assert (row.pairs, row.points) == (6, 3)
    assert row.difference == pytest.approx((1 + 1.5 + 2) / 3)
    assert row.low <= row.difference <= row.high


def test_what_is_in_one_only_is_said() -> None:
    first = pd.concat([runs("sc", 1), runs("dc", 2)])
    second = pd.concat([runs("dc", 2), runs("multipath", 3)])
    found = side_by_side(first, second)
    assert [each.row for each in found.rows] == ["dc"]
    assert (found.only_first, found.only_second) == (("sc",), ("multipath",))
