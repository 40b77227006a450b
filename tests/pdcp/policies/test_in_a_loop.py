"""What adaptive policies make of legs, with entity, legs, receiver and reports in a loop."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc.pdcp import make_policy
from minitopo_dc.scenario.pdcp import FlowControlSettings
from tests.pdcp.bearer_loop import Bearer, changing, steady

BRISK = {"epoch_ms": 150}
"""Epochs of a bandit: shorter than its default, so that it has tried all its arms sooner."""


def run(name: str, *capacities: Any, seconds: float, **fields: Any) -> Bearer:
    parameters = fields.pop("parameters", {})
    policy = make_policy(name, legs=len(capacities), **parameters)
    bearer = Bearer(policy, capacities, **fields)
    bearer.run(seconds)
    return bearer


def test_a_blind_split_is_as_fast_as_its_slowest_leg_allows() -> None:
    bearer = run("batch", steady(30), steady(10), seconds=3, parameters={"batch": 2})
    assert bearer.mbps(1, 3) == pytest.approx(20, rel=0.03)


@pytest.mark.parametrize(
    ("name", "parameters", "rates"),
    [
        ("least-delay", {}, (4, 36)),
        ("threshold", {"primary": 2}, (4, 36)),
        ("threshold", {"threshold_bytes": 0}, (4, 36)),
        ("proportional", {}, (4, 36)),
        ("proportional", {"time_constant_ms": 500}, (30, 10)),
    ],
)
def test_unequal_legs_give_the_sum_of_their_rates(
    name: str, parameters: dict[str, Any], rates: tuple[float, float]
) -> None:
    capacities = [steady(rate) for rate in rates]
    bearer = run(name, *capacities, seconds=3, delays_ms=(10, 25), parameters=parameters)
    assert bearer.mbps(2, 3) > 0.95 * 40


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("least-delay", {}), ("threshold", {"primary": 2}), ("proportional", {})],
)
def test_with_late_numbering_too(name: str, parameters: dict[str, Any]) -> None:
    bearer = run(name, steady(4), steady(36), seconds=1.5, late=True, parameters=parameters)
    assert bearer.mbps(1, 1.5) > 0.95 * 40


@pytest.mark.parametrize("late", [False, True])
def test_credit_shares_by_what_the_legs_nodes_ask_for(late: bool) -> None:
    control = FlowControlSettings().of_legs(2)
    bearer = run("credit", steady(30), steady(10), seconds=2, late=late, flow_control=control)
    assert bearer.mbps(1, 2) > 0.9 * 40


def test_a_threshold_that_a_slow_primary_leg_seldom_reaches_holds_the_others_back() -> None:
    slow_first = run("threshold", steady(4), steady(36), seconds=2)
    assert slow_first.mbps(1, 2) < 0.7 * 40


@pytest.mark.parametrize("late", [False, True])
def test_the_bandit_finds_a_ratio_near_the_best_of_its_arms(late: bool) -> None:
    bearer = run("bandit", steady(30), steady(10), seconds=6, late=late, parameters=BRISK)
    assert bearer.mbps(3, 6) > 0.85 * 37.5  # 80:20 fills the first leg, and the second to 3/4
    assert 0.65 < bearer.share(0, 3, 6) < 0.92  # or that ratio's neighbour, 90:10


def test_proportional_finds_three_to_one_from_equal_shares() -> None:
    bearer = run("proportional", steady(30), steady(10), seconds=4)
    assert [bearer.sent[sdu] for sdu in range(100)].count(0) == 50  # before any report
    assert bearer.share(0, 2, 4) == pytest.approx(0.75, abs=0.02)


def test_proportional_finds_back_when_the_rates_change() -> None:
    bearer = run("proportional", changing((0, 30), (5, 10)), changing((0, 10), (5, 30)), seconds=10)
    assert bearer.share(0, 3, 5) == pytest.approx(0.75, abs=0.02)
    assert bearer.share(0, 7, 10) == pytest.approx(0.25, abs=0.02)
    assert bearer.mbps(7, 10) > 0.95 * 40


def test_proportional_finds_back_to_a_leg_that_had_become_nearly_nothing() -> None:
    bearer = run("proportional", changing((0, 20), (2, 0.5), (6, 20)), steady(20), seconds=12)
    assert bearer.share(0, 4, 6) < 0.05
    assert bearer.share(0, 9, 12) == pytest.approx(0.5, abs=0.05)


def test_the_bandit_finds_back_when_the_rates_change() -> None:
    capacities = changing((0, 10), (4.5, 30)), changing((0, 30), (4.5, 10))
    bearer = run("bandit", *capacities, seconds=12, parameters=BRISK)
    assert bearer.mbps(2.25, 4.5) > 30
    assert bearer.mbps(9, 12) > 30


@pytest.mark.parametrize("name", ["least-delay", "proportional"])
def test_three_legs_give_the_sum_of_their_rates(name: str) -> None:
    capacities = [steady(24), steady(12), steady(4)]
    bearer = run(name, *capacities, seconds=2, delays_ms=(10, 15, 20))
    assert bearer.mbps(1, 2) > 0.95 * 40


@pytest.mark.parametrize("name", ["proportional", "bandit"])
def test_the_same_seed_gives_the_same_legs(name: str) -> None:
    runs = [run(name, steady(30), steady(10), seconds=1).sent for _ in range(2)]
    assert runs[0] == runs[1]


def test_another_seed_tries_the_ratios_in_another_order() -> None:
    runs = [
        run("bandit", steady(30), steady(10), seconds=1, parameters={"seed": seed}).sent
        for seed in (1, 2)
    ]
    assert runs[0] != runs[1]
