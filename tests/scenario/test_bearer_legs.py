"""The legs of a bearer, and which packets it duplicates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.pdcp import DuplicationRule
from minitopo_dc.results.judge import blank_result, ok_result
from minitopo_dc.runs.routers import gnb_settings, ue_settings
from minitopo_dc.scenario import DuplicationSettings, Scenario
from minitopo_dc.scenario.element import TransmitBearer
from minitopo_dc.workloads import Measurement

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
SUBSET: dict[str, Any] = {"legs": [3, 1]}


def scenario(*flows: dict[str, Any], **fields: Any) -> Scenario:
    values: dict[str, Any] = {"transport": "quic", "mode": "dc", "legs": [LEG] * 4}
    values |= {"mode": "flows", "flows": list(flows)} if flows else {}
    return Scenario.check(values | fields, "test")


def splits(wanted: Scenario, directory: Path) -> list[tuple[str, str]]:
    """The split policies of each flow's bearers, down and up."""
    down = [each.pdcp.split for each in gnb_settings(wanted, directory).transmit]
    up = [each.pdcp.split for each in ue_settings(wanted, directory).transmit]
    return list(zip(down, up, strict=True))


def test_without_legs_a_bearer_uses_all(tmp_path: Path) -> None:
    [bearer] = gnb_settings(scenario(), tmp_path).transmit
    assert bearer.legs == (1, 2, 3, 4)


def test_each_flow_may_have_a_bearer_of_its_own(tmp_path: Path) -> None:
    wanted = scenario(
        {"mode": "dc", "pdcp": {"split": "least-delay", "legs": [2, 4]}},
        {"mode": "dc", "pdcp": {"batch": 2, "report_ms": 20}},
        {"mode": "sc", "leg": 2, "pdcp": {"t_reordering_ms": 40}},
        {"mode": "dc"},
        pdcp={"batch": 7},
    )
    gnb = gnb_settings(wanted, tmp_path)
    assert [each.legs for each in gnb.transmit] == [(2, 4), (1, 2, 3, 4), (2,), (1, 2, 3, 4)]
    assert [each.pdcp.split for each in gnb.transmit] == ["least-delay", "batch", "batch", "batch"]
    assert [each.pdcp.batch for each in gnb.transmit] == [100, 2, 100, 7]
    assert [each.report is not None for each in gnb.transmit] == [False, True, False, False]
    received = ue_settings(wanted, tmp_path).receive
    assert [each.pdcp.t_reordering_ms for each in received] == [200, 200, 40, 200]


def test_a_result_tells_the_legs_of_a_flow_that_uses_some(tmp_path: Path) -> None:
    wanted = scenario({"mode": "dc", "pdcp": SUBSET}, {"mode": "dc"})
    measured = [Measurement(1_000_000, 4.0)] * 2
    result = ok_result(blank_result(wanted, tmp_path), wanted, measured, [900_000] * 4)
    assert [flow.get("legs") for flow in result.details["flows"]] == [[3, 1], None]


def test_an_uplink_may_have_other_legs_than_the_downlink(tmp_path: Path) -> None:
    wanted = scenario(pdcp=SUBSET, split_uplink=True, uplink_pdcp={"legs": [2, 4]})
    ue = ue_settings(wanted, tmp_path)
    assert (ue.transmit[0].legs, ue.receive[0].legs) == ((2, 4), (3, 1))
    assert ue.transmit[0].interface == "ue-lan3"


@pytest.mark.parametrize(
    ("mode", "uplink", "expected"),
    [
        ("dc", None, ("batch", "batch")),
        ("dc", {"split": "duplicate"}, ("batch", "duplicate")),
        ("dc-duplicate", None, ("duplicate", "duplicate")),
        ("dc-duplicate", {"sn_bits": 12}, ("duplicate", "duplicate")),
        ("dc-duplicate", {"split": "batch"}, ("duplicate", "batch")),
    ],
)
def test_a_mode_duplicates_both_directions_unless_the_uplink_names_a_split(
    mode: str, uplink: dict[str, Any] | None, expected: tuple[str, str], tmp_path: Path
) -> None:
    wanted = scenario(mode=mode, split_uplink=True, uplink_pdcp=uplink)
    wanted.save(tmp_path / "scenario.yaml")
    assert splits(Scenario.load(tmp_path / "scenario.yaml"), tmp_path) == [expected]


def test_a_flow_s_uplink_is_its_own_else_the_scenario_s_else_its_downlink_s(
    tmp_path: Path,
) -> None:
    flows = (
        {"mode": "dc", "pdcp": {"split": "least-delay"}},
        {"mode": "dc", "uplink_pdcp": {"split": "least-delay"}},
    )
    alone = scenario(*flows, split_uplink=True)
    assert splits(alone, tmp_path) == [("least-delay", "least-delay"), ("batch", "least-delay")]
    shared = scenario(*flows, split_uplink=True, uplink_pdcp={"split": "duplicate"})
    assert splits(shared, tmp_path) == [("least-delay", "duplicate"), ("batch", "least-delay")]


def test_an_element_s_bearer_has_its_legs_in_one_place() -> None:
    values = {"bearer": 1, "legs": [1, 3], "interface": "i", "pdcp": {"legs": [1, 3]}}
    with pytest.raises(SettingsError, match="an element's bearer has its legs in legs"):
        TransmitBearer.check(values, "test")


def test_all_conditions_become_one_rule() -> None:
    given = {
        "packets": ["handshake", "ack"],
        "small_bytes": 80,
        "below_bytes": 300,
        "dscp": [46, 0],
        "retransmissions": True,
        "loss_percent": 2,
        "deadline_ms": 12.5,
    }
    assert DuplicationSettings.check(given, "test").rule() == DuplicationRule(
        handshake=True,
        ack=True,
        small_bytes=80,
        below_bytes=300,
        dscp=frozenset({0, 46}),
        retransmissions=True,
        loss_percent=2,
        deadline_ns=12_500_000,
    )


def test_a_loss_of_nothing_at_all_is_a_condition() -> None:
    assert DuplicationSettings.check({"loss_percent": 0}, "test").rule().sees_legs


def test_the_element_is_told_where_there_are_legs_to_choose_from(tmp_path: Path) -> None:
    flows = [{"mode": "dc"}, {"mode": "sc"}]
    several = scenario(*flows, pdcp={"duplication": {"below_bytes": 300}})
    told = [bearer.pdcp.duplication for bearer in gnb_settings(several, tmp_path).transmit]
    assert told == [DuplicationSettings(below_bytes=300), None]


def test_a_policy_s_parameters_are_no_reason_to_refuse_mode_dc_duplicate() -> None:
    pdcp = {"split": "proportional", "report_ms": 20, "parameters": {"floor_percent": 5}}
    [flow] = scenario(pdcp=pdcp, mode="dc-duplicate").resolved_flows
    assert flow.pdcp.split == "duplicate"


def test_a_split_uplink_may_need_reports_too(tmp_path: Path) -> None:
    pdcp = {"report_ms": 20, "duplication": {"loss_percent": 2}, "split": "proportional"}
    [bearer] = ue_settings(scenario(pdcp=pdcp, split_uplink=True), tmp_path).transmit
    assert (bearer.pdcp.split, bearer.pdcp.report_ms) == ("proportional", 20)
