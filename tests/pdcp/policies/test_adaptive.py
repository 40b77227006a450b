"""Adaptive split policies with legs that are written down: answers, waiting, parameters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.pdcp import (
    LegReport,
    LegView,
    PolicyError,
    TransmittingEntity,
    make_policy,
    policy_needs,
    sees_legs,
    sn_format,
)
from minitopo_dc.pdcp.policies.bandit import MAX_ARMS, DiscountedUcb, ratios, reward
from minitopo_dc.pdcp.policies.best_leg import SPLIT_THRESHOLDS
from minitopo_dc.pdcp.policies.policy import checked_split, needs_of
from minitopo_dc.pdcp.policies.proportional import DeficitRoundRobin
from minitopo_dc.pdcp.policies.view import candidates
from minitopo_dc.units import NS_PER_MS
from tests.pdcp.views import WrittenLeg

ADAPTIVE = ("least-delay", "threshold", "proportional", "bandit", "credit")


def report(at: int, **values: int) -> LegReport:
    nothing = {"delivered_pdus": 0, "delivered_bytes": 0, "lost_pdus": 0}
    fields = nothing | {"reordered": 0, "reordering_ns": 0} | values
    return LegReport(at=at, highest_count=None, **fields)


views = st.builds(
    WrittenLeg,
    backlog=st.integers(0, 10**6),
    ns_per_byte=st.none() | st.integers(1, 4000),
    mean_delay_ns=st.integers(0, 20 * NS_PER_MS),
    room=st.booleans(),
    is_up=st.booleans(),
    credit=st.integers(-(10**5), 10**6),
)
moments = st.lists(st.lists(views, min_size=3, max_size=3), min_size=1, max_size=30)


@pytest.mark.parametrize("name", ADAPTIVE)
@given(moments=moments, may_wait=st.booleans(), step=st.integers(0, 300), data=st.data())
def test_an_answer_is_one_leg_or_where_sdus_wait_none(
    name: str, moments: list[list[WrittenLeg]], may_wait: bool, step: int, data: st.DataObject
) -> None:
    policy = make_policy(name, legs=3)
    delivered = [0, 0, 0]
    for number, legs in enumerate(moments):
        now = number * step * NS_PER_MS
        reported = data.draw(st.booleans())
        for leg, view in enumerate(legs):
            delivered[leg] += data.draw(st.integers(0, 10**6))
            view.may_wait = may_wait
            values = {"delivered_bytes": delivered[leg], "delivered_pdus": delivered[leg] // 99}
            view.report = report(now + 1, **values) if reported else None
        answer = policy.legs(now=now, size=1500, views=legs)
        assert answer in {(0,), (1,), (2,)} | ({()} if may_wait else set())
        if may_wait and answer:
            assert legs[answer[0]].room  # one that does not take is never waited for by name


@pytest.mark.parametrize("name", ["batch", "duplicate", *ADAPTIVE])
def test_a_policy_says_what_it_needs(name: str) -> None:
    policy = make_policy(name, legs=2)
    assert sees_legs(policy) == (name in ADAPTIVE)
    needs = {"proportional": {"reports"}, "bandit": {"reports"}, "credit": {"flow_control"}}
    assert policy_needs(name) == needs_of(policy) == needs.get(name, set())


class Reads:
    """Reads views without saying so."""

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        return (int(views[0].has_failed),)


class ReadsReports(Reads):
    """Says what it needs."""

    needs_reports = True


def test_a_policy_that_needs_reports_sees_its_legs() -> None:
    assert sees_legs(ReadsReports())
    assert not sees_legs(Reads())


def test_a_policy_that_forgets_to_see_its_legs_is_told_so() -> None:
    entity = TransmittingEntity[bytes](sn_format(18), Reads(), legs=2)
    with pytest.raises(PolicyError, match=r"'Reads': IndexError: .*; views .*sees_legs"):
        entity.push(b"packet", size=6, now=0)


class ReadsTooFar:
    """Says that it sees its legs, and reads one that is not there."""

    sees_legs = True

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        return (int(views[2].has_failed),)


def test_a_policy_that_sees_its_legs_is_not_told_to_see_them() -> None:
    split = checked_split(ReadsTooFar(), legs=2)
    with pytest.raises(PolicyError, match=r"'ReadsTooFar': IndexError: (?!.*sees_legs)"):
        split(now=0, size=6, views=())


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("proportional", {"time_constant_ms": 0}, "time_constant_ms is 0, must be a number >= 1"),
        ("proportional", {"floor_percent": 51}, "floor_percent is 51, must be .* 0.01 to 50"),
        ("proportional", {"floor_percent": True}, "floor_percent is True, must be a number"),
        ("threshold", {"threshold_bytes": 50}, "threshold_bytes is 50, must be one of 0, 100, "),
        ("threshold", {"threshold_bytes": "never"}, "'never', .*6553600, infinity"),
        ("threshold", {"primary": 3}, "primary is 3, must be a whole number from 1 to 2"),
        ("bandit", {"epoch_ms": float("nan")}, "epoch_ms is nan, must be a number >= 2"),
        ("bandit", {"discount": 1.1}, "discount is 1.1, must be a number from 0.01 to 1"),
        ("bandit", {"exploration": -1}, "exploration is -1, must be a number >= 0"),
        ("bandit", {"loss_cost": "1"}, "loss_cost is '1', must be a number >= 0"),
        ("bandit", {"wait_ms": 0}, "wait_ms is 0, must be a number >= 1"),
        ("bandit", {"seed": "x"}, "seed is 'x', must be a whole number"),
        ("credit", {"relative": 1}, "its parameters: none"),
    ],
)
def test_a_wrong_parameter_is_refused_with_what_is_allowed(
    name: str, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(PolicyError, match=f"split policy '{name}': .*{message}"):
        make_policy(name, legs=2, **parameters)


def test_legs_that_take_and_move_are_candidates_and_of_those_that_do_not_one_that_is_up() -> None:
    full, stands = WrittenLeg(room=False), WrittenLeg(ns_per_byte=None)
    down = WrittenLeg(ns_per_byte=None, is_up=False)
    assert candidates((WrittenLeg(), full, stands, WrittenLeg()), now=0, size=1) == [0, 3]
    assert candidates((stands, full), now=0, size=1) == [1]
    assert candidates((down, down), now=0, size=1) == [0, 1]
    for leg in (full, stands, down):
        leg.may_wait = True  # so full legs are none
    assert candidates((stands, full), now=0, size=1) == []
    assert candidates((down, stands), now=0, size=1) == [1]
    assert candidates((down, down), now=0, size=1) == []


@given(
    st.lists(st.floats(0.01, 100), min_size=1, max_size=5),
    st.lists(st.integers(1, 1500), min_size=1, max_size=300),
)
def test_shares_are_kept_to_a_few_packets_at_any_time(
    weights: list[float], sizes: list[int]
) -> None:
    robin, legs = DeficitRoundRobin(len(weights)), range(len(weights))
    given_bytes = [0] * len(weights)
    for size in sizes:
        leg = robin.next_leg(size, weights, legs)
        robin.pay(size, weights, legs, leg)
        given_bytes[leg] += size
        for each in legs:
            owed = sum(given_bytes) * weights[each] / sum(weights)
            assert abs(given_bytes[each] - owed) < len(weights) * 1500


def test_three_to_one_has_no_batches() -> None:
    robin = DeficitRoundRobin(2)
    legs = []
    for _ in range(400):
        legs.append(robin.next_leg(1500, (3, 1), (0, 1)))
        robin.pay(1500, (3, 1), (0, 1), legs[-1])
    assert legs.count(0) == 300
    assert max(len(list(run)) for _, run in itertools.groupby(legs)) == 3


def shares(
    policy: Any, legs: tuple[WrittenLeg, ...], rates: tuple[int, ...], backlogs: tuple[int, ...]
) -> list[float]:
    """After 2 s with reports of these delivered bytes a report, each 20 ms."""
    start = max((leg.report.at for leg in legs if leg.report), default=0)
    for number in range(1, 101):
        now = start + number * 20 * NS_PER_MS
        for leg, rate, backlog in zip(legs, rates, backlogs, strict=True):
            before = leg.report.delivered_bytes if leg.report else 0
            leg.report = report(now, delivered_bytes=before + rate)
            leg.backlog = backlog
        policy.legs(now=now, size=1500, views=legs)
    return list(policy.rates.shares)


@pytest.mark.parametrize(
    ("parameters", "rates", "busy", "expected"),
    [
        ({}, (3000, 1000), (1, 1), (0.75, 0.25)),
        ({"floor_percent": 10}, (3000, 0), (1, 1), (0.9, 0.1)),
        ({}, (3000, 100), (1, 0), (0.03, 0.97)),  # what was given little is not taken for slow
    ],
)
def test_busy_legs_share_by_what_they_deliver(
    parameters: dict[str, Any],
    rates: tuple[int, ...],
    busy: tuple[int, ...],
    expected: tuple[float, ...],
) -> None:
    policy, legs = make_policy("proportional", legs=2, **parameters), (WrittenLeg(), WrittenLeg())
    learnt = shares(policy, legs, rates, busy)
    assert learnt == pytest.approx(expected, abs=0.02)
    assert shares(policy, legs, (10, 1000), (0, 0)) == learnt  # no leg is busy
    assert min(learnt) >= parameters.get("floor_percent", 0) / 100


def test_thresholds_are_the_standard_s() -> None:
    assert len(SPLIT_THRESHOLDS) == 23
    assert list(SPLIT_THRESHOLDS) == sorted(SPLIT_THRESHOLDS)
    for threshold in (*SPLIT_THRESHOLDS, "infinity"):
        make_policy("threshold", legs=2, threshold_bytes=threshold)


FREE, FULL = WrittenLeg(), WrittenLeg(room=False)
STANDS, DOWN = WrittenLeg(ns_per_byte=None), WrittenLeg(ns_per_byte=None, is_up=False, room=False)
FAR, LONG = WrittenLeg(mean_delay_ns=100), WrittenLeg(backlog=10**9)
T3200 = {"threshold_bytes": 3200}


def credit(*bytes_: int) -> list[WrittenLeg]:
    return [WrittenLeg(credit=each) for each in bytes_]


@pytest.mark.parametrize(
    ("name", "parameters", "legs", "answers"),
    [
        ("proportional", {}, [FREE, FREE], [0, 1, 0, 1]),  # before the first report
        ("proportional", {}, [FULL, STANDS, FREE], [2, 2, 2]),
        ("threshold", T3200, [WrittenLeg(1599), WrittenLeg(100)], [0]),
        ("threshold", T3200, [WrittenLeg(1600), WrittenLeg(100)], [1]),
        ("threshold", T3200, [WrittenLeg(mean_delay_ns=5, pending_bytes=1699), FREE], [0]),
        ("threshold", T3200, [WrittenLeg(mean_delay_ns=5, pending_bytes=1700), FREE], [1]),
        ("threshold", {"threshold_bytes": "infinity", "primary": 2}, [FREE, LONG], [1]),
        ("credit", {}, credit(5, 9, 9), [1]),
        ("credit", {}, credit(-3000, 0), [1]),
        ("bandit", {}, [FREE, FREE], [0, 1, 0, 1]),  # the first ratio is the equal one
        ("bandit", {}, [STANDS, FREE], [1] * 9),
    ],
)
def test_a_policy_chooses(
    name: str, parameters: dict[str, Any], legs: list[WrittenLeg], answers: list[int]
) -> None:
    policy = make_policy(name, legs=len(legs), **parameters)
    chosen = [policy.legs(now=now, size=1500, views=legs) for now in range(len(answers))]
    assert chosen == [(leg,) for leg in answers]


@pytest.mark.parametrize(
    ("name", "legs", "pending", "answer"),
    [
        ("least-delay", [WrittenLeg(mean_delay_ns=9), FREE], 10**6, (1,)),
        # 10 and 110 ns: the farther leg, only if the best alone would end no sooner.
        *[("least-delay", [FULL, FAR], *each) for each in ((0, ()), (99, ()), (100, (1,)))],
        ("least-delay", [FULL, FULL], 10**6, ()),
        ("least-delay", [FULL, FREE], 0, (1,)),  # it equals the best
        ("least-delay", [STANDS, WrittenLeg(mean_delay_ns=999)], 0, (1,)),
        ("least-delay", [STANDS, STANDS], 0, (0,)),
        ("threshold", [FULL, FREE], 0, ()),  # waits for the primary leg, but not by name
        ("credit", credit(-3000, 0), 0, ()),
        ("credit", credit(1, 0), 0, (0,)),
        ("bandit", [FULL, FREE], 0, ()),  # whose turn it is
        ("bandit", [FREE, FULL], 0, (0,)),
        ("bandit", [DOWN, STANDS], 0, (1,)),
        ("bandit", [STANDS, DOWN], 0, (0,)),
    ],
)
def test_a_policy_waits_for_a_leg_or_takes_one(
    name: str, legs: list[WrittenLeg], pending: int, answer: tuple[int, ...]
) -> None:
    views = [replace(leg, may_wait=True, pending_bytes=pending) for leg in legs]
    assert make_policy(name, legs=len(views)).legs(now=0, size=10, views=views) == answer


def test_legs_without_flow_control_are_an_error() -> None:
    policy = make_policy("credit", legs=2)
    with pytest.raises(PolicyError, match="'credit': leg 2 "):
        policy.legs(now=0, size=1500, views=(WrittenLeg(credit=1), WrittenLeg()))


@pytest.mark.parametrize(
    ("legs", "parts", "arms"),
    [(1, 10, 1), (2, 10, 11), (3, 5, 21), (4, 3, 20), (6, 2, 21), (30, 1, 30)],
)
def test_ratios_are_all_ways_to_divide_so_many_parts(legs: int, parts: int, arms: int) -> None:
    found = ratios(legs)
    assert len(found) == len(set(found)) == arms
    assert arms <= MAX_ARMS or parts == 1
    assert {sum(ratio) for ratio in found} == {parts}
    assert all(min(ratio) >= 0 for ratio in found)


@pytest.mark.parametrize(
    ("lost", "waited", "loss_cost", "worth"),
    [(0, 0, 1, 100), (1, 0, 1, 90), (1, 0, 2, 80), (0, 1000, 1, 90), (20, 0, 1, 0)],
)
def test_loss_and_waiting_lessen_a_reward(
    lost: int, waited: int, loss_cost: float, worth: float
) -> None:
    before = LegReport(0, None, 0, 0, 0, 0, 0)
    after = LegReport(100, 9, 10, 10_000, lost, 0, waited)
    assert reward(before, after, loss_cost=loss_cost, wait=1000) == worth


@pytest.mark.parametrize(("exploration", "arm"), [(0.3, 0), (0.5, 1)])
def test_padding_is_in_relation_to_the_mean_of_the_best_arm(exploration: float, arm: int) -> None:
    """Nine plays of 1, one of 1/2: 1 + 2 B sqrt(ln(10) / 18) is equal to the other at B = 0.35."""
    bandit = DiscountedUcb(2, first=0, discount=1.0, exploration=exploration, rng=Random(1))
    for played, gained in [(0, 1.0)] * 9 + [(1, 0.5)]:
        bandit.learn(played, gained)
    assert bandit.choose() == arm


@given(st.integers(2, 12), st.integers(0, 99), st.data())
def test_the_best_arm_is_played_most(arms: int, seed: int, data: st.DataObject) -> None:
    best = data.draw(st.integers(0, arms - 1))
    bandit = DiscountedUcb(arms, first=0, discount=0.95, exploration=0.02, rng=Random(seed))
    plays = []
    for _ in range(100):
        arm = bandit.choose()
        plays.append(arm)
        bandit.learn(arm, 40.0 if arm == best else 20.0)
    assert set(plays[:arms]) == set(range(arms))
    assert plays[0] == 0
    assert plays.count(best) > 60


@given(st.integers(0, 99))
def test_an_arm_that_has_become_the_best_is_found(seed: int) -> None:
    bandit = DiscountedUcb(5, first=2, discount=0.9, exploration=0.02, rng=Random(seed))
    plays = []
    for turn in range(200):
        arm = bandit.choose()
        plays.append(arm)
        bandit.learn(arm, 40.0 if arm == (0 if turn < 100 else 4) else 20.0)
    assert plays[50:100].count(0) > 25
    assert plays[150:].count(4) > 25


def test_rewards_of_nothing_are_no_error() -> None:
    bandit = DiscountedUcb(3, first=1, discount=0.9, exploration=0.02, rng=Random(1))
    for _ in range(20):
        bandit.learn(bandit.choose(), 0.0)
