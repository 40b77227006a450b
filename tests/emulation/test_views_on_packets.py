"""What policies see on real packets, and the reports that reach them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.emulation.probe import Arrivals, send_through
from minitopo_dc.run.addresses import client_address
from minitopo_dc.settings import IpVersion
from tests.emulation.testbed import Bed, running_testbed, scenario

pytestmark = pytest.mark.root
SECONDS = 2
RATE = 1500
"""Packets a second of 1,200 bytes: 14.4 Mbit/s, more than one leg of 10 carries."""
LEG: dict[str, Any] = {"rate_mbps": 10, "delay_ms": 5, "jitter_ms": 0}


def probe(bed: Bed, directory: Path, version: IpVersion) -> Arrivals:
    for element in (bed.gnb, bed.ue):
        element.order("start")
    return send_through(
        bed.hosts.server,
        bed.hosts.client,
        client_address(1, version),
        rate=RATE,
        seconds=SECONDS,
        size=1200,
        scratch=directory / "arrivals",
    )


@pytest.mark.parametrize("version", [4, 6])
def test_least_delay_fills_both_legs_and_reports_come_back(
    tmp_path: Path, version: IpVersion
) -> None:
    pdcp = {"split": "least-delay", "report_ms": 20}
    with running_testbed(scenario("dc", LEG, pdcp=pdcp, ip_version=version), tmp_path) as bed:
        arrivals = probe(bed, tmp_path, version)
        sent = bed.gnb.stop()["transmit"]["1"]
        received = bed.ue.stop()["receive"]["1"]
    assert len(arrivals.number) == RATE * SECONDS
    assert arrivals.in_order
    assert min(sent["pdus_1"], sent["pdus_2"]) > RATE * SECONDS / 4
    assert received["missing"] == 0
    assert SECONDS / 0.02 - 2 <= sent["reports_received"] <= received["reports_sent"]
    assert (sent["reports_malformed"], sent["reports_stale"]) == (0, 0)
