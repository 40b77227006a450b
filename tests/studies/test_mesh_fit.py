"""The clients of the mesh campaign and of its scenario files are those that the fit makes."""

from __future__ import annotations

import pytest

from minitopo_dc.link import WifiParameters
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Leg, Scenario
from tests import REPOSITORY
from tests.studies.digests import module, program

EXAMPLES = REPOSITORY / "examples" / "mesh"
fit, mesh = module("mesh", "fit"), module("mesh", "clients")
PAYLOAD, SIZE_BYTES = fit.PAYLOAD, fit.SIZE_BYTES


def test_the_campaigns_clients_are_the_fitted_ones() -> None:
    fitted = {client.name: Leg.check(client.leg(), client.name) for client in fit.clients()}
    assert fitted == mesh.CLIENTS
    assert {client.name: client.hops for client in fit.clients()} == mesh.HOPS


def test_the_leg_of_the_aggregation_with_tcp_is_that_of_rp6_without_jitter() -> None:
    cases = program("mesh").cases("sample")
    made = next(case for case, labels in cases if labels["experiment"] == "tcp-aggregation")
    still = {way: {"jitter_ms": 0} for way in ("downlink", "uplink")}
    assert made.legs[0] == mesh.CLIENTS["RP6"].evolve(**still, wifi={"aggregation": "none"})


def test_the_campaign_s_spread_is_that_of_tcp_over_rp3() -> None:
    [client] = [client for client in fit.clients() if client.name == "RP3"]
    assert client.tcp_sd_mbps == pytest.approx(2.9 * 200**0.5 / 1.97)
    rates = fit.spread_rates_mbps(client)
    assert list(mesh.SPREAD_MBPS) == rates == sorted(rates)
    assert rates[4] < 104 < rates[5]  # its own rate has TCP's mean


def test_a_window_that_grows_over_a_wire_is_slow_start() -> None:
    assert fit.growing_mbps(lambda _: 50.0, 40) == pytest.approx(
        fit.throughput_mbps(50, 40), rel=0.02
    )


def test_a_window_that_carries_less_while_it_is_small_costs_throughput() -> None:
    def hops(window: float) -> float:
        return 50.0 if window > 500 else 20.0

    assert fit.growing_mbps(hops, 40) < 0.92 * fit.growing_mbps(lambda _: 50.0, 40)


def test_the_scenario_files_are_what_the_fit_writes() -> None:
    written = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.yaml")}
    assert written == {client.name.lower(): client.scenario() for client in fit.clients()}


def test_a_scenario_file_is_a_case_of_the_campaign() -> None:
    cases = {
        labels["client"]: case
        for case, labels in program("mesh").cases("full")
        if labels["experiment"] == "clients" and labels["way"] == "modern" and case.seed == 1
    }
    for client in fit.clients():
        written = Scenario.load(EXAMPLES / f"{client.name.lower()}.yaml")
        assert written.on_clock("virtual") == cases[client.name]


def test_a_scenario_file_can_be_run_and_has_the_hops_of_its_client() -> None:
    for client in fit.clients():
        wanted = Scenario.load(EXAMPLES / f"{client.name.lower()}.yaml")
        check_scenario(wanted)
        wifi = wanted.legs[0].wifi
        assert client.hops == (0 if wifi is None else len(wifi.every_hop()))


def test_packets_are_carried_over_hops_as_the_fit_says() -> None:
    [client] = [client for client in fit.clients() if client.name == "RP5"]
    carried = fit.carried_mbps(client.path, seconds=1)
    assert carried == pytest.approx(client.capacity_mbps, rel=0.04)


def test_a_fitted_leg_gives_tcp_what_was_measured() -> None:
    found = fit.clients()
    assert [client.hops for client in found] == [0, 1, 2, 5, 3, 1, 5]
    for client in found:
        assert client.fitted_mbps == pytest.approx(client.tcp_mbps, rel=1e-3)


def test_without_a_round_trip_throughput_is_the_capacity() -> None:
    assert fit.throughput_mbps(50, 1e-6) == pytest.approx(50, rel=1e-4)


def test_slow_start_costs_the_round_trips_that_it_takes() -> None:
    # 10, 20, ..., 160 segments in five round trips of 100 ms, then the rest at 20 Mbit/s.
    rest = SIZE_BYTES - 310 * PAYLOAD
    seconds = 0.55 + rest * 8 / 20e6
    assert fit.throughput_mbps(20, 100) == pytest.approx(SIZE_BYTES * 8 / seconds / 1e6)


def test_errors_and_others_leave_tcp_less() -> None:
    best = fit.tcp_bps(WifiParameters())
    assert 55e6 < best < 60e6  # wifi.md: 61.8 Mbit/s of IP packets one way, less acknowledgements
    assert fit.tcp_bps(WifiParameters(mpdu_error=0.1)) == pytest.approx(0.9 * best)
    assert fit.tcp_bps(WifiParameters(load=0.2)) < 0.9 * best
