"""What adaptive policies make of legs, with entity, legs, receiver and reports in a loop."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from minitopo_dc.link import Capacity, make_capacity
from minitopo_dc.pdcp import make_policy
from minitopo_dc.scenario.pdcp import FlowControlSettings
from minitopo_dc.trace import RateTrace
from tests.pdcp.bearers import MS, SIZE, Bearer, endless

BRISK = {"epoch_ms": 150}
"""Epochs of a bandit: shorter than its default, so that it has tried all its arms sooner."""
WINDOW = 200
"""SDUs under way, i.e. neither delivered nor lost. Queues hold them all."""
S = 1000 * MS


def changing(*steps: tuple[float, float]) -> Capacity:
    """A rate in Mbit/s from each time in s on."""
    times = tuple(round(at * S) for at, _ in steps)
    rates = tuple(round(rate * 1e6) for _, rate in steps)
    return make_capacity(RateTrace("steps", times, rates, times[-1] + S), "hold")


class Saturated(Bearer):
    """A bearer whose source always has something to send."""

    def saturate(self, seconds: float) -> None:
        """From 0 to then."""
        for sdu in range(WINDOW):
            self.push(sdu)
        pushed, gone, left = WINDOW, 0, deque[int]()
        while self.now < seconds * S:
            moments = [self.next_moment(), left[0] if left else None]
            self.run(min(moment for moment in moments if moment is not None))
            counted = self.receiver.statistics()
            now_gone = counted.delivered + counted.missing
            left += [self.now + 10 * MS] * (now_gone - gone)  # the uplink's delay
            gone = now_gone
            while left and left[0] <= self.now:
                left.popleft()
                self.push(pushed)
                pushed += 1

    def mbps(self, begin: float, end: float) -> float:
        """What was delivered from one time in s to another."""
        return (
            sum(begin * S <= at < end * S for at, _ in self.delivered)
            * SIZE
            * 8
            / ((end - begin) * 1e6)
        )

    def share(self, leg: int, begin: float, end: float) -> float:
        """Of the SDUs delivered from one time in s to another, those that came by `leg`."""
        leg_of = self.leg_of()
        legs = [leg_of[sdu] for at, sdu in self.delivered if begin * S <= at < end * S]
        return legs.count(leg) / len(legs)

    def leg_of(self) -> dict[int, int]:
        """The leg of each SDU."""
        return {pdu.sdu: pdu.leg for pdu in self.sent}


def run(
    name: str,
    *rates: Any,
    seconds: float,
    late: bool = False,
    seed: int | None = None,
    **fields: Any,
) -> Saturated:
    parameters = fields.pop("parameters", {}) | ({} if seed is None else {"seed": seed})
    policy = make_policy(name, legs=len(rates), **parameters)
    values: dict[str, Any] = {"delays_ms": [10] * len(rates), "queue": 400, "report_ms": 20}
    bearer = Saturated(policy, *rates, waiting=endless() if late else None, **values | fields)
    bearer.saturate(seconds)
    return bearer


def test_a_blind_split_is_as_fast_as_its_slowest_leg_allows() -> None:
    bearer = run("batch", 30, 10, seconds=3, parameters={"batch": 2})
    assert bearer.mbps(1, 3) == pytest.approx(20, rel=0.03)


@pytest.mark.parametrize(
    ("name", "parameters", "rates"),
    [
        ("least-delay", {}, (4, 36)),
        ("threshold", {"primary": 2}, (4, 36)),
        ("threshold", {"threshold_bytes": 0}, (4, 36)),
        ("proportional", {}, (4, 36)),
        ("proportional", {"time_constant_ms": 500}, (30, 10)),
        ("least-delay", {}, (24, 12, 4)),
        ("proportional", {}, (24, 12, 4)),
    ],
)
def test_unequal_legs_give_the_sum_of_their_rates(
    name: str, parameters: dict[str, Any], rates: tuple[float, ...]
) -> None:
    bearer = run(
        name, *rates, seconds=3, delays_ms=(10, 25, 20)[: len(rates)], parameters=parameters
    )
    assert bearer.mbps(2, 3) > 0.95 * 40


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("least-delay", {}), ("threshold", {"primary": 2}), ("proportional", {})],
)
def test_with_late_numbering_too(name: str, parameters: dict[str, Any]) -> None:
    bearer = run(name, 4, 36, seconds=1.5, late=True, parameters=parameters)
    assert bearer.mbps(1, 1.5) > 0.95 * 40


@pytest.mark.parametrize("late", [False, True])
def test_credit_shares_by_what_the_legs_nodes_ask_for(late: bool) -> None:
    control = FlowControlSettings().of_legs(2)
    bearer = run("credit", 30, 10, seconds=2, late=late, flow_control=control)
    assert bearer.mbps(1, 2) > 0.9 * 40


def test_a_threshold_that_a_slow_primary_leg_seldom_reaches_holds_the_others_back() -> None:
    slow_first = run("threshold", 4, 36, seconds=2)
    assert slow_first.mbps(1, 2) < 0.7 * 40


@pytest.mark.parametrize("late", [False, True])
def test_the_bandit_finds_a_ratio_near_the_best_of_its_arms(late: bool) -> None:
    bearer = run("bandit", 30, 10, seconds=6, late=late, parameters=BRISK)
    assert bearer.mbps(3, 6) > 0.85 * 37.5  # 80:20 fills the first leg, and the second to 3/4
    assert 0.65 < bearer.share(0, 3, 6) < 0.92  # or that ratio's neighbour, 90:10


def test_proportional_finds_three_to_one_from_equal_shares() -> None:
    bearer = run("proportional", 30, 10, seconds=4)
    assert [pdu.leg for pdu in bearer.sent[:100]].count(0) == 50  # before any report
    assert bearer.share(0, 2, 4) == pytest.approx(0.75, abs=0.02)


def test_proportional_finds_back_when_the_rates_change() -> None:
    bearer = run("proportional", changing((0, 30), (5, 10)), changing((0, 10), (5, 30)), seconds=10)
    assert bearer.share(0, 3, 5) == pytest.approx(0.75, abs=0.02)
    assert bearer.share(0, 7, 10) == pytest.approx(0.25, abs=0.02)
    assert bearer.mbps(7, 10) > 0.95 * 40


def test_proportional_finds_back_to_a_leg_that_had_become_nearly_nothing() -> None:
    bearer = run("proportional", changing((0, 20), (2, 0.5), (6, 20)), 20, seconds=12)
    assert bearer.share(0, 4, 6) < 0.05
    assert bearer.share(0, 9, 12) == pytest.approx(0.5, abs=0.05)


def test_the_bandit_finds_back_when_the_rates_change() -> None:
    capacities = changing((0, 10), (4.5, 30)), changing((0, 30), (4.5, 10))
    bearer = run("bandit", *capacities, seconds=12, parameters=BRISK)
    assert bearer.mbps(2.25, 4.5) > 30
    assert bearer.mbps(9, 12) > 30


@pytest.mark.parametrize(
    ("name", "seeds"), [("proportional", [{}, {}]), ("bandit", [{"seed": 1}, {"seed": 2}])]
)
def test_the_same_seed_gives_the_same_legs_and_another_seed_other_ones(
    name: str, seeds: list[dict[str, Any]]
) -> None:
    one, again, other = (
        run(name, 30, 10, seconds=1, parameters=parameters).leg_of()
        for parameters in (seeds[0], *seeds)
    )
    assert one == again
    assert (again == other) == (seeds[0] == seeds[1])
