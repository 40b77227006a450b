"""How many packets a leg loses, over 1,000 seeds: what tables say is to be expected."""

from __future__ import annotations

import statistics
from random import Random
from typing import Any

import pytest

from minitopo_dc.link import GilbertElliott
from minitopo_dc.runs.routers import leg_seed
from minitopo_dc.scenario import Scenario
from minitopo_dc.statistics import ExpectedCount, expected_count

SEEDS = 1000
PACKETS = 473
FOUR_SIGMA = 4.0


def scenario(mode: str, seed: int, **downlink: Any) -> Scenario:
    leg = {"downlink": {"rate_mbps": 1000, "queue_packets": None, "jitter_ms": 0} | downlink}
    return Scenario.check(
        {"transport": "quic", "mode": mode, "legs": [leg, leg], "seed": seed}, "test"
    )


def lost(made: Scenario) -> list[int]:
    """The numbers of the packets that leg 1's downlink loses."""
    leg = made.legs[0].downlink.build(leg_seed(made, 1, "downlink"))
    leg.start(0)
    for number in range(PACKETS):
        leg.push(number, 1500, 0)
    arrived = set(leg.poll(10**10))
    return [number for number in range(PACKETS) if number not in arrived]


def counts(**downlink: Any) -> list[int]:
    made = scenario("sc", 1, **downlink)
    return [len(lost(made.model_copy(update={"seed": seed}))) for seed in range(SEEDS)]


def check(found: list[int], expected: ExpectedCount) -> None:
    error = expected.deviation / SEEDS**0.5
    assert statistics.mean(found) == pytest.approx(expected.mean, abs=FOUR_SIGMA * error)
    assert statistics.stdev(found) == pytest.approx(expected.deviation, rel=0.12)
    within = sum(expected.low <= each <= expected.high for each in found)
    assert 0.93 <= within / SEEDS <= 0.995


def test_random_losses_are_those_of_a_binomial_distribution() -> None:
    expected = expected_count(PACKETS * 0.01, PACKETS * 0.01 * 0.99)
    assert (expected.low, expected.high) == (1, 9)
    found = counts(loss_percent=1)
    check(found, expected)
    assert 0 < found.count(0) < 30  # 8.6 of 1,000: a run without a loss is no mistake


def test_bursts_scatter_more_and_by_as_much_as_is_said() -> None:
    model = GilbertElliott(0.002, 0.2)
    expected = expected_count(*model.moments(PACKETS))
    assert expected.deviation > 2 * expected.mean**0.5
    found = []
    for seed in range(SEEDS):
        rng, chain = Random(seed), GilbertElliott(0.002, 0.2)
        found.append(sum(chain.lost(rng) for _ in range(PACKETS)))
    check(found, expected)


def test_all_configurations_of_a_seed_lose_the_same_packets() -> None:
    same = lost(scenario("sc", 7, loss_percent=1))
    assert same
    assert same == lost(scenario("dc", 7, loss_percent=1))
    assert same != lost(scenario("sc", 8, loss_percent=1))
