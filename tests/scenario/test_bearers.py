"""What the router hosts are told: the legs of a bearer, its splits, reports and duplication."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import IpVersion, SettingsError
from minitopo_dc.fields.ranges import REPORT_MS
from minitopo_dc.pdcp import DuplicationRule, PolicyError, Timer
from minitopo_dc.results.judge import blank_result, ok_result
from minitopo_dc.runs.element_settings import router_settings
from minitopo_dc.scenario import DuplicationSettings, Pdcp, Scenario
from minitopo_dc.scenario.addresses import client_gateway
from minitopo_dc.scenario.element import ReportPath, TransmitBearer
from minitopo_dc.scenario.pdcp import FlowControlSettings
from minitopo_dc.scenario.resolve import resolve_scenario
from minitopo_dc.topologies.two_path import TwoPath
from minitopo_dc.units import QueueLimit
from minitopo_dc.workloads import Measurement

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
SUBSET: dict[str, Any] = {"legs": [3, 1]}


def scenario(*flows: dict[str, Any], **fields: Any) -> Scenario:
    values: dict[str, Any] = {"transport": "quic", "mode": "dc", "legs": [LEG] * 4}
    values |= {"mode": "flows", "flows": list(flows)} if flows else {}
    return Scenario.check(values | fields, "test")


def splits(wanted: Scenario, directory: Path) -> list[tuple[str, str]]:
    """The split policies of each flow's bearers, down and up."""
    down, up = (
        [bearer.pdcp.split for bearer in host.transmit]
        for host in router_settings(wanted, directory)
    )
    return list(zip(down, up, strict=True))


def test_each_flow_may_have_a_bearer_of_its_own(tmp_path: Path) -> None:
    wanted = scenario(
        {"mode": "dc", "pdcp": {"split": "least-delay", "legs": [2, 4]}},
        {"mode": "dc", "pdcp": {"batch": 2, "report_ms": 20}},
        {"mode": "sc", "leg": 2, "pdcp": {"t_reordering_ms": 40}},
        {"mode": "dc"},
        pdcp={"batch": 7},
    )
    gnb = router_settings(wanted, tmp_path)[0]
    assert [bearer.legs for bearer in gnb.transmit] == [(2, 4), (1, 2, 3, 4), (2,), (1, 2, 3, 4)]
    policies = [(bearer.pdcp.split, bearer.pdcp.batch) for bearer in gnb.transmit]
    assert policies == [("least-delay", 100), ("batch", 2), ("batch", 100), ("batch", 7)]
    assert [bearer.report is not None for bearer in gnb.transmit] == [False, True, False, False]
    received = router_settings(wanted, tmp_path)[1].receive
    assert [bearer.pdcp.t_reordering_ms.setting for bearer in received] == [200, 200, 40, 200]


def test_a_result_tells_the_legs_of_a_flow_that_uses_some(tmp_path: Path) -> None:
    wanted = scenario({"mode": "dc", "pdcp": SUBSET}, {"mode": "dc"})
    measured = [Measurement(1_000_000, 4.0)] * 2
    result = ok_result(blank_result(wanted, tmp_path), wanted, measured, [900_000] * 4)
    assert [flow.get("legs") for flow in result.details["flows"]] == [[3, 1], None]


def test_an_uplink_may_have_other_legs_than_the_downlink(tmp_path: Path) -> None:
    wanted = scenario(pdcp=SUBSET, split_uplink=True, uplink_pdcp={"legs": [2, 4]})
    ue = router_settings(wanted, tmp_path)[1]
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


def test_a_flow_s_uplink_is_its_own_else_the_scenario_s_else_its_downlink_s(tmp_path: Path) -> None:
    flows = (
        {"mode": "dc", "pdcp": {"split": "least-delay"}},
        {"mode": "dc", "uplink_pdcp": {"split": "least-delay"}},
    )
    alone = scenario(*flows, split_uplink=True)
    assert splits(alone, tmp_path) == [("least-delay", "least-delay"), ("batch", "least-delay")]
    shared = scenario(*flows, split_uplink=True, uplink_pdcp={"split": "duplicate"})
    assert splits(shared, tmp_path) == [("least-delay", "duplicate"), ("batch", "least-delay")]
    parameters = {"split": "proportional", "parameters": {"floor_percent": 5}}
    assert splits(scenario(mode="dc-duplicate", pdcp=parameters, split_uplink=True), tmp_path) == [
        ("duplicate", "duplicate")
    ]


def test_an_element_s_bearer_has_its_legs_in_one_place() -> None:
    values = {"bearer": 1, "legs": [1, 3], "interface": "i", "pdcp": {"legs": [1, 3]}}
    with pytest.raises(SettingsError, match=r"pdcp\.legs"):
        TransmitBearer.check(values, "test")


