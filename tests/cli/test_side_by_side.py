"""Two sets of made-up runs beside each other."""

from __future__ import annotations

import pandas as pd
import pytest

from minitopo_dc.cli.show import side_by_side


def runs(row: str, *values: float, first_seed: int = 1) -> pd.DataFrame:
    seeds = range(first_seed, first_seed + len(values))
    table = {"row": row, "seed": list(seeds), "value": list(values)}
    return pd.DataFrame(table)


def test_the_difference_is_paired_by_seed() -> None:
    table = side_by_side(runs("dc", 10, 20, 30), runs("dc", 11, 21, 32))
    (row,) = table.itertuples()
    assert (row.first, row.second) == pytest.approx((20, 64 / 3))
    assert row.difference == pytest.approx(4 / 3)
    # Student's t of 2 degrees is 4.303; the differences 1, 1, 2 have the deviation 0.577.
    assert (row.low, row.high) == pytest.approx((4 / 3 - 1.434, 4 / 3 + 1.434), abs=0.001)
    assert row.pairs == 3


def test_only_runs_of_a_seed_that_is_in_both_are_compared() -> None:
    (row,) = side_by_side(runs("dc", 10, 20), runs("dc", 99, first_seed=2)).itertuples()
    assert (row.first, row.second, row.pairs) == (20, 99, 1)
    assert str(row.low) == "nan"


def test_without_a_seed_in_both_there_is_a_difference_and_no_interval() -> None:
    (row,) = side_by_side(runs("dc", 10, 20), runs("dc", 16, first_seed=7)).itertuples()
    assert (row.difference, row.pairs) == (1, 0)
    assert str(row.high) == "nan"


def test_a_row_that_is_in_one_set_only_is_left_out() -> None:
    first = pd.concat([runs("sc", 1), runs("dc", 2)])
    second = pd.concat([runs("dc", 2), runs("multipath", 3)])
    assert side_by_side(first, second)["row"].tolist() == ["dc"]
