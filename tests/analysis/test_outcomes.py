"""Three outcomes and a margin: a tie is no win, and several looks are no more errors than one."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from minitopo_dc.statistics import (
    Interval,
    Outcome,
    look_confidence,
    mean_interval,
    outcome,
    outcomes,
    same_outcome,
)


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0.06, 0.2, "better"),
        (0.01, 0.04, "tie"),
        (-0.05, 0.05, "tie"),
        (-0.2, -0.06, "worse"),
        (0.04, 0.06, "open"),
        (-0.2, 0.2, "open"),
        (math.nan, math.nan, "open"),
    ],
)
def test_an_interval_has_one_of_four_outcomes(low: float, high: float, wanted: Outcome) -> None:
    assert outcome(Interval(low, high, ""), 0.05) == wanted


def test_the_errors_of_all_looks_together_are_those_of_one() -> None:
    assert sum(1 - look_confidence(look) for look in range(1, 60)) == pytest.approx(0.05)


def test_a_true_difference_is_outside_of_any_look_in_at_most_one_case_of_twenty() -> None:
    random_numbers = random.Random(1)
    outside = 0
    for _ in range(400):
        values = [random_numbers.gauss(0, 1) for _ in range(28)]
        intervals = (
            mean_interval(values[:number], confidence=look_confidence(look))
            for look, number in enumerate((4, 6, 9, 14, 21, 28), start=1)
        )
        outside += any(not each.low <= 0 <= each.high for each in intervals)
    assert outside <= 0.05 * 400


def test_a_tie_is_no_win_of_either() -> None:
    found = outcomes(np.array([1.2, 1.04, 0.97, 0.5, math.nan, math.inf, 0.0]), 0.05)
    assert [each.count for each in (found.better, found.tie, found.worse)] == [2, 2, 2]
    assert found.better.points == 6
    assert found.ratios == (0.5, 0.97, 1.2)


def test_no_points_have_no_outcomes() -> None:
    found = outcomes(np.array([math.nan]), 0.05)
    assert (found.tie.points, math.isnan(found.ratios[1])) == (0, True)


def test_two_measurements_agree_where_both_are_the_same_side_or_a_tie() -> None:
    first = np.array([1.2, 1.04, 0.97, 0.5, 0.0, np.inf])
    other = np.array([1.06, 1.06, 1.02, 0.94, 0.1, 1.0])
    assert same_outcome(first, other, 0.05).tolist() == [True, False, True, True, True, False]
