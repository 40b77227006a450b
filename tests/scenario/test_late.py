"""Late numbering, and the receiver's reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import IpVersion
from minitopo_dc.fields.ranges import REPORT_MS
from minitopo_dc.pdcp import PolicyError
from minitopo_dc.runs.routers import gnb_settings, ue_settings
from minitopo_dc.scenario import Pdcp, Scenario
from minitopo_dc.scenario.addresses import client_gateway
from minitopo_dc.scenario.element import ElementSettings, ReportPath
from minitopo_dc.topologies.two_path import TwoPath

BASE: dict[str, Any] = {
    "transport": "quic",
    "mode": "dc",
    "legs": [{"downlink": {"rate_mbps": 20}}] * 2,
}


@pytest.mark.parametrize(
    "pdcp",
    [
        {"split": "proportional"},
        {"split": "bandit"},
        {"data_recovery": True},
        {"leg_failure_ms": 100},
        {"duplication": {"loss_percent": 2}},
    ],
)
def test_reports_are_sent_where_something_needs_them(pdcp: dict[str, Any]) -> None:
    assert Scenario.check(BASE | {"pdcp": pdcp}, "test").pdcp.report_ms == REPORT_MS
    own = Scenario.check(BASE | {"pdcp": pdcp | {"report_ms": 7}}, "test")
    assert own.pdcp.report_ms == 7


def test_nothing_is_filled_in_that_nothing_needs() -> None:
    made = Scenario.check(BASE | {"pdcp": {"split": "least-delay", "numbering": "late"}}, "test")
    assert (made.pdcp.report_ms, made.pdcp.flow_control) == (None, None)


def test_what_may_wait_is_what_the_legs_queues_hold_unless_a_bearer_says_otherwise() -> None:
    pdcp = Pdcp(numbering="late")
    with pytest.raises(PolicyError, match="needs 2, 0 are shown"):
        pdcp.transmitter(2)


def test_the_queues_of_a_bearer_s_legs_hold_so_many(tmp_path: Path) -> None:
    def element(*queues: int | None) -> ElementSettings:
        legs = [
            {
                "leg": number,
                "interface": f"leg{number}",
                "radio": {"rate_mbps": 1, "queue_packets": queue},
                "seed": "1",
            }
            for number, queue in enumerate(queues, start=1)
        ]
        bearer = {"bearer": 1, "interface": "core", "legs": list(range(1, len(queues) + 1))}
        fields = {"host": "gnb", "directory": tmp_path, "legs": legs, "transmit": [bearer]}
        return ElementSettings.check(fields, "test")

    whole = element(100, 50)
    assert whole.queue_packets(whole.transmit[0]) == 150
    endless = element(100, None)
    assert endless.queue_packets(endless.transmit[0]) is None


@pytest.mark.parametrize("version", [4, 6])
def test_reports_go_from_ue_to_gnb_on_the_bearer_s_legs_and_both_are_told(
    tmp_path: Path, version: IpVersion
) -> None:
    fields = {"pdcp": {"report_ms": 20}, "ip_version": version}
    wanted = Scenario.check(BASE | fields, "test")
    [received] = ue_settings(wanted, tmp_path).receive
    [sent] = gnb_settings(wanted, tmp_path).transmit
    address = "fd00:10:1:{}::{}" if version == 6 else "10.1.{}.{}"
    ways = [
        {"leg": leg, "source": address.format(leg, 2), "destination": address.format(leg, 1)}
        for leg in (1, 2)
    ]
    expected = ReportPath.check({"legs": ways, "port": 49153}, "test")
    assert received.report == sent.report == expected


def test_a_client_s_way_out_is_the_topology_s() -> None:
    found = [
        link["params1"]["ip"]
        for _, _, link in TwoPath(legs=3).links(withInfo=True)
        if link["intfName1"].startswith("ue-lan")
    ]
    assert sorted(found) == [f"{client_gateway(leg)}/24" for leg in (1, 2, 3)]
