"""The receiver's reports: what a scenario says of them, and what the elements are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import IpVersion, SettingsError
from minitopo_dc.runs.check import check_real
from minitopo_dc.runs.routers import gnb_settings, ue_settings
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_gateway
from minitopo_dc.scenario.element import ReportPath
from minitopo_dc.topologies.two_path import TwoPath

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
