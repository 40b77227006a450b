"""A leg goes down in mid-transfer, on real packets: late numbering and data recovery."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import IpVersion
from minitopo_dc.real.run.probe import Arrivals, send_through
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address
from tests.real.testbed import running_testbed, start_with_traffic

pytestmark = pytest.mark.root
SECONDS = 2.5
RATE = 2000
"""Packets a second of 1,200 bytes: 19.2 Mbit/s, more than one leg of 12 carries."""
LEG: dict[str, Any] = {
    "downlink": {"rate_mbps": 12, "delay_ms": 10, "jitter_ms": 0},
    "uplink": {"rate_mbps": 12, "delay_ms": 10},
}
RECOVERY = {"data_recovery": True, "report_ms": 10}


def run(directory: Path, version: IpVersion, **pdcp: Any) -> tuple[Arrivals, Any, Any]:
    """Packets over two legs of which the first is down from 0.7 to 1.7 s, and what was counted."""
    fields = {
        "transport": "tcp",
        "mode": "dc",
        "ip_version": version,
        "legs": [LEG | {"outages": [[0.7, 1.7]]}, LEG],
        "pdcp": {"batch": 20} | pdcp,
    }
    wanted = Scenario.check(fields, "test")
    with running_testbed(wanted, directory) as bed, ThreadPoolExecutor() as pool:
        started = pool.submit(start_with_traffic, bed)
        arrivals = send_through(
            bed.hosts.server,
            bed.hosts.client,
            client_address(1, version),
            rate=RATE,
            seconds=SECONDS,
            size=1200,
            scratch=directory / "arrivals",
        )
        started.result()
        return arrivals, bed.gnb.stop()["transmit"]["1"], bed.ue.stop()["receive"]["1"]


def test_late_numbers_and_data_recovery_lose_nothing_that_has_a_number(tmp_path: Path) -> None:
    arrivals, sent, received = run(tmp_path, 6, numbering="late", **RECOVERY)
    assert sent["resent"] > 0
    assert sent["sdus"] == received["delivered"] == len(arrivals.number)
    assert received["missing"] == 0
    assert arrivals.in_order
    assert sent["sdus"] + sent["dropped_buffer"] == RATE * SECONDS


def test_without_it_what_the_leg_had_is_given_up(tmp_path: Path) -> None:
    _, sent, received = run(tmp_path, 4)
    assert "resent" not in sent
    assert received["missing"] > 100
