"""Late numbering, and the receiver's reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import IpVersion, SettingsError
from minitopo_dc.fields.ranges import REPORT_MS
from minitopo_dc.pdcp import PolicyError
from minitopo_dc.runs.check import check_real
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
    ("pdcp", "words"),
    [
        ({"numbering": "never"}, "pdcp.numbering: never; allowed: 'early' or 'late'"),
        ({"buffer_packets": 5}, "pdcp: buffer_packets: needs numbering: late"),
        ({"numbering": "late", "buffer_packets": 0}, "pdcp.buffer_packets: .*allowed: 1 to"),
        (
            {"discard_timer_ms": 100},
            "pdcp: discard_timer_ms: needs numbering: late, flow_control or data_rec",
        ),
        (
            {"numbering": "late", "discard_timer_ms": 55},
            "pdcp.discard_timer_ms: discardTimer 55.0 ms: must be one of 10, 20, .*, infinity",
        ),
        (
            {"leg_failure_ms": 10},
            r"pdcp: leg_failure_ms: 10; allowed: report_ms \(20\) or more",
        ),
        ({"leg_failure_ms": 0.1, "report_ms": 20}, "pdcp.leg_failure_ms: .*allowed: 1 to"),
        ({"flow_control": {"interval_ms": 0.1}}, "flow_control.interval_ms: .*allowed: 1 to"),
        ({"flow_control": {"backhaul_ms": -1}}, "flow_control.backhaul_ms.*allowed: 0 to"),
        ({"flow_control": {"backhaul_ms": [1]}}, "flow_control.backhaul_ms: 1 values, must be one"),
        ({"flow_control": {"desired_ms": 0}}, "flow_control.desired_ms: .*allowed: above 0"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(pdcp: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        Scenario.check(BASE | {"pdcp": pdcp}, "test")
    assert len(str(caught.value).splitlines()) <= 2


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


@pytest.mark.parametrize(
    "pdcp",
    [
        {"numbering": "late"},
        {"flow_control": {}},
        {"data_recovery": True, "report_ms": 20},
        {"leg_failure_ms": 100, "report_ms": 20},
    ],
)
def test_legs_of_the_kernel_cannot_be_followed(pdcp: dict[str, Any], tmp_path: Path) -> None:
    bearer = {"bearer": 1, "interface": "core", "legs": [1], "pdcp": pdcp}
    if "report_ms" in pdcp:
        bearer["report"] = {
            "legs": [{"leg": 1, "source": "10.1.1.2", "destination": "10.1.1.1"}],
            "port": 5000,
        }
    radio = {"rate_mbps": 1, "jitter_ms": 0}
    leg = {"leg": 1, "interface": "leg1", "radio": radio, "seed": "1"}
    fields = {"host": "gnb", "directory": tmp_path, "legs": [leg], "transmit": [bearer]}
    with pytest.raises(SettingsError, match=r"pdcp: numbering late, .* use backend: user"):
        ElementSettings.check(fields | {"backend": "kernel"}, "test")


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


STEADY: dict[str, Any] = {"rate_mbps": 20, "jitter_ms": 0}
STILL: dict[str, Any] = {"downlink": STEADY, "uplink": STEADY}
SEEING: dict[str, Any] = {"split": "least-delay"}
REPORTED: dict[str, Any] = {"report_ms": 20}


def scenario(pdcp: dict[str, Any], **fields: Any) -> Scenario:
    values = {"transport": "quic", "mode": "dc", "legs": [STILL, STILL], "pdcp": pdcp}
    return Scenario.check(values | fields, "test")


def path(
    *legs: int, bearer: int, version: IpVersion = 4, ends: tuple[int, int] = (2, 1)
) -> ReportPath:
    """From ue (2) to gnb (1), but for what is given."""
    address = "fd00:10:1:{}::{}" if version == 6 else "10.1.{}.{}"
    source, destination = ends
    ways = [
        {
            "leg": leg,
            "source": address.format(leg, source),
            "destination": address.format(leg, destination),
        }
        for leg in legs
    ]
    return ReportPath.check({"legs": ways, "port": 49152 + bearer}, "test")


@pytest.mark.parametrize("version", [4, 6])
def test_reports_go_from_ue_to_gnb_on_the_bearer_s_legs_and_both_are_told(
    tmp_path: Path, version: IpVersion
) -> None:
    wanted = scenario(REPORTED, ip_version=version)
    [received] = ue_settings(wanted, tmp_path).receive
    [sent] = gnb_settings(wanted, tmp_path).transmit
    assert received.report == sent.report == path(1, 2, bearer=1, version=version)


def test_a_client_s_way_out_is_the_topology_s() -> None:
    found = [
        link["params1"]["ip"]
        for _, _, link in TwoPath(legs=3).links(withInfo=True)
        if link["intfName1"].startswith("ue-lan")
    ]
    assert sorted(found) == [f"{client_gateway(leg)}/24" for leg in (1, 2, 3)]


@pytest.mark.parametrize(
    ("pdcp", "words"),
    [
        (SEEING, "^pdcp.split: least-delay sees its legs, .* do not show; use backend: user$"),
        (REPORTED, "^pdcp.report_ms: backend kernel sends no reports; use backend: user$"),
    ],
)
@pytest.mark.parametrize(
    "fields", [{"mode": "dc"}, {"mode": "flows", "flows": [{"mode": "sc"}, {"mode": "dc"}]}]
)
def test_legs_of_the_kernel_s_are_refused_before_a_run(
    pdcp: dict[str, Any], words: str, fields: dict[str, Any]
) -> None:
    with pytest.raises(SettingsError, match=words):
        check_real(scenario(pdcp, real={"backend": "kernel"}, **fields))


@pytest.mark.parametrize("pdcp", [SEEING, REPORTED])
@pytest.mark.parametrize(
    "fields",
    [{"mode": "sc"}, {"mode": "multipath", "transport": "mptcp"}, {"real": {"backend": "user"}}],
)
def test_they_are_no_reason_to_refuse_a_run_without_bearer_or_without_such_legs(
    pdcp: dict[str, Any], fields: dict[str, Any]
) -> None:
    check_real(scenario(pdcp, **({"real": {"backend": "kernel"}} | fields)))
