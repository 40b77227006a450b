"""What policies see on real packets, and the reports that reach them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import IpVersion
from minitopo_dc.real.run.probe import Arrivals, send_through
from minitopo_dc.scenario.addresses import client_address
from tests.real.testbed import Bed, running_testbed, scenario

pytestmark = pytest.mark.root
SECONDS = 1
RATE = 1500
"""Packets a second of 1,200 bytes: 14.4 Mbit/s, more than one leg of 10 carries."""
LEG: dict[str, Any] = {"rate_mbps": 10, "delay_ms": 5, "jitter_ms": 0}


def probe(bed: Bed, directory: Path, version: IpVersion, rate: int = RATE) -> Arrivals:
    for element in (bed.gnb, bed.ue):
        element.order("start")
    return send_through(
        bed.hosts.server,
        bed.hosts.client,
        client_address(1, version),
        rate=rate,
        seconds=SECONDS,
        size=1200,
        scratch=directory / "arrivals",
    )


def test_least_delay_fills_both_legs_and_reports_come_back(tmp_path: Path) -> None:
    pdcp = {"split": "least-delay", "report_ms": 20}
    with running_testbed(scenario("dc", LEG, pdcp=pdcp), tmp_path) as bed:
        arrivals = probe(bed, tmp_path, 4)
        sent = bed.gnb.stop()["transmit"]["1"]
        received = bed.ue.stop()["receive"]["1"]
    assert len(arrivals.number) == RATE * SECONDS
    assert arrivals.in_order
    assert min(sent["pdus_1"], sent["pdus_2"]) > RATE * SECONDS / 4
    assert received["missing"] == 0
    assert SECONDS / 0.02 - 2 <= sent["reports_received"] <= received["reports_sent"]
    assert (sent["reports_malformed"], sent["reports_stale"]) == (0, 0)


def test_while_leg_1_is_down_reports_of_both_directions_take_leg_2(tmp_path: Path) -> None:
    down = LEG | {"outages": [[0.3, 1000]]}
    legs = [{"downlink": radio, "uplink": radio} for radio in (down, LEG)]
    pdcp = {"split": "least-delay", "report_ms": 20}
    wanted = scenario("dc", legs=legs, pdcp=pdcp, split_uplink=True, ip_version=6)
    with running_testbed(wanted, tmp_path) as bed:
        probe(bed, tmp_path, 6, rate=500)  # 4.8 Mbit/s
        gnb, ue = bed.gnb.stop(), bed.ue.stop()
    for transmitter, receiver, bearer in ((gnb, ue, "1"), (ue, gnb, "2")):
        sent, received = transmitter["transmit"][bearer], receiver["receive"][bearer]
        assert SECONDS / 0.02 - 2 <= sent["reports_received"] <= received["reports_sent"]
        assert (sent["reports_malformed"], sent["reports_stale"]) == (0, 0)
        assert receiver["legs"]["2"]["delivered_packets"] > 0.7 / 0.02 / 2


def test_echoes_find_the_near_leg_which_carries_all_both_ways(tmp_path: Path) -> None:
    legs = [{way: LEG | {"delay_ms": ms} for way in ("downlink", "uplink")} for ms in (40, 5)]
    with running_testbed(scenario("atsss", legs=legs), tmp_path) as bed:
        probe(bed, tmp_path, 4, rate=500)
        sent, echoes = bed.gnb.stop(), bed.ue.stop()["legs"]["1"]["delivered_packets"]
    transmitted = sent["transmit"]["1"]
    assert transmitted["pdus_2"] > 0.9 * 500 * SECONDS
    assert transmitted["pdus_1"] + transmitted["pdus_2"] == 500 * SECONDS
    # Leg 1 carries up the answers to gnb's echoes and ue's own, each every 100 ms.
    assert echoes > 1.5 * SECONDS / 0.1
