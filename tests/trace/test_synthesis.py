from __future__ import annotations

import math

import pytest

from minitopo_dc.trace import CellParameters, spectral_efficiency, synthesise, trace_info


def test_the_same_seed_makes_the_same_trace() -> None:
    assert synthesise(7, 20, 10) == synthesise(7, 20, 10)


def test_another_seed_makes_another_trace() -> None:
    assert synthesise(7, 20, 10).rates_bps != synthesise(8, 20, 10).rates_bps


@pytest.mark.parametrize("mean", [0.5, 12, 300])
def test_the_mean_is_what_was_asked_for(mean: float) -> None:
    assert trace_info(synthesise(3, 60, mean)).mean_mbps == pytest.approx(mean, abs=0.0005)


def test_duration_and_step_are_what_was_asked_for() -> None:
    trace = synthesise(3, 2, 10, step_ms=100)
    assert trace.duration_ns == 2_000_000_000
    assert trace.times_ns[:3] == (0, 100_000_000, 200_000_000)


@pytest.mark.parametrize(
    ("sinr_db", "efficiency"),
    [(-10.1, 0.0), (-10.0, 0.6 * math.log2(1.1)), (0.0, 0.6), (30.0, 4.4)],
)
def test_spectral_efficiency_is_attenuated_and_truncated(sinr_db: float, efficiency: float) -> None:
    assert spectral_efficiency(sinr_db) == pytest.approx(efficiency)


def test_spectral_efficiency_ascends() -> None:
    values = [spectral_efficiency(tenth / 10) for tenth in range(-150, 300)]
    assert values == sorted(values)


def test_a_longer_walk_has_the_autocorrelation_of_its_speed() -> None:
    """Without other users and far from both ends of the curve, shadowing alone shapes the rate."""
    alone = CellParameters(sinr_mean_db=10, shadowing_sd_db=1, other_users=0, speed_kmh=36)
    info = trace_info(synthesise(1, 20_000, 10, cell=alone))
    # Means over a second of exp(-t / 5 s): rho = (1 - a)^2 / (2 (b - 1 + a)), b = 1 s / 5 s.
    b = 0.2
    a = math.exp(-b)
    expected = (1 - a) ** 2 / (2 * (b - 1 + a))
    assert info.autocorrelation_1s == pytest.approx(expected, abs=0.02)


def test_without_shadowing_and_users_the_rate_is_constant() -> None:
    still = CellParameters(shadowing_sd_db=0, other_users=0)
    assert set(synthesise(1, 10, 10, cell=still).rates_bps) == {10_000_000}


def test_other_users_take_their_share() -> None:
    """The share has the mean of 1 / (1 + Poisson(2)), (1 - exp(-2)) / 2, of the highest one."""
    busy = CellParameters(shadowing_sd_db=0, other_users=2.0, user_stay_s=2)
    info = trace_info(synthesise(1, 20_000, 10, cell=busy))
    assert info.mean_mbps / info.max_mbps == pytest.approx((1 - math.exp(-2)) / 2, rel=0.03)


def test_deep_fades_are_zeros() -> None:
    deep = CellParameters(sinr_mean_db=0, shadowing_sd_db=8)
    # P(N(0, 8) < -10) = 0.106
    assert trace_info(synthesise(1, 20_000, 10, cell=deep)).zero_share == pytest.approx(
        0.106, abs=0.02
    )


def test_the_defaults_lie_amid_the_measured_traces() -> None:
    """The ranges of docs/traces.md, the eight sets without tunnels."""
    info = trace_info(synthesise(1, 3600, 12))
    assert 0.37 <= info.variation <= 1.11
    assert info.autocorrelation_1s is not None
    assert 0.78 <= info.autocorrelation_1s <= 0.97
    assert info.zero_share <= 0.037


@pytest.mark.parametrize("arguments", [(0.05, 10.0, 200), (10.0, 0.0, 200), (10.0, 10.0, 0)])
def test_a_trace_without_steps_or_mean_is_refused(arguments: tuple[float, float, int]) -> None:
    duration, mean, step = arguments
    with pytest.raises(ValueError, match="at least"):
        synthesise(1, duration, mean, step_ms=step)


def test_a_cell_without_coverage_is_refused() -> None:
    with pytest.raises(ValueError, match="-10 dB"):
        synthesise(1, 10, 10, cell=CellParameters(sinr_mean_db=-60))


@pytest.mark.parametrize("name", ["correlation_m", "user_stay_s", "speed_kmh", "other_users"])
def test_a_cell_parameter_out_of_range_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        CellParameters(**{name: -1.0})
