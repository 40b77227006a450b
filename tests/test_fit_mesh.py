"""The clients of the mesh campaign are those that the fit makes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchmarks.fit_mesh import (
    PAYLOAD,
    SIZE_BYTES,
    clients,
    tcp_bps,
    throughput_mbps,
)
from minitopo_dc.link import WifiParameters

CAMPAIGN = Path(__file__).parents[1] / "campaigns" / "mesh.yaml"


def test_the_campaigns_clients_are_the_fitted_ones() -> None:
    parameters = yaml.safe_load(CAMPAIGN.read_text(encoding="utf-8"))["parameters"]
    assert parameters == {client.name.lower(): client.leg() for client in clients()}


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
