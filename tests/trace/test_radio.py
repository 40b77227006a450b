"""Radio channels, measured and made."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.trace import (
    CellLog,
    CellParameters,
    Interferers,
    RadioSettings,
    capacity_mbps,
    channels_of,
    levels,
    sinr,
    spectral_efficiency,
    synthesise,
    trace_info,
)
from tests.trace.heard_cells import LOGS, POWERS, heard

CAP_MBPS = 10 * 5.5547
RATIOS = st.floats(0, 1e7)


def mw(dbm: float) -> float:
    return 10 ** (dbm / 10)


@pytest.mark.parametrize(
    ("serving", "interferers", "sinr_db", "mbps"),
    [
        (-80, [], 45.24, 55.55),
        (-110, [], 15.24, 38.79),
        (-120, [], 5.24, 13.14),
        (-125, [], 0.24, 5.64),
        (-95, [-95], 9.96, 23.98),
        (-95, [-98], 12.92, 32.06),
        (-95, [-95, -95], 6.97, 16.74),
        (-110, [-110], 8.86, 21.20),
    ],
)
def test_the_formulas_give_the_numbers_worked_out_by_hand(
    serving: float, interferers: list[float], sinr_db: float, mbps: float
) -> None:
    ratio = sinr(mw(serving), sum(map(mw, interferers)))
    assert 10 * math.log10(ratio) == pytest.approx(sinr_db, abs=0.006)
    assert capacity_mbps(ratio) == pytest.approx(mbps, abs=0.006)


PAIRS = st.tuples(RATIOS, RATIOS).map(sorted)


@given(PAIRS, POWERS, POWERS, st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted))
def test_capacity_grows_with_the_sinr_to_its_cap_and_load_lowers_that(
    ratios: list[float], serving: float, interferer: float, loads: list[float]
) -> None:
    worse, better = map(capacity_mbps, ratios)
    assert 0 <= worse <= better <= CAP_MBPS
    low, high = loads
    assert sinr(mw(serving), mw(interferer), high) <= sinr(mw(serving), mw(interferer), low)


def test_the_strongest_cell_of_a_carrier_is_its_channel() -> None:
    log = CellLog("d", (heard(("A/800/1", -90), ("A/800/2", -80), ("A/1800/1", -100)),))
    capacities = channels_of(log)
    assert capacities.cells == (("A/1800/1",), ("A/800/2",))
    assert capacities.operators == ("A", "A")


@pytest.mark.parametrize(("interferers", "mbps"), [("all", 16.74), ("carrier", 23.98)])
def test_other_carriers_interfere_or_not(interferers: Interferers, mbps: float) -> None:
    log = CellLog("d", (heard(("A/800/1", -95), ("A/800/2", -95), ("B/800/1", -95)),))
    capacities = channels_of(log, RadioSettings(interferers=interferers))
    assert capacities.mbps[0][0] == pytest.approx(mbps, abs=0.006)


def test_a_carrier_that_is_not_heard_is_absent_and_comes_back() -> None:
    seconds = (heard(("A/800/1", -95)), heard(("B/800/1", -95)), (), heard(("A/800/2", -95)))
    capacities = channels_of(CellLog("d", seconds))
    assert capacities.cells[0] == ("A/800/1", "", "", "A/800/2")
    assert [rate > 0 for rate in capacities.mbps[1]] == [False, True, False, False]


def test_a_channel_below_the_floor_is_absent() -> None:
    log = CellLog("d", (heard(("A/800/1", -95), ("A/1800/1", -125)),))
    above, below = (channels_of(log, RadioSettings(floor_mbps=floor)) for floor in (0, 1))
    assert above.mbps[0][0] == pytest.approx(0.07, abs=0.01)
    assert below.mbps[0] == (0,)
    assert below.cells[0] == ("",)


def test_the_weakest_channel_is_told_from_an_absent_one() -> None:
    log = CellLog("d", (heard(("A/800/1", -50), ("A/1800/1", -140)),))
    assert channels_of(log).mbps[0] == (0.001,)


def test_a_scale_multiplies_each_capacity() -> None:
    log = CellLog("d", (heard(("A/800/1", -95), ("B/800/1", -98)),))
    full, half = (channels_of(log, RadioSettings(scale=scale)) for scale in (1, 0.5))
    for whole, part in zip(full.mbps, half.mbps, strict=True):
        assert part[0] == pytest.approx(whole[0] / 2, abs=0.001)


@given(LOGS)
def test_channels_and_their_levels_in_any_drive(log: CellLog) -> None:
    everyone, own = (channels_of(log, RadioSettings(interferers=i)) for i in ("all", "carrier"))
    for capacities in (everyone, own):
        assert len(capacities.mbps) == len(log.carriers())
        for step, second in enumerate(log.seconds):
            present = {(cell.operator, cell.carrier) for cell in second}
            assert sum(rate > 0 for rate in capacities.at(step)) == len(present)
            assert max(capacities.at(step)) <= round(CAP_MBPS, 3)
    for row, more in zip(everyone.mbps, own.mbps, strict=True):
        assert all(a <= b for a, b in zip(row, more, strict=True))
    rates = levels(everyone)
    for step in range(len(log.seconds)):
        operators = [row[step] for level, row in rates.items() if level.endswith(" SP")]
        assert rates["Multipath"][step] >= rates["Best Single Path"][step] == max(operators)


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        *((RadioSettings, *row) for row in (("load", -0.1), ("load", 1.1), ("scale", 0))),
        (RadioSettings, "floor_mbps", -1),
        *((CellParameters, name, -1) for name in ("correlation_m", "user_stay_s")),
        *((CellParameters, name, -1) for name in ("speed_kmh", "other_users")),
    ],
)
def test_a_setting_out_of_range_is_named(kind: Any, field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        kind(**{field: value})


def test_the_same_seed_makes_the_same_trace_of_the_given_mean_duration_and_step() -> None:
    trace = synthesise(7, 2, 10, step_ms=100)
    assert trace == synthesise(7, 2, 10, step_ms=100)
    assert trace.duration_ns == 2_000_000_000
    assert trace.times_ns[:3] == (0, 100_000_000, 200_000_000)
    for mean in (0.5, 12, 300):
        made = trace_info(synthesise(3, 60, mean))
        assert made.mean_mbps == pytest.approx(mean, abs=0.0005)


@pytest.mark.parametrize(
    ("sinr_db", "efficiency"),
    [(-10.1, 0.0), (-10.0, 0.6 * math.log2(1.1)), (0.0, 0.6), (30.0, 4.4)],
)
def test_spectral_efficiency_is_attenuated_and_truncated(sinr_db: float, efficiency: float) -> None:
    assert spectral_efficiency(sinr_db) == pytest.approx(efficiency)


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