def test_all_conditions_of_duplication_become_one_rule() -> None:
    given: dict[str, Any] = {"packets": ["handshake", "ack"], "small_bytes": 80, "dscp": [46, 0]}
    given |= {"below_bytes": 300, "retransmissions": True, "loss_percent": 2, "deadline_ms": 12.5}
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
    assert DuplicationSettings.check({"loss_percent": 0}, "test").rule().sees_legs


def test_the_element_is_told_where_there_are_legs_to_choose_from(tmp_path: Path) -> None:
    flows = [{"mode": "dc"}, {"mode": "sc"}]
    several = scenario(*flows, pdcp={"duplication": {"below_bytes": 300}})
    rules = [bearer.pdcp.duplication for bearer in router_settings(several, tmp_path)[0].transmit]
    assert rules == [DuplicationSettings(below_bytes=300), None]


@pytest.mark.parametrize(
    ("pdcp", "report_ms"),
    [
        ({"split": "proportional"}, REPORT_MS),
        ({"split": "bandit"}, REPORT_MS),
        ({"data_recovery": True}, REPORT_MS),
        ({"leg_failure_ms": 100}, REPORT_MS),
        ({"duplication": {"loss_percent": 2}}, REPORT_MS),
        ({"split": "proportional", "report_ms": 7}, 7),
        ({"split": "least-delay", "numbering": "late"}, None),
    ],
)
def test_reports_are_sent_where_something_needs_them(
    pdcp: dict[str, Any], report_ms: float | None, tmp_path: Path
) -> None:
    made = scenario(pdcp=pdcp, split_uplink=True)
    assert (made.pdcp.report_ms, made.pdcp.flow_control) == (report_ms, None)
    [bearer] = router_settings(made, tmp_path)[1].transmit
    assert (bearer.pdcp.report_ms, bearer.report is not None) == (report_ms, report_ms is not None)


@pytest.mark.parametrize("version", [4, 6])
def test_reports_go_from_ue_to_gnb_on_the_bearer_s_legs_and_both_are_told(
    tmp_path: Path, version: IpVersion
) -> None:
    wanted = scenario(pdcp={"report_ms": 20, "legs": [1, 2]}, ip_version=version)
    [received] = router_settings(wanted, tmp_path)[1].receive
    [sent] = router_settings(wanted, tmp_path)[0].transmit
    address = "fd00:10:1:{}::{}" if version == 6 else "10.1.{}.{}"
    ways = [
        {"leg": leg, "source": address.format(leg, 2), "destination": address.format(leg, 1)}
        for leg in (1, 2)
    ]
    expected = ReportPath.check({"legs": ways, "port": 49153}, "test")
    assert received.report == sent.report == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({}, {"queue_packets": 50}, (150, None)),
        ({"queue_packets": 10}, {"queue_packets": None}, (None, None)),
        ({"queue_bytes": 9000}, {"queue_bytes": 6000}, (None, 15_000)),
        ({"queue_ms": 20}, {"queue_ms": 40}, (None, 20_000 + 40_000)),  # of 8 Mbit/s
        ({"queue_ms": 20}, {"queue_packets": 20}, (None, 20_000 + 20 * 1500)),
        ({"queue_ms": 20}, {"queue_packets": None}, (None, None)),
        (
            {"queue_bytes": 9000, "queue_packets": 10},
            {"queue_bytes": 90_000, "queue_packets": 10},
            (20, 9000 + 10 * 1500),
        ),
    ],
)
def test_what_may_wait_for_a_number_is_what_the_legs_queues_hold(
    first: dict[str, Any],
    second: dict[str, Any],
    expected: tuple[int | None, int | None],
    tmp_path: Path,
) -> None:
    legs = [{"rate_mbps": 8, **queue} for queue in (first, second)]
    gnb = router_settings(scenario(legs=legs), tmp_path)[0]
    assert gnb.buffer_limit(gnb.transmit[0]) == QueueLimit(*expected)


def test_a_buffer_that_is_given_takes_the_place_of_the_queues(tmp_path: Path) -> None:
    legs = [{"rate_mbps": 8, "queue_ms": 20}] * 2
    pdcp = {"numbering": "late", "buffer_packets": 7}
    gnb = router_settings(scenario(legs=legs, pdcp=pdcp), tmp_path)[0]
    assert gnb.buffer_limit(gnb.transmit[0]) == QueueLimit(7)


def test_late_numbering_sees_its_legs() -> None:
    with pytest.raises(PolicyError, match="2, 0"):
        Pdcp(numbering="late").transmitter(2)


