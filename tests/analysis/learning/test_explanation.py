"""What decides over a design's points: planted causes are found, and noise has none."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from minitopo_dc.analysis.learning.explanation import Explanation, count, explain
from minitopo_dc.analysis.learning.factors import columns_of, in_words, matrix, read_factors
from minitopo_dc.analysis.learning.tree import Leaf, Split, decide, grow, rules
from minitopo_dc.analysis.measures.features import FEATURES
from minitopo_dc.statistics import Proportion

FACTORS = ["label.delay_ratio", "workload.size_mb", "congestion_control", "label.rtt"]
WORDS = {"label.delay_ratio": "ratio of delays", "label.rtt": "round trip (ms)"}


def points(number: int, seed: int) -> pd.DataFrame:
    """Slow is where the delays differ and the file is large; nothing else matters."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "label.delay_ratio": np.exp(random.uniform(-1.6, 1.6, number)),
            "workload.size_mb": random.choice([0.25, 1, 4, 20], number),
            "congestion_control": random.choice(["cubic", "reno", "bbr1"], number),
            "label.rtt": random.uniform(5, 100, number),
        }
    )
    slow = (table["label.delay_ratio"] > 1.5) & (table["workload.size_mb"] > 1)
    table["gain"] = np.where(slow, 0.6, 1.2) + random.normal(0, 0.05, number)
    table["noise"] = random.normal(1, 0.2, number)
    return table


def explained(table: pd.DataFrame, measure: str, unseen: pd.DataFrame | None = None) -> Explanation:
    return explain(table, measure, 0.97, factors=FACTORS, words=WORDS, unseen=unseen)


@pytest.fixture(scope="module")
def found() -> Explanation:
    return explained(points(120, seed=1), "gain", points(30, seed=2))


def test_a_planted_cause_is_found_in_a_tree_that_a_person_can_read(found: Explanation) -> None:
    assert found.at.learnt is not None
    assert found.at.learnt.is_better
    assert found.at.decides == ("ratio of delays", "size")
    (slow,) = (rule for rule in found.rules if not rule.leaf.verdict)
    assert slow.conditions[1] == "size > 1 MB"
    assert float(slow.conditions[0].removeprefix("ratio of delays > ")) == pytest.approx(1.5, 0.1)
    assert slow.leaf.right == slow.leaf.points


def test_the_importance_is_that_of_the_planted_factors(found: Explanation) -> None:
    assert {each.factor.words for each in found.importances if each.is_clear} == {
        "ratio of delays",
        "size",
    }


def test_a_planted_cause_is_right_on_points_that_were_not_seen(found: Explanation) -> None:
    assert found.unseen is not None
    assert found.unseen.right.share >= 0.9
    assert found.unseen.right.share > found.unseen.majority.share


def test_other_limits_are_answered_beside_it() -> None:
    found = explain(points(60, 1), "gain", 0.97, factors=FACTORS, words=WORDS, others=(0.8, 0.97))
    (other,) = found.others
    assert other.limit == 0.8
    assert other.decides == ("ratio of delays", "size")


@pytest.mark.parametrize("seed", [1, 2])
def test_noise_has_no_cause(seed: int) -> None:
    noise = explained(points(100, seed), "noise")
    assert noise.at.learnt is not None
    assert not noise.at.learnt.is_better
    assert not any(each.is_clear for each in noise.importances)


