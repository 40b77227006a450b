"""A rule of at most three terms: planted ones are found, without a cause it abstains."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from minitopo_dc.analysis.learning.factors import read_factors
from minitopo_dc.analysis.learning.rule_search import find_rule
from minitopo_dc.analysis.learning.threshold_rule import (
    Term,
    ThresholdRule,
    losses,
    lost,
    regret,
)
from minitopo_dc.settings import SettingsError

SIDES = ("Dual Connectivity", "MP-QUIC")
FACTORS = ["lost", "windows", "share", "control"]


def points(number: int, seed: int) -> pd.DataFrame:
    """Multipath is better with losses and for large sizes, Dual Connectivity else."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "lost": np.exp(random.uniform(-4, 4, number)),
            "windows": np.exp(random.uniform(0, 5, number)),
            "share": random.uniform(0.5, 0.95, number),
            "control": random.choice(["cubic", "reno", "bbr1"], number),
        }
    )
    expected = np.where(table["lost"] > 1, 0.5, np.where(table["windows"] <= 10, 1.5, 0.7))
    table["ratio"] = expected * np.exp(random.normal(0, 0.05, number))
    table["noise"] = np.exp(random.normal(0, 0.3, number))
    return table


def found(table: pd.DataFrame, measure: str) -> ThresholdRule:
    return find_rule(table, measure, read_factors(table, FACTORS, {}), SIDES, 1)


def test_a_planted_rule_is_found() -> None:
    rule = found(points(400, 1), "ratio")
    assert len(rule.terms) == 2
    unseen = points(300, 2)
    said = rule.choices(unseen)
    lossy, small = unseen["lost"] > 1.5, unseen["windows"] < 8
    assert (said[lossy] == "second").all()
    assert (said[small & (unseen["lost"] < 0.6)] == "first").all()
    assert (said[unseen["windows"] > 13] == "second").all()


def test_obeying_a_planted_rule_costs_less_than_any_constant() -> None:
    rule, unseen = found(points(400, 1), "ratio"), points(300, 2)
    ratios = unseen["ratio"].to_numpy()
    by_rule = regret("the rule", lost(rule.choices(unseen), ratios))
    first, second = (regret(side, each) for side, each in zip(SIDES, losses(ratios), strict=False))
    assert by_rule.high < min(first.low, second.low)
    assert by_rule.mean < 0.05


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_noise_has_no_rule(seed: int) -> None:
    rule = found(points(300, seed), "noise")
    assert rule.terms == ()
    assert rule.otherwise == "either"


def test_a_side_that_is_always_better_needs_no_term() -> None:
    table = points(200, 1)
    table["always"] = 1.3
    rule = found(table, "always")
    assert (rule.terms, rule.otherwise) == ((), "first")


def test_a_level_may_be_a_term() -> None:
    table = points(400, 4)
    table["ratio"] = np.where(table["control"] == "bbr1", 0.6, 1.4)
    rule = found(table, "ratio")
    (term,) = rule.terms
    assert term.words({}) in ("control is bbr1", "control is not bbr1")
    assert rule.choices(table)[table["control"] == "bbr1"].tolist()[0] == "second"
    assert lost(rule.choices(table), table["ratio"].to_numpy()).max() == 0


def test_what_is_lost_is_a_part_of_the_better_side_s_goodput() -> None:
    found = losses(np.array([0.5, 1.0, 2.0, 0.0, np.inf]))
    assert found[0] == pytest.approx([0.5, 0, 0, 1, 0])
    assert found[1] == pytest.approx([0, 0, 0.5, 0, 1])
    assert found[2] == pytest.approx([0.25, 0, 0.25, 0.5, 0.5])


def test_a_regret_has_an_interval_around_its_mean() -> None:
    few = regret("a way", np.random.default_rng(1).exponential(0.1, 200))
    assert few.low < 0.1 < few.high
    assert few.low < few.mean < few.high
    assert np.isnan(regret("a way", np.array([])).mean)


def test_the_first_term_that_is_true_decides() -> None:
    rule = ThresholdRule.check(
        {
            "measure": "ratio",
            "first": "one",
            "second": "other",
            "points": 3,
            "terms": [
                {"factor": "a", "relation": "above", "value": 1, "choice": "first"},
                {"factor": "b", "relation": "is not", "value": "x", "choice": "second"},
            ],
            "otherwise": "either",
        },
        "rule.json",
    )
    table = pd.DataFrame({"a": [2, 1, np.nan, 0], "b": ["y", "y", "x", "y"]})
    assert rule.choices(table).tolist() == ["first", "second", "either", "second"]
    assert rule.side("first") == "one"


def test_a_rule_of_four_terms_is_refused() -> None:
    term = Term(factor="a", relation="above", value=1, choice="first").model_dump()
    fields = {"measure": "r", "first": "a", "second": "b", "points": 1, "otherwise": "either"}
    with pytest.raises(SettingsError, match="terms"):
        ThresholdRule.check({**fields, "terms": [term] * 4}, "rule.json")
