"""The clients of the mesh campaign and of its scenario files are those that the fit makes."""

from __future__ import annotations

import pytest
import yaml

from benchmarks.fit_mesh import (
    PAYLOAD,
    SIZE_BYTES,
    carried_mbps,
    clients,
    growing_mbps,
    spread_rates_mbps,
    tcp_bps,
    throughput_mbps,
)
from minitopo_dc.link import WifiParameters
from minitopo_dc.run.check import check_scenario
from minitopo_dc.scenario import Scenario
from tests import REPOSITORY

CAMPAIGN = REPOSITORY / "campaigns" / "mesh.yaml"
EXAMPLES = REPOSITORY / "examples" / "mesh"


def test_the_campaigns_clients_are_the_fitted_ones() -> None:
    parameters = yaml.safe_load(CAMPAIGN.read_text(encoding="utf-8"))["parameters"]
    assert parameters == {client.name.lower(): client.leg() for client in clients()}


def test_the_leg_of_the_aggregation_with_tcp_is_that_of_rp6() -> None:
    """It is named by single fields, as a part of it differs by configuration."""
    campaign = yaml.safe_load(CAMPAIGN.read_text(encoding="utf-8"))
    base = campaign["experiments"]["tcp-aggregation"]["base"]
    [leg] = [client.leg() for client in clients() if client.name == "RP6"]
    for part in ("wifi", "downlink", "uplink"):
        named = {
            name.rpartition(".")[2]: value for name, value in base.items() if f".{part}." in name
        }
        assert named == {name: value for name, value in leg[part].items() if name in named}
        assert set(leg[part]) - set(named) <= {"queue_packets"}


def test_the_campaign_s_spread_is_that_of_tcp_over_rp3() -> None:
    campaign = yaml.safe_load(CAMPAIGN.read_text(encoding="utf-8"))
    [joint] = campaign["experiments"]["spread"]["joint"]
    [client] = [client for client in clients() if client.name == "RP3"]
    assert client.tcp_sd_mbps == pytest.approx(2.9 * 200**0.5 / 1.97)
    rates = spread_rates_mbps(client)
    assert joint["legs.0.wifi.rate_mbps"] == rates == sorted(rates)
    assert rates[4] < 104 < rates[5]  # its own rate has TCP's mean


def test_a_window_that_grows_over_a_wire_is_slow_start() -> None:
    assert growing_mbps(lambda _: 50.0, 40) == pytest.approx(throughput_mbps(50, 40), rel=0.02)


def test_a_window_that_carries_less_while_it_is_small_costs_throughput() -> None:
    def hops(window: float) -> float:
        return 50.0 if window > 500 else 20.0

    assert growing_mbps(hops, 40) < 0.92 * growing_mbps(lambda _: 50.0, 40)


def test_the_scenario_files_are_what_the_fit_writes() -> None:
    written = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.yaml")}
    assert written == {client.name.lower(): client.scenario() for client in clients()}


def test_a_scenario_file_is_a_cell_of_the_campaign() -> None:
    base = yaml.safe_load(CAMPAIGN.read_text(encoding="utf-8"))["base"]
    for client in clients():
        values = yaml.safe_load(client.scenario())
        options = {"preset": "modern"} | {
            name.removeprefix("options."): value
            for name, value in base.items()
            if name.startswith("options.")
        }
        assert values == {
            **{name: value for name, value in base.items() if "." not in name},
            "workload": {"size_mb": base["workload.size_mb"]},
            "options": options,
            "legs": [client.leg()],
        }


def test_a_scenario_file_can_be_run_and_has_the_hops_of_its_client() -> None:
    for client in clients():
        wanted = Scenario.load(EXAMPLES / f"{client.name.lower()}.yaml")
        check_scenario(wanted)
        wifi = wanted.legs[0].wifi
        assert client.hops == (0 if wifi is None else len(wifi.every_hop()))


def test_packets_are_carried_over_hops_as_the_fit_says() -> None:
    [client] = [client for client in clients() if client.name == "RP5"]
    carried = carried_mbps(client.path, seconds=1)
    assert carried == pytest.approx(client.capacity_mbps, rel=0.04)


def test_a_fitted_leg_gives_tcp_what_was_measured() -> None:
    found = clients()
    assert [client.hops for client in found] == [0, 1, 2, 5, 3, 1, 5]
    for client in found:
        assert client.fitted_mbps == pytest.approx(client.tcp_mbps, rel=1e-3)


def test_without_a_round_trip_throughput_is_the_capacity() -> None:
    assert throughput_mbps(50, 1e-6) == pytest.approx(50, rel=1e-4)


def test_slow_start_costs_the_round_trips_that_it_takes() -> None:
    # 10, 20, ..., 160 segments in five round trips of 100 ms, then the rest at 20 Mbit/s.
    rest = SIZE_BYTES - 310 * PAYLOAD
    seconds = 0.55 + rest * 8 / 20e6
    assert throughput_mbps(20, 100) == pytest.approx(SIZE_BYTES * 8 / seconds / 1e6)


def test_errors_and_others_leave_tcp_less() -> None:
    best = tcp_bps(WifiParameters())
    assert 55e6 < best < 60e6  # wifi.md: 61.8 Mbit/s of IP packets one way, less acknowledgements
    assert tcp_bps(WifiParameters(mpdu_error=0.1)) == pytest.approx(0.9 * best)
    assert tcp_bps(WifiParameters(load=0.2)) < 0.9 * best
