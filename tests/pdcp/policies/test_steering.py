"""The steering modes of ATSSS, by round-trip times that a test writes down."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc.pdcp import PolicyError, SteeringPolicy, make_policy
from minitopo_dc.units import NS_PER_MS, NS_PER_S


def steering(name: str, *round_trips_ms: float, legs: int = 2, **parameters: Any) -> SteeringPolicy:
    """Return a policy whose legs were measured at the time 0."""
    policy = make_policy(name, legs=legs, **parameters)
    assert isinstance(policy, SteeringPolicy)
    measure(policy, *round_trips_ms)
    return policy


def measure(policy: SteeringPolicy, *round_trips_ms: float, now: int = 0) -> None:
    for leg, round_trip_ms in enumerate(round_trips_ms):
        policy.echo_answered(leg, round(round_trip_ms * NS_PER_MS), now)


def chosen(policy: SteeringPolicy, packets: int = 1, now: int = 0) -> list[tuple[int, ...]]:
    return [policy.legs(now=now, size=1500, views=()) for _ in range(packets)]


def test_smallest_delay_follows_the_latest_round_trip_times() -> None:
    policy = steering("smallest-delay", 30, 20)
    assert chosen(policy) == [(1,)]
    measure(policy, 30, 31)
    assert chosen(policy) == [(0,)]


def test_smallest_delay_takes_the_first_leg_until_an_echo_is_answered() -> None:
    policy = steering("smallest-delay")
    assert chosen(policy) == [(0,)]
    policy.echo_answered(1, NS_PER_MS, now=1)
    assert chosen(policy) == [(1,)]


def test_a_flow_stays_on_its_leg_once_all_legs_are_measured() -> None:
    policy = steering("smallest-delay", per="flow")
    assert chosen(policy) == [(0,)]
    measure(policy, 30, 20)
    assert chosen(policy) == [(1,)]
    measure(policy, 10, 20)
    assert chosen(policy) == [(1,)]


def test_a_flow_leaves_a_leg_that_has_not_answered_for_a_second() -> None:
    policy = steering("smallest-delay", 30, 20, per="flow")
    assert chosen(policy) == [(1,)]
    policy.echo_answered(0, 30 * NS_PER_MS, now=NS_PER_S)
    assert chosen(policy, now=NS_PER_S) == [(1,)]
    assert chosen(policy, now=NS_PER_S + 1) == [(0,)]


def test_active_standby_uses_the_standby_only_while_the_active_leg_is_silent() -> None:
    policy = steering("active-standby", 10, 20, primary=2)
    assert chosen(policy) == [(1,)]
    measure(policy, 10, now=2 * NS_PER_S)
    assert chosen(policy, now=2 * NS_PER_S) == [(0,)]
    measure(policy, 10, 20, now=3 * NS_PER_S)
    assert chosen(policy, now=3 * NS_PER_S) == [(1,)]


def test_load_balancing_shares_packets_by_weights() -> None:
    sent = chosen(steering("load-balancing", 10, 20, weights=[3, 1]), packets=8)
    assert sent.count((0,)) == 6
    assert sent.count((1,)) == 2


def test_load_balancing_leaves_out_a_leg_above_the_threshold() -> None:
    assert set(chosen(steering("load-balancing", 10, 21, max_rtt_ms=20), packets=4)) == {(0,)}


def test_load_balancing_uses_all_legs_when_all_are_above_the_threshold() -> None:
    assert set(chosen(steering("load-balancing", 21, 21, max_rtt_ms=20), packets=4)) == {(0,), (1,)}


def test_priority_goes_to_the_next_leg_while_a_queue_doubles_the_round_trip_time() -> None:
    policy = steering("priority-based", 10, 50)
    measure(policy, 20, 50)
    assert chosen(policy) == [(0,)]
    measure(policy, 20.1, 50)
    assert chosen(policy) == [(1,)]


def test_priority_stays_with_the_first_leg_where_all_are_congested() -> None:
    assert chosen(steering("priority-based", 30, 50, max_rtt_ms=20)) == [(0,)]


def test_redundant_uses_all_available_legs() -> None:
    policy = steering("redundant", 10, 20)
    assert chosen(policy) == [(0, 1)]
    measure(policy, 10, now=2 * NS_PER_S)
    assert chosen(policy, now=2 * NS_PER_S) == [(0,)]


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("active-standby", {"primary": 3}, "primary is 3, must be a whole number from 1 to 2"),
        ("load-balancing", {"weights": [1]}, "weights must be 2 numbers"),
        ("load-balancing", {"max_rtt_ms": -1}, "max_rtt_ms is -1, must be a number >= 0"),
        ("smallest-delay", {"per": "byte"}, "per is 'byte', must be one of packet, flow"),
    ],
)
def test_a_wrong_parameter_is_named(name: str, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        make_policy(name, legs=2, **parameters)
