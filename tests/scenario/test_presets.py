"""The named Dual Connectivities: valid over any legs, with timers of the standard by a rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.pdcp import DISCARD_TIMER_MS, T_REORDERING_MS
from minitopo_dc.scenario import Leg, Scenario
from minitopo_dc.scenario.leg import LegDirection
from minitopo_dc.scenario.presets import NAMES, DualConnectivity, discard_timer_ms, t_reordering_ms

LEGS = [
    Leg(rate_mbps=20, delay_ms=10),
    Leg(rate_mbps=30, delay_ms=40),
    Leg(rate_mbps=1, delay_ms=5),
]


def scenario(*legs: Leg) -> Scenario:
    return Scenario(transport="tcp", mode="sc", legs=legs, clock="virtual")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", [2, 3])
def test_a_named_one_is_valid_known_by_its_fields_and_survives_a_file(
    name: DualConnectivity, number: int
) -> None:
    made = scenario(*LEGS[:number]).with_dc(name, xn_ms=3)
    words = {"papers": "papers'", "deployable": "deployable, Xn 3 ms"}.get(name, name)
    assert (made.mode, made.dc_name) == ("dc", words)
    assert Scenario.check(made.model_dump(mode="json"), "file").dc_name == words
    assert made.evolve(pdcp={"t_reordering_ms": 300}).dc_name == ""
    with pytest.raises(SettingsError, match="'best'; allowed: papers, deployable, ideal"):
        made.with_dc("best")  # type: ignore[arg-type]


def test_what_a_scenario_had_of_pdcp_is_replaced_but_its_legs() -> None:
    base = scenario(*LEGS).evolve(pdcp={"legs": [3, 1], "sn_bits": 12}, split_uplink=True)
    papers = base.with_dc("papers")
    assert (papers.pdcp.legs, papers.pdcp.sn_bits, papers.split_uplink) == ((3, 1), 18, False)
    control = base.with_dc("deployable", xn_ms=7).pdcp.flow_control
    assert control is not None
    assert control.backhaul_ms == (0, 7)
    reorders = scenario(LEGS[0], LEGS[1].evolve(reorder=True)).with_dc("ideal")
    assert not reorders.pdcp.legs_keep_order  # they tell no loss by their order


DELAYS = st.floats(0, 1500)


def timer(delays: list[float], xn_ms: float = 0.0, jitter_ms: float = 0.0) -> float:
    radios = [LegDirection(rate_mbps=50, delay_ms=each, jitter_ms=jitter_ms) for each in delays]
    return t_reordering_ms(radios, xn_ms, 5.0)


@given(first=DELAYS, second=DELAYS, xn_ms=st.floats(0, 100), more=st.floats(0, 500))
def test_t_reordering_is_the_standard_s_and_grows_with_xn_jitter_and_skew(
    first: float, second: float, xn_ms: float, more: float
) -> None:
    found = timer([first, second], xn_ms)
    assert found in T_REORDERING_MS
    assert found >= abs(first - second)
    assert timer([first, second], xn_ms + more) >= found
    assert timer([first, second], xn_ms, jitter_ms=more) >= found
    least, greatest = sorted((first, second))
    order = [least, greatest + more] if first <= second else [greatest + more, least]
    assert timer(order, xn_ms) >= found


def test_t_reordering_waits_for_harq_and_one_retransmission_of_rlc() -> None:
    radios = [LegDirection(rate_mbps=50, jitter_ms=0, rlc={"mode": "am"}) for _ in range(2)]
    assert t_reordering_ms(radios, 0, 5) == 100  # 45 of the status, 4 x 8 of HARQ, 5 held
    unacknowledged = [LegDirection(rate_mbps=50, jitter_ms=0, rlc={"mode": "um"}) for _ in range(2)]
    assert t_reordering_ms(unacknowledged, 0, 5) == 40  # 4 x 8 of HARQ, 5 held


def test_t_reordering_waits_for_the_uplink_s_grant() -> None:
    legs = [Leg(rate_mbps=20, jitter_ms=0, uplink={"grant_ms": ms}) for ms in (0, 30)]
    made = scenario(*legs).with_dc("deployable", xn_ms=5)
    assert (
        made.pdcp.t_reordering_ms.setting == 15
    )  # 5 of Xn, 7 since a status: the grant is the uplink's
    assert made.uplink_pdcp is not None
    assert made.uplink_pdcp.t_reordering_ms.setting == 40  # 30 of the grant, 5 of Xn, 2 held


def test_a_deployable_node_desires_30_ms_beside_what_is_on_xn_and_its_ue_splits_at_once() -> None:
    made = scenario(*LEGS).with_dc("deployable", xn_ms=7)
    assert made.pdcp.flow_control is not None
    assert made.pdcp.flow_control.desired_ms == (30, 44, 44)
    assert made.uplink_pdcp is not None
    assert made.uplink_pdcp.split == "least-delay"


def test_an_ideal_one_has_configured_timers_without_xn() -> None:
    legs = [Leg(rate_mbps=20, delay_ms=ms, jitter_ms=0, uplink={"delay_ms": 10}) for ms in (10, 40)]
    made = scenario(*legs).with_dc("ideal")
    assert made.pdcp.t_reordering_ms.setting == 40  # 30 of skew, 2 held
    assert made.uplink_pdcp is not None
    assert made.uplink_pdcp.t_reordering_ms.setting == 2


@pytest.mark.parametrize(
    ("queue_packets", "timer_ms", "expected"),
    [(100, 30, 150), (100, 200, 200), (10, 30, 30), (5000, 30, "infinity"), (None, 30, "infinity")],
)
def test_discard_timer_outlasts_t_reordering_and_twice_the_queues(
    queue_packets: int | None, timer_ms: float, expected: float | str
) -> None:
    radios = [LegDirection(rate_mbps=20, queue_packets=queue_packets) for _ in range(2)]
    found = discard_timer_ms(radios, timer_ms)
    assert found == expected
    assert found in (*DISCARD_TIMER_MS, "infinity")


def test_a_delay_that_follows_a_trace_without_an_end_has_a_bound(tmp_path: Path) -> None:
    trace = tmp_path / "looping.csv"
    trace.write_text("time_s,rate_mbps\n0,20\n1,5\n2,20\n", encoding="utf-8")
    follows = {"trace": trace, "delay_curve": "power"}
    legs = [Leg(downlink=follows, uplink=follows), Leg(rate_mbps=20)]
    scenario = Scenario(transport="tcp", mode="sc", legs=legs, clock="virtual")
    timer = scenario.with_dc("deployable").pdcp.t_reordering_ms.setting
    assert timer in T_REORDERING_MS


@pytest.mark.parametrize("name", ["papers", "deployable", "ideal"])
def test_other_legs_bring_the_timers_of_a_named_dual_connectivity(
    name: DualConnectivity,
) -> None:
    base = Scenario(transport="quic", mode="dc", legs=[{"rate_mbps": 20}] * 2)
    legs = [{"rate_mbps": 20, "delay_ms": 5}, {"rate_mbps": 2, "delay_ms": 150}, {"rate_mbps": 9}]
    late = base.with_dc(name, xn_ms=7).evolve(legs=legs)
    assert late == base.evolve(legs=legs).with_dc(name, xn_ms=7)


def test_flows_over_one_leg_beside_another_have_no_name_that_other_legs_would_bring() -> None:
    flows = [{"mode": "dc"}, {"mode": "sc", "leg": 1}]
    base = Scenario(transport="quic", mode="flows", flows=flows, legs=[{"rate_mbps": 20}] * 2)
    slower = base.evolve(legs={1: {"rate_mbps": 2}})
    assert [leg.downlink.rate_mbps for leg in slower.legs] == [20, 2]
    assert slower.pdcp == base.pdcp
