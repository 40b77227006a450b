"""Models of delay and loss, and delays that follow the capacity."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby, islice
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.link import (
    Bernoulli,
    ConstantDelay,
    DelayCurve,
    DelayModel,
    GilbertElliott,
    LossModel,
    NormalDelay,
    UniformDelay,
    delay_steps,
    make_capacity,
)
from minitopo_dc.link.propagation import curve_delay_ns
from minitopo_dc.router.drivers import Schedule
from minitopo_dc.router.element import leg_changes
from minitopo_dc.scenario import LegDirection, kernel_rates
from minitopo_dc.scenario.element import ElementLeg
from minitopo_dc.trace import OpportunityTrace, RateTrace

DRAWS = 100_000


def losses(model: LossModel) -> list[bool]:
    rng = Random(1)
    return [model.lost(rng) for _ in range(DRAWS)]


def delays(model: DelayModel) -> list[int]:
    rng = Random(1)
    return [model.sample(rng) for _ in range(DRAWS)]


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
    ("make", "words"),
    [
        (lambda: Bernoulli(1.1), "allowed: 0 to 1"),
        (lambda: GilbertElliott(-0.1, 0.5), "allowed: 0 to 1"),
        (lambda: GilbertElliott(0.1, 0.5, k=2), "allowed: 0 to 1"),
        (lambda: ConstantDelay(-1), "delay_ns"),
        (lambda: NormalDelay(-1, 0), "mean_ns"),
        (lambda: NormalDelay(1, -1), "sd_ns"),
        (lambda: UniformDelay(-1, 5), "low_ns"),
        (lambda: UniformDelay(6, 5), "high_ns"),
    ],
)
def test_what_a_model_does_not_take_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


MS, S = 1_000_000, 1_000_000_000
CURVES: tuple[DelayCurve, ...] = get_args(DelayCurve)


@pytest.mark.parametrize("curve", [curve for curve in CURVES if curve != "constant"])
def test_a_curve_goes_through_the_two_points_of_the_paper(curve: DelayCurve) -> None:
    assert curve_delay_ns(curve, 50_000_000) == 20 * MS
    assert curve_delay_ns(curve, 200_000_000) == 100 * MS


@pytest.mark.parametrize(
    ("curve", "delays_ms"),
    [
        ("power", [1.4, 4.2, 6.1, 13.7, 22.3]),
        ("exponential", [12.3, 13.4, 14.2, 17.2, 21.1]),
        ("linear", [0, 0.3, 2.9, 12.5, 22.7]),
        ("constant", [19] * 5),
    ],
)
def test_a_curve_has_its_values(curve: DelayCurve, delays_ms: list[float]) -> None:
    found = [curve_delay_ns(curve, mbps * 1_000_000) / MS for mbps in (5, 13, 18, 36, 55)]
    assert found == pytest.approx(delays_ms, abs=0.06)


@given(st.sampled_from(CURVES), st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_delay_is_never_negative_and_never_falls_as_the_capacity_rises(
    curve: DelayCurve, one: int, other: int
) -> None:
    low, high = sorted((one, other))
    assert 0 <= curve_delay_ns(curve, low) <= curve_delay_ns(curve, high)


def test_the_delay_stays_while_there_is_no_capacity() -> None:
    trace = RateTrace("t", (0, S, 2 * S), (50_000_000, 0, 200_000_000), 3 * S)
    steps = delay_steps("power", make_capacity(trace))
    assert list(islice(steps, 4)) == [
        (0, 20 * MS),
        (S, 20 * MS),
        (2 * S, 100 * MS),
        (3 * S, 20 * MS),
    ]


def test_opportunities_count_by_the_second() -> None:
    trace = OpportunityTrace("t", (*[1000] * 4167, *[2000] * 16_667))
    found = list(islice(delay_steps("linear", make_capacity(trace)), 3))
    assert [time for time, _ in found] == [0, S, 2 * S]
    assert found[1][1] == pytest.approx(20 * MS, abs=0.01 * MS)


def arrivals(trace: str, sent: list[int], directory: Path, **more: Any) -> list[tuple[int, int]]:
    """Number of each packet, and when (ns) it arrives, in that order."""
    (directory / "t.csv").write_text(trace)
    values = {"trace": directory / "t.csv", "delay_curve": "power", "jitter_ms": 0} | more
    radio = LegDirection.check(values, "test")
    leg = radio.build("1")
    element_leg = ElementLeg(leg=1, interface="l", radio=radio, seed="1")
    schedule = Schedule(leg_changes([element_leg], {1: leg}))
    leg.start(0)
    schedule.start(0)
    found: list[tuple[int, int]] = []
    waiting = list(enumerate(sent))
    while len(found) < len(sent):
        change = schedule.next_timeout()
        moments = (leg.next_timeout(), change, waiting[0][1] if waiting else None)
        now = min(moment for moment in moments if moment is not None)
        if change == now:
            schedule.handle(now)
        found += [(number, now) for number in leg.poll(now)]
        if waiting and waiting[0][1] == now:
            leg.push(waiting.pop(0)[0], 1500, now)
    return found


DOWN = "0,200\n1,50\n2,\n"


def test_a_packet_has_the_delay_of_the_capacity_that_it_was_sent_with(tmp_path: Path) -> None:
    found = arrivals(DOWN, [S // 2, S + S // 2], tmp_path)
    assert found == [(0, S // 2 + 60_000 + 100 * MS), (1, S + S // 2 + 240_000 + 20 * MS)]


@pytest.mark.parametrize("reorder", [False, True])
def test_the_later_packet_overtakes_when_the_delay_falls_if_it_may(
    reorder: bool, tmp_path: Path
) -> None:
    found = arrivals(DOWN, [S - MS, S + MS], tmp_path, reorder=reorder)
    slow, fast = S - MS + 60_000 + 100 * MS, S + MS + 240_000 + 20 * MS
    assert found == ([(1, fast), (0, slow)] if reorder else [(0, slow), (1, slow)])


def test_rlc_follows_the_curve_too(tmp_path: Path) -> None:
    rlc = {"mode": "um", "block_error_percent": 0}
    found = arrivals(DOWN, [S // 2, S + S // 2], tmp_path, rlc=rlc)
    waits = [at - sent for (_, at), sent in zip(found, [S // 2, S + S // 2], strict=True)]
    assert waits[0] - waits[1] == pytest.approx(80 * MS, abs=2 * MS)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"delay_curve": "cubic"}, "delay_curve: cubic; allowed: 'power', 'exponential'"),
        ({"delay_curve": "power", "jitter": "uniform"}, "jitter: uniform needs delay_ms"),
        (
            {"delay_curve": "power", "changes": [{"at_s": 1, "delay_ms": 5}]},
            "changes: a change of delay_ms or jitter_ms needs delay_ms",
        ),
    ],
)
def test_what_does_not_go_with_a_curve_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        LegDirection.check({"rate_mbps": 5} | fields, "test")


def test_the_kernel_s_legs_have_no_curve() -> None:
    radio = LegDirection(rate_mbps=5, delay_curve="power", jitter_ms=0)
    with pytest.raises(SettingsError, match="delay_curve"):
        kernel_rates(radio)