def connections(number: int, seed: int) -> pd.DataFrame:
    """Features as wide as those of runs; a small window makes slow, nothing else does."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame({name: random.lognormal(1, 1, number) for name in FEATURES})
    fast = table["cwnd_mean_kb"] > table["cwnd_mean_kb"].median()
    table["cwnd_variance_kb2"] = table["cwnd_mean_kb"] * random.lognormal(0, 1, number)
    table["goodput_mbps"] = np.where(fast, 40.0, 5.0) * random.lognormal(0, 0.1, number)
    table["by_chance"] = random.lognormal(2.3, 1, number)
    return table


def test_a_planted_window_is_the_root_among_all_features() -> None:
    table = connections(120, seed=1)
    found = explain(table, "goodput_mbps", 10, factors=FEATURES, words={})
    assert found.at.learnt is not None
    assert found.at.learnt.accuracy.share > 0.9
    assert found.at.decides == ("cwnd mean kb",)
    assert found.importances[0].factor.path == "cwnd_mean_kb"
    assert [each.factor.path for each in found.importances if each.is_clear] == ["cwnd_mean_kb"]


def test_features_tell_nothing_of_a_goodput_by_chance() -> None:
    noise = explain(connections(120, seed=1), "by_chance", 10, factors=FEATURES, words={})
    assert noise.at.learnt is not None
    assert not noise.at.learnt.is_better
    assert not any(each.is_clear for each in noise.importances)


def test_the_same_points_have_the_same_answer() -> None:
    table = points(60, seed=4)
    first, second = explained(table, "gain"), explained(table, "gain")
    assert first.rules == second.rules
    assert [(each.mean, each.sd) for each in first.importances] == [
        (each.mean, each.sd) for each in second.importances
    ]


def test_points_without_a_value_or_an_end_are_counted() -> None:
    values = pd.Series([1.2, 0.5, math.nan, math.inf, 0.0, 0.96])
    found = count(values, 0.97)
    assert (found.yes.count, found.yes.points) == (2, 5)
    assert (found.without_value, found.endless, found.close) == (1, 2, 1)


def test_of_few_points_on_one_side_nothing_is_learnt() -> None:
    table = points(40, seed=1)
    table["gain"] = [1.2] * 36 + [0.5] * 4
    found = explained(table, "gain", points(10, seed=2))
    assert found.at.learnt is None
    assert found.importances == ()
    assert found.rules == ()
    assert found.unseen is not None
    assert found.unseen.right == found.unseen.majority


def test_a_table_without_any_value_is_answered_too() -> None:
    table = points(10, seed=1).assign(gain=math.nan)
    found = explained(table, "gain")
    assert (found.at.counted.yes.points, found.at.counted.without_value) == (0, 10)
    assert found.factors == ()


def test_factors_are_columns_of_numbers_or_of_levels() -> None:
    table = pd.DataFrame({"a": [1, 2, None], "b": ["x", "y", "x"], "c": [[1, 1]] * 3, "d": [1] * 3})
    factors = read_factors(table, ["a", "b", "c", "d", "e"], {})
    assert [(each.path, each.levels) for each in factors] == [
        ("a", ("not given",)),
        ("b", ("x", "y")),
    ]
    assert matrix(table, factors).tolist() == [[1, 0, 1, 0], [2, 0, 0, 1], [1.5, 1, 1, 0]]
    unknown = pd.DataFrame({"a": [3], "b": ["z"]})
    assert matrix(unknown, factors).tolist() == [[3, 0, 0, 0]]
    assert columns_of(factors)[1].above(0.5) == "a is not given"
    assert columns_of(factors)[2].below(0.5) == "b is not x"


def test_a_name_is_made_of_a_path_where_there_is_none() -> None:
    assert in_words("legs.*.downlink.rate_mbps") == "rate (Mbit/s)"
    assert in_words("label.delay_ratio") == "delay ratio"


def test_conditions_of_one_factor_are_joined() -> None:
    table = pd.DataFrame({"a": [float(number) for number in range(40)]})
    factors = read_factors(table, ["a"], {"a": "length (m)"})
    verdicts = (table["a"] >= 10).to_numpy() & (table["a"] < 25).to_numpy()
    tree = grow(matrix(table, factors), verdicts, columns_of(factors))[-1]
    (inner,) = (rule for rule in rules(tree, columns_of(factors)) if rule.leaf.verdict)
    assert inner.conditions == ("length > 9 and <= 24 m",)
    assert (decide(tree, matrix(table, factors)) == verdicts).all()


def test_a_split_whose_sides_say_the_same_is_taken_back() -> None:
    table = pd.DataFrame({"a": [float(number) for number in range(20)]})
    factors = read_factors(table, ["a"], {})
    verdicts = np.array([True] * 13 + [False, True] * 3 + [True])
    trees = grow(matrix(table, factors), verdicts, columns_of(factors))
    assert all(
        not isinstance(each, Split) or not isinstance(each.above, Leaf) or not each.above.verdict
        for each in trees
    )


def test_wilsons_interval_is_that_of_the_literature() -> None:
    """Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, and 0 of 20."""
    many, none = Proportion(81, 263), Proportion(0, 20)
    assert (many.low, many.high) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert (none.low, none.high) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert (Proportion(0, 0).low, Proportion(0, 0).high) == (0.0, 1.0)