def test_a_client_s_way_out_is_the_topology_s() -> None:
    addresses = [
        link["params1"]["ip"]
        for _, _, link in TwoPath(legs=3).links(withInfo=True)
        if link["intfName1"].startswith("ue-lan")
    ]
    assert sorted(addresses) == [f"{client_gateway(leg)}/24" for leg in (1, 2, 3)]


def down(*outages: list[float]) -> dict[str, Any]:
    return {"rate_mbps": 20, "outages": list(outages)}


def test_both_directions_have_the_outages_of_their_leg_and_their_own(tmp_path: Path) -> None:
    leg = LEG | {"outages": [[3, 4], [8, 9]], "downlink": down([1, 2], [5, 6])}
    wanted = scenario(legs=[LEG, leg], real={"backhaul": [LEG | {"outages": [[1, 2]]}]})
    gnb, ue, *ends = router_settings(wanted, tmp_path)
    assert gnb.leg(2).radio.outages == ((1, 2), (3, 4), (5, 6), (8, 9))
    assert ue.leg(2).radio.outages == ((3, 4), (8, 9))
    assert gnb.leg(1).radio.outages == ue.leg(1).radio.outages == ()
    assert [end.leg(1).radio.outages for end in ends] == [((1, 2),), ((1, 2),)]
    overlapping = scenario(legs=[LEG, {"downlink": down([1, 3]), "uplink": down([2, 4])}])
    assert overlapping.legs[1].down_periods() == ((1, 3), (2, 4))


@pytest.mark.parametrize(
    ("desired_ms", "expected_ms"), [(40, (40, 40)), ((30, 40), (30, 40)), (None, (7, 17))]
)
def test_each_node_may_desire_a_time_of_its_own(desired_ms: Any, expected_ms: Any) -> None:
    fields = {"backhaul_ms": (0, 5), "desired_ms": desired_ms}
    nodes = FlowControlSettings.check(fields, "flow control").of_legs(2)
    assert tuple(node.desired_ns / 1e6 for node in nodes) == expected_ms


@pytest.mark.parametrize(
    ("setting", "timer", "printed"),
    [
        ("40 ms", Timer(40_000_000), 40.0),
        (200, Timer(200_000_000), 200.0),
        ("infinity", Timer(), "infinity"),
        ("adaptive", Timer(is_adaptive=True), "adaptive"),
    ],
)
def test_a_timer_of_a_file_is_a_timer_and_is_printed_as_its_setting(
    setting: float | str, timer: Timer, printed: float | str
) -> None:
    made = Pdcp.check({"t_reordering_ms": setting}, "test")
    assert made.t_reordering_ms == timer
    assert made.model_dump()["t_reordering_ms"] == printed


XN: dict[str, Any] = {"split_uplink": True, "uplink_pdcp": {"xn_ms": 8}, "primary_leg": 2}


def test_xn_of_an_uplink_delays_what_goes_by_its_other_legs() -> None:
    changes = [{"at_s": 1, "delay_ms": 40}, {"at_s": 2, "loss_percent": 1}]
    leg = {"downlink": {"rate_mbps": 20, "delay_ms": 10}, "uplink": {"changes": changes}}
    given = scenario(legs=[leg] * 3, **XN)
    ran = resolve_scenario(given)
    assert [made.uplink.delay_ms for made in ran.legs] == [18, 10, 18]
    assert [[it.delay_ms for it in made.uplink.changes] for made in ran.legs] == [
        *([48, None], [40, None], [48, None])
    ]
    assert [made.downlink for made in ran.legs] == [made.downlink for made in given.legs]
    assert resolve_scenario(ran) is ran


def test_a_leg_stays_the_nearest_one_whatever_xn_adds() -> None:
    fields: Any = XN | {"uplink_pdcp": {"xn_ms": 8, "legs": [2, 1]}, "primary_leg": "nearest"}
    legs = [{"downlink": {"rate_mbps": 20, "delay_ms": delay}} for delay in (10, 11)]
    assert resolve_scenario(scenario(legs=legs, **fields)).leg_numbers == (1, 2)


def test_what_has_no_bearer_has_no_xn() -> None:
    given = scenario(mode="sc", **XN)
    assert resolve_scenario(given) is given


def test_xn_of_an_uplink_that_cannot_be_is_refused() -> None:
    curved = LEG | {"uplink": {"delay_curve": "power"}}
    with pytest.raises(SettingsError, match=r"uplink_pdcp.xn_ms: legs.0.uplink: allowed: delay_ms"):
        resolve_scenario(scenario(legs=[curved] * 2, **XN))
    flow = {"mode": "dc", "uplink_pdcp": {"xn_ms": 3}}
    with pytest.raises(SettingsError, match=r"flows.0.uplink_pdcp.xn_ms"):
        scenario(flow, split_uplink=True)
