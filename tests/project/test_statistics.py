"""The intervals of all tables, against SciPy's, and the outcomes of a comparison."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from minitopo_dc.statistics import (
    Interval,
    Outcome,
    Proportion,
    agreement,
    beside_published,
    bootstrap_interval,
    expected_count,
    look_confidence,
    mean_interval,
    means,
    outcome,
    outcomes,
    paired_ratio,
    signs,
)

VALUES = st.lists(st.floats(1, 1000), min_size=2, max_size=8)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
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
def test_an_interval_has_one_of_four_outcomes(low: float, high: float, expected: Outcome) -> None:
    assert outcome(Interval(low, high, ""), 0.05) == expected


def test_the_errors_of_all_looks_together_are_those_of_one() -> None:
    assert sum(1 - look_confidence(look) for look in range(1, 60)) == pytest.approx(0.05)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, math.inf], [1.0, math.nan, 2.0]])
def test_too_few_values_or_one_that_is_no_number_have_no_interval(values: list[float]) -> None:
    interval = mean_interval(values)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.method == "none"


def test_an_interval_may_be_about_another_value_than_the_mean() -> None:
    own, about = mean_interval([1.0, 2.0, 4.0]), mean_interval([1.0, 2.0, 4.0], about=10.0)
    assert (about.low + about.high) / 2 == pytest.approx(10)
    assert about.high - about.low == pytest.approx(own.high - own.low)
    assert about.method == "Student's t over repetitions"


HALVES = np.repeat([0.0, 1.0], 50)


@pytest.mark.parametrize(
    ("columns", "deviation", "drawn"),
    [
        (HALVES[np.newaxis, np.newaxis], 0.5, "points"),
        # The median of two draws of 0 and 1 is 0, 1/2 or 1, by 1/4, 1/2 and 1/4.
        (np.repeat([[[0.0], [1.0]]], 100, axis=2), 0.125**0.5, "points and repetitions"),
    ],
)
def test_a_bootstrap_has_the_percentiles_of_what_it_draws(
    columns: Any, deviation: float, drawn: str
) -> None:
    interval = bootstrap_interval(columns, np.mean)
    reach = 1.96 * deviation / math.sqrt(100)
    assert (interval.low, interval.high) == pytest.approx((0.5 - reach, 0.5 + reach), abs=0.012)
    assert interval.method == f"bootstrap over {drawn}"


def test_columns_of_a_bootstrap_stay_paired() -> None:
    first = np.arange(1.0, 13.0).reshape(3, 4)
    interval = bootstrap_interval(
        np.array([first, 2 * first]), lambda one, two: float(np.max(two / one) + np.min(two / one))
    )
    assert (interval.low, interval.high) == (4.0, 4.0)


def test_a_point_without_a_value_in_a_repetition_has_that_of_the_others() -> None:
    columns = np.array([[[3.0, math.nan], [math.nan, 3.0], [math.nan, math.nan]]])
    interval = bootstrap_interval(columns, np.sum)
    assert (interval.low, interval.high) == (6.0, 6.0)


def test_a_true_difference_is_outside_of_any_look_in_at_most_one_case_of_twenty() -> None:
    random_numbers = random.Random(1)
    outside = 0
    for _ in range(400):
        values = [random_numbers.gauss(0, 1) for _ in range(28)]
        intervals = (
            mean_interval(values[:number], confidence=look_confidence(look))
            for look, number in enumerate((4, 6, 9, 14, 21, 28), start=1)
        )
        outside += any(not interval.low <= 0 <= interval.high for interval in intervals)
    assert outside <= 0.05 * 400


def test_a_tie_is_no_win_of_either() -> None:
    counts = outcomes(np.array([1.2, 1.04, 0.97, 0.5, math.nan, math.inf, 0.0]), 0.05)
    assert [side.count for side in (counts.better, counts.tie, counts.worse)] == [2, 2, 2]
    assert counts.better.points == 6
    assert counts.ratios == (0.5, 0.97, 1.2)


def test_two_measurements_agree_where_both_are_the_same_side_or_a_tie() -> None:
    first = np.array([1.2, 1.04, 0.97, 0.5, 0.0, np.inf])
    other = np.array([1.06, 1.06, 1.02, 0.94, 0.1, 1.0])
    same = signs(first, 0.05) == signs(other, 0.05)
    assert same.tolist() == [True, False, True, True, True, False]


@given(VALUES)
def test_the_interval_of_a_mean_is_students(values: list[float]) -> None:
    interval = mean_interval(values)
    reach = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    assert (interval.low + interval.high) / 2 == pytest.approx(np.mean(values))
    assert (interval.high - interval.low) / 2 == pytest.approx(reach, abs=1e-9)


@given(st.integers(0, 50), st.integers(0, 50))
def test_the_interval_of_a_share_is_wilsons(count: int, others: int) -> None:
    share = Proportion(count, count + others)
    if count + others:
        expected = stats.binomtest(count, count + others).proportion_ci(method="wilson")
        assert (share.low, share.high) == pytest.approx((expected.low, expected.high), abs=1e-6)
    else:
        assert (share.low, share.high) == (0.0, 1.0)


@pytest.mark.parametrize("points", [3, 20])  # without bounds rounding would exceed both ends
def test_the_interval_of_all_or_none_ends_where_a_share_does(points: int) -> None:
    assert (Proportion(0, points).low, Proportion(points, points).high) == (0.0, 1.0)


@given(st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1))
def test_means_of_a_table_are_those_of_its_groups_in_their_order(
    groups: dict[str, list[float]],
) -> None:
    rows = [(way, value) for way, values in groups.items() for value in values]
    table = means(pd.DataFrame(rows, columns=["way", "mbps"]), ["way"], "mbps").set_index("way")
    assert list(table.index) == list(groups)
    for way, values in groups.items():
        interval = mean_interval(values)
        expected = [np.mean(values), interval.low, interval.high, len(values)]
        row = table.loc[[way], ["mean", "low", "high", "n"]].to_numpy(dtype=float)[0].tolist()
        assert row == pytest.approx(expected)


def test_only_finite_values_of_runs_that_are_ok_count_and_one_value_has_no_interval() -> None:
    runs = pd.DataFrame(
        {
            "way": ["a", "a", "b", "b", "c"],
            "mbps": [1.0, math.inf, 2.0, 9.0, 3.0],
            "status": ["ok", "ok", "ok", "disturbed", "failed"],
        }
    )
    table = means(runs, ["way"], "mbps")
    assert table[["way", "mean", "n"]].to_numpy().tolist() == [["a", 1.0, 1], ["b", 2.0, 1]]
    assert table[["low", "high"]].isna().to_numpy().all()


@given(VALUES, st.floats(0.1, 10))
def test_a_ratio_is_of_pairs_with_one_seed_and_not_of_means(
    values: list[float], factor: float
) -> None:
    rows = [("b", seed, value) for seed, value in enumerate(values)]
    rows += [("a", seed, factor * value) for seed, value in reversed(list(enumerate(values)))]
    runs = pd.DataFrame([*rows, ("a", 99, 1e6)], columns=["way", "seed", "mbps"])
    mean, interval, pairs, *_ = paired_ratio(runs, "way", "a", "b", measure="mbps", pairs=["seed"])
    assert (mean, interval.low, interval.high) == pytest.approx((factor, factor, factor))
    assert pairs == len(values)


def test_a_ratio_without_a_pair_is_no_number() -> None:
    runs = pd.DataFrame({"way": ["a", "b"], "seed": [1, 2], "mbps": [1.0, 2.0]})
    ratio = paired_ratio(runs, "way", "a", "b", measure="mbps", pairs=["seed"])
    assert math.isnan(ratio.mean)
    assert (ratio.pairs, ratio.lost) == (0, {"missing": 2})


def test_lost_pairs_are_counted_and_turned_against_the_mean() -> None:
    rows = [
        *((way, seed, "ok", mbps) for way, mbps in (("a", 20.0), ("b", 10.0)) for seed in (1, 2)),
        *(("a", 3, "ok", 20.0), ("b", 3, "failed", math.nan)),
        *(("a", 4, "ok", 20.0), ("b", 4, "ok", 0.0)),
        ("a", 5, "disturbed", 20.0),
    ]
    runs = pd.DataFrame(rows, columns=["way", "seed", "status", "mbps"])
    ratio = paired_ratio(runs, "way", "a", "b", measure="mbps", pairs=["seed"])
    assert ratio.mean == pytest.approx(2)
    assert ratio.pairs == 2
    assert ratio.lost == {"failed": 1, "no number": 1, "disturbed": 1}
    mean, interval = ratio.other  # twice 2 and three times 1/2
    assert mean == pytest.approx(2 ** ((2 - 3) / 5))
    assert interval.low < 1 < interval.high


def binomial(packets: int, share: float) -> tuple[float, float, Any]:
    distribution = stats.binom(packets, share)
    return packets * share, packets * share * (1 - share), distribution.ppf((0.025, 0.975))


@pytest.mark.parametrize(
    ("mean", "variance", "ends"),
    [
        *(binomial(*case) for case in [(4733, 0.001), (20, 0.5), (900, 0.3), (3, 0.9)]),
        (6.0, 6.0, stats.poisson(6.0).ppf((0.025, 0.975))),
        (6.0, 18.0, stats.nbinom(3, 1 / 3).ppf((0.025, 0.975))),
        (500.0, 500.0, stats.poisson(500.0).ppf((0.025, 0.975))),
        (10_000, 10_000, (9_804, 10_196)),  # many are normal
        (1_000, 1_000_000, (0, 2_960)),  # no number of events is below 0
        (0, 0, (0, 0)),  # what is sure has no range
        (7, 0, (7, 7)),
    ],
)
def test_events_have_the_distribution_of_their_variance(
    mean: float, variance: float, ends: Any
) -> None:
    events = expected_count(mean, variance)
    assert [events.low, events.high] == list(ends)
    assert (events.mean, events.deviation) == (mean, math.sqrt(variance))


def test_an_expected_count_reads_as_its_mean_and_its_range() -> None:
    assert expected_count(10_000, 10_000).words == "10000 ± 100 (95 % range 9,804 to 10,196)"


def published(**columns: list[float]) -> pd.DataFrame:
    cells = {"ours": [10.0], "ours_sd": [0.3], "runs": [5], "theirs": [9.6], "theirs_sd": [0.4]}
    return pd.DataFrame({**cells, "their_runs": [10], **columns})


@given(VALUES, VALUES)
def test_two_means_are_told_apart_as_by_welch(ours: list[float], theirs: list[float]) -> None:
    (first, sd), (second, other) = (
        (float(np.mean(v)), float(np.std(v, ddof=1))) for v in (ours, theirs)
    )
    assume(other > 1e-6)
    cells = published(ours=[first], ours_sd=[sd], runs=[len(ours)], theirs=[second],
                      theirs_sd=[other], their_runs=[len(theirs)])  # fmt: skip
    expected = stats.ttest_ind_from_stats(first, sd, len(ours), second, other, len(theirs), False)
    assert beside_published(cells)["p_value"][0] == pytest.approx(expected.pvalue)


def test_a_single_run_has_the_published_deviation() -> None:
    alone = published(ours_sd=[math.nan], runs=[1])
    distance = 0.4 / (0.4 * math.sqrt(1 + 1 / 10))
    assert beside_published(alone)["p_value"][0] == pytest.approx(2 * stats.t.sf(distance, 9))


def test_reproduced_is_what_is_near_and_no_two_means() -> None:
    cells = pd.concat([
        published(),  # near
        published(theirs_sd=[0.01]),  # near, but another mean
        published(theirs=[15.0], theirs_sd=[9.0]),  # far, within a wide deviation
        published(theirs_sd=[math.nan]),  # near, and cannot be tested
    ])  # fmt: skip
    (row,) = agreement(beside_published(cells.assign(table="a")), ["table"]).to_dict("records")
    counts = {"cells": 4, "near": 3, "tested": 3, "two_means": 1, "reproduced": 1}
    assert {name: row[name] for name in counts} == counts
    assert row["bias_percent"] == pytest.approx((3 * 100 * 0.4 / 9.6 - 100 / 3) / 4)
