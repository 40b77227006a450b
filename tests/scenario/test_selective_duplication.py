"""What a scenario says of selective duplication and of policies that need reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.pdcp import DuplicationRule
from minitopo_dc.runs.check import check_real
from minitopo_dc.runs.routers import gnb_settings, ue_settings
from minitopo_dc.scenario import DuplicationSettings, Scenario

LEG: dict[str, Any] = {
    "downlink": {"rate_mbps": 20, "jitter_ms": 0},
    "uplink": {"rate_mbps": 20, "jitter_ms": 0},
}
SMALL: dict[str, Any] = {"duplication": {"below_bytes": 300}}
LOSSY: dict[str, Any] = {"report_ms": 20, "duplication": {"loss_percent": 2}}


def scenario(pdcp: dict[str, Any], **fields: Any) -> Scenario:
    values = {"transport": "quic", "mode": "dc", "legs": [LEG, LEG], "pdcp": pdcp}
    return Scenario.check(values | fields, "test")


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


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "give at least one of packets, below_bytes, dscp, retransmissions, loss_percent, "),
        ({"packets": ["acks"]}, "packets.0: .*'handshake' or 'ack'"),
        ({"packets": ["handshake"], "small_bytes": 80}, r"small_bytes needs packets: \[ack\]"),
        ({"dscp": [64]}, "dscp.0: .*; allowed: .*63"),
        ({"below_bytes": 0}, "below_bytes: .*allowed: 1 to"),
        ({"loss_percent": 101}, "loss_percent: .*; allowed: .*100"),
        ({"deadline_ms": 0}, "deadline_ms: .*; allowed: above 0"),
        ({"deadline": 1}, "deadline: unknown field"),
    ],
)
def test_a_wrong_condition_is_named_with_what_is_allowed(given: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        DuplicationSettings.check(given, "test")


def test_a_loss_of_nothing_at_all_is_a_condition() -> None:
    assert DuplicationSettings.check({"loss_percent": 0}, "test").rule().sees_legs


@pytest.mark.parametrize(
    ("pdcp", "fields", "words"),
    [
        (SMALL, {"mode": "dc-duplicate"}, "^test: mode dc-duplicate: pdcp.duplication has nothing"),
        (
            SMALL,
            {"mode": "flows", "flows": [{"mode": "dc"}, {"mode": "dc-duplicate"}]},
            "^test: flows.1.mode dc-duplicate: pdcp.duplication has nothing to choose",
        ),
        (
            SMALL | {"split": "duplicate"},
            {},
            "pdcp: duplication: split duplicate puts every packet on all legs already",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_a_run(
    pdcp: dict[str, Any], fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        scenario(pdcp, **fields)


@pytest.mark.parametrize("duplication", [{"loss_percent": 2}, {"deadline_ms": 20}])
def test_legs_of_the_kernel_s_refuse_conditions_that_see_legs(duplication: dict[str, Any]) -> None:
    wanted = scenario({"report_ms": 20, "duplication": duplication}, real={"backend": "kernel"})
    with pytest.raises(SettingsError, match=r"^pdcp.duplication: loss_percent and deadline_ms see"):
        check_real(wanted)


def test_legs_of_the_kernel_s_take_the_other_conditions() -> None:
    check_real(scenario(SMALL, real={"backend": "kernel"}))


def test_the_element_is_told_where_there_are_legs_to_choose_from(tmp_path: Path) -> None:
    flows = [{"mode": "dc"}, {"mode": "sc"}]
    several = scenario(SMALL, mode="flows", flows=flows)
    told = [bearer.pdcp.duplication for bearer in gnb_settings(several, tmp_path).transmit]
    assert told == [DuplicationSettings(below_bytes=300), None]


def test_a_policy_s_parameters_are_no_reason_to_refuse_mode_dc_duplicate() -> None:
    pdcp = {"split": "proportional", "report_ms": 20, "parameters": {"floor_percent": 5}}
    [flow] = scenario(pdcp, mode="dc-duplicate").resolved_flows
    assert flow.pdcp.split == "duplicate"


def test_a_split_uplink_may_need_reports_too(tmp_path: Path) -> None:
    pdcp = LOSSY | {"split": "proportional"}
    [bearer] = ue_settings(scenario(pdcp, split_uplink=True), tmp_path).transmit
    assert (bearer.pdcp.split, bearer.pdcp.report_ms) == ("proportional", 20)
