"""The steering modes of ATSSS, by round-trip times that a test writes down."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc.pdcp import PolicyError, make_policy
from minitopo_dc.pdcp.policies.steering import SteeringPolicy
from minitopo_dc.units import NS_PER_MS, NS_PER_S

FLOW = {"per": "flow"}
Moment = tuple[float, tuple[float, ...], list[tuple[int, ...]]]
"""When (s), the round-trip times (ms) that the legs are found to have then, first to last, and the
legs of the next packets."""
CASES: list[tuple[str, dict[str, Any], list[Moment]]] = [
    # By the latest times, the first leg until an echo is answered.
    ("smallest-delay", {}, [(0, (30, 20), [(1,)]), (0, (30, 31), [(0,)])]),
    ("smallest-delay", {}, [(0, (), [(0,)]), (0, (30, 1), [(1,)])]),
    # A flow stays on its leg once all legs are measured, while that answers within a second.
    ("smallest-delay", FLOW, [(0, (), [(0,)]), (0, (30, 20), [(1,)]), (0, (10, 20), [(1,)])]),
    ("smallest-delay", FLOW, [(0, (30, 20), [(1,)]), (1, (30,), [(1,)]), (1.1, (), [(0,)])]),
    # The standby only while the active leg is silent.
    (
        "active-standby",
        {"primary": 2},
        [(0, (10, 20), [(1,)]), (2, (10,), [(0,)]), (3, (10, 20), [(1,)])],
    ),
    # By weights, without legs above the threshold unless all are.
    ("load-balancing", {"weights": [3, 1]}, [(0, (10, 20), [(0,), (0,), (1,), (0,)] * 2)]),
    ("load-balancing", {"max_rtt_ms": 20}, [(0, (10, 21), [(0,)] * 4)]),
    ("load-balancing", {"max_rtt_ms": 20}, [(0, (21, 21), [(0,), (1,)] * 2)]),
    # The next leg while a queue doubles the time of the first, which stays where all are congested.
    (
        "priority-based",
        {},
        [(0, (10, 50), []), (0, (20, 50), [(0,)]), (0, (20.1, 50), [(1,)])],
    ),
    ("priority-based", {"max_rtt_ms": 20}, [(0, (30, 50), [(0,)])]),
    ("priority-based", {"primary": 2}, [(0, (), [(1,)]), (0, (10,), [(1,)])]),
    ("redundant", {}, [(0, (10, 20), [(0, 1)]), (2, (10,), [(0,)])]),
]


@pytest.mark.parametrize(("name", "parameters", "moments"), CASES)
def test_a_mode_steers_by_round_trip_times(
    name: str, parameters: dict[str, Any], moments: list[Moment]
) -> None:
    policy = make_policy(name, legs=2, **parameters)
    assert isinstance(policy, SteeringPolicy)
    for at_s, round_trips_ms, expected in moments:
        now = round(at_s * NS_PER_S)
        for leg, round_trip_ms in enumerate(round_trips_ms):
            policy.echo_answered(leg, round(round_trip_ms * NS_PER_MS), now)
        chosen = [policy.legs(now=now, size=1500, views=()) for _ in expected]
        assert chosen == expected


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
