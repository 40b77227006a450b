"""What policies see on real packets, the reports that reach them, and what a lost leg costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc.fields import IpVersion
from minitopo_dc.results.measures.account import packet_account
from tests.real.testbed import in_order, running_testbed, scenario

pytestmark = pytest.mark.root
SECONDS = 1
RATE = 1500
"""Packets a second of 1,200 bytes: 14.4 Mbit/s, more than one leg of 10 carries."""
LEG: dict[str, Any] = {"rate_mbps": 10, "delay_ms": 5, "jitter_ms": 0}
LONG_S = 2.5
HIGH_RATE = 2000
"""19.2 Mbit/s, more than one leg of 12 carries."""


def both_ways(*radios: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"downlink": radio, "uplink": radio} for radio in radios]


def check_reports(sender: dict[str, Any], receiver: dict[str, Any], bearer: str) -> None:
    sent, received = sender["transmit"][bearer], receiver["receive"][bearer]
    assert SECONDS / 0.02 - 2 <= sent["reports_received"] <= received["reports_sent"]
    assert (sent["reports_malformed"], sent["reports_stale"]) == (0, 0)


def test_least_delay_fills_both_legs_and_reports_come_back(tmp_path: Path) -> None:
    pdcp = {"split": "least-delay", "report_ms": 20}
    with running_testbed(scenario("dc", LEG, pdcp=pdcp), tmp_path) as bed:
        bed.start()
        arrivals = bed.probe(RATE, SECONDS)
        gnb, ue = bed.stop()
    assert len(arrivals.number) == RATE * SECONDS
    assert in_order(arrivals)
    sent = gnb["transmit"]["1"]
    assert min(sent["pdus_1"], sent["pdus_2"]) > RATE * SECONDS / 4
    assert ue["receive"]["1"]["missing"] == 0
    check_reports(gnb, ue, "1")


def test_while_leg_1_is_down_reports_of_both_directions_take_leg_2(tmp_path: Path) -> None:
    legs = both_ways(LEG | {"outages": [[0.3, 1000]]}, LEG)
    pdcp = {"split": "least-delay", "report_ms": 20}
    wanted = scenario("dc", legs=legs, pdcp=pdcp, split_uplink=True, ip_version=6)
    with running_testbed(wanted, tmp_path) as bed:
        bed.start()
        bed.probe(500, SECONDS, version=6)
        gnb, ue = bed.stop()
    for transmitter, receiver, bearer in ((gnb, ue, "1"), (ue, gnb, "2")):
        check_reports(transmitter, receiver, bearer)
        assert receiver["legs"]["2"]["delivered_packets"] > 0.7 / 0.02 / 2


def test_echoes_find_the_near_leg_which_carries_all_both_ways(tmp_path: Path) -> None:
    legs = both_ways(LEG | {"delay_ms": 40}, LEG)
    with running_testbed(scenario("atsss", legs=legs), tmp_path) as bed:
        bed.start()
        bed.probe(500, SECONDS)
        gnb, ue = bed.stop()
    transmitted = gnb["transmit"]["1"]
    assert transmitted["pdus_2"] > 0.9 * 500 * SECONDS
    assert transmitted["pdus_1"] + transmitted["pdus_2"] == 500 * SECONDS
    # Leg 1 carries up the answers to gnb's echoes and ue's own, each every 100 ms.
    assert ue["legs"]["1"]["delivered_packets"] > 1.5 * SECONDS / 0.1


def losing_a_leg(
    directory: Path, version: IpVersion, **pdcp: Any
) -> tuple[pd.DataFrame, dict[str, Any], dict[str, Any]]:
    """Packets over two legs of which the first is down from 0.7 to 1.7 s, and what was counted."""
    usual = {"rate_mbps": 12, "delay_ms": 10, "jitter_ms": 0}
    first, second = both_ways(usual, usual)
    legs = [first | {"outages": [[0.7, 1.7]]}, second]
    wanted = scenario("dc", legs=legs, pdcp={"batch": 20} | pdcp, ip_version=version)
    with running_testbed(wanted, directory) as bed:
        arrivals = bed.probe(HIGH_RATE, LONG_S, version=version, starts=True)
        gnb, ue = bed.stop()
    return arrivals, gnb["transmit"]["1"], ue["receive"]["1"]


def test_late_numbers_and_data_recovery_lose_nothing_that_has_a_number(tmp_path: Path) -> None:
    recovery = {"data_recovery": True, "report_ms": 10}
    arrivals, sent, received = losing_a_leg(tmp_path, 6, numbering="late", **recovery)
    assert sent["resent"] > 0
    assert sent["sdus"] == received["delivered"] == len(arrivals.number)
    assert received["missing"] == 0
    assert in_order(arrivals)
    assert sent["sdus"] + sent["dropped_buffer"] == HIGH_RATE * LONG_S


def test_without_it_what_the_leg_had_is_given_up(tmp_path: Path) -> None:
    _, sent, received = losing_a_leg(tmp_path, 4)
    assert "resent" not in sent
    assert received["missing"] > 100


def test_every_real_packet_is_in_the_account_once(tmp_path: Path) -> None:
    """28.8 Mbit/s over two legs of 10: what they cannot carry finds a full waiting buffer."""
    pdcp = {"split": "least-delay", "numbering": "late", "buffer_packets": 50}
    with running_testbed(scenario("dc", LEG, pdcp=pdcp), tmp_path) as bed:
        bed.start()
        arrivals = bed.probe(2 * RATE, SECONDS)
        bed.stop()
    account = packet_account(tmp_path)
    ends = account.delivered + sum(account.losses.values()) + account.under_way
    assert (account.offered, account.copies, account.duplicates) == (ends, 0, 0)
    assert account.offered == 2 * RATE * SECONDS
    assert account.delivered == len(arrivals.number)
    assert account.losses["buffer"] > RATE * SECONDS / 4
