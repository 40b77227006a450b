from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby
from random import Random

import pytest

from minitopo_dc.link import (
    Bernoulli,
    ConstantDelay,
    DelayModel,
    GilbertElliott,
    LossModel,
    NormalDelay,
    UniformDelay,
)

DRAWS = 100_000


def losses(model: LossModel) -> list[bool]:
    rng = Random(1)
    return [model.lost(rng) for _ in range(DRAWS)]


def delays(model: DelayModel) -> list[int]:
    rng = Random(1)
    return [model.sample(rng) for _ in range(DRAWS)]


def test_a_constant_delay_is_constant() -> None:
    assert set(delays(ConstantDelay(5))) == {5}


def test_a_normal_delay_has_its_mean_and_standard_deviation() -> None:
    drawn = delays(NormalDelay(10_000_000, 1_000_000))
    mean = sum(drawn) / DRAWS
    sd = math.sqrt(sum((value - mean) ** 2 for value in drawn) / DRAWS)
    assert mean == pytest.approx(10_000_000, abs=4 * 1_000_000 / math.sqrt(DRAWS))
    assert sd == pytest.approx(1_000_000, rel=0.01)


def test_a_normal_delay_is_never_negative() -> None:
    drawn = delays(NormalDelay(1000, 1000))
    assert min(drawn) == 0
    assert drawn.count(0) / DRAWS == pytest.approx(0.1587, abs=0.005)  # P(N < -1)


def test_a_uniform_delay_fills_its_range() -> None:
    drawn = delays(UniformDelay(3, 6))
    assert {value: round(drawn.count(value) / DRAWS, 2) for value in set(drawn)} == {
        3: 0.25,
        4: 0.25,
        5: 0.25,
        6: 0.25,
    }


@pytest.mark.parametrize("p", [0.0, 0.001, 0.03, 0.5, 1.0])
def test_bernoulli_loses_its_share(p: float) -> None:
    share = sum(losses(Bernoulli(p))) / DRAWS
    assert share == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / DRAWS))


@pytest.mark.parametrize(
    ("p", "r", "h", "k"),
    [(0.01, 0.2, 0.0, 1.0), (0.02, 0.5, 0.4, 1.0), (0.05, 0.25, 0.3, 0.99), (0.0, 1.0, 0.0, 1.0)],
)
def test_gilbert_elliott_loses_its_stationary_share(p: float, r: float, h: float, k: float) -> None:
    expected = (p * (1 - h) + r * (1 - k)) / (p + r)
    # The chain's correlation 1 - p - r makes the mean's variance larger by this factor.
    factor = (2 - p - r) / (p + r)
    bound = 4 * math.sqrt(expected * (1 - expected) * factor / DRAWS)
    assert sum(losses(GilbertElliott(p, r, h, k))) / DRAWS == pytest.approx(expected, abs=bound)


def test_gilbert_elliott_bursts_last_one_over_r_packets() -> None:
    runs = [len(list(run)) for lost, run in groupby(losses(GilbertElliott(0.01, 0.2))) if lost]
    # Geometric lengths: their standard deviation is sqrt(1 - r) / r.
    bound = 4 * math.sqrt(0.8) / 0.2 / math.sqrt(len(runs))
    assert sum(runs) / len(runs) == pytest.approx(5.0, abs=bound)


def test_gilbert_elliott_begins_in_good() -> None:
    assert not GilbertElliott(1.0, 1.0).lost(Random(1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Bernoulli(1.1),
        lambda: GilbertElliott(-0.1, 0.5),
        lambda: GilbertElliott(0.1, 0.5, k=2),
    ],
)
def test_what_is_no_probability_is_refused(make: Callable[[], LossModel]) -> None:
    with pytest.raises(ValueError, match="allowed: a probability, 0 to 1"):
        make()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: ConstantDelay(-1), "delay_ns"),
        (lambda: NormalDelay(-1, 0), "mean_ns"),
        (lambda: NormalDelay(1, -1), "sd_ns"),
        (lambda: UniformDelay(-1, 5), "low_ns"),
        (lambda: UniformDelay(6, 5), "high_ns"),
    ],
)
def test_a_delay_out_of_range_is_named(make: Callable[[], DelayModel], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        make()
