"""Outages of both directions of a leg: fields, the option, and what the elements are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from minitopo_dc.runs.routers import backhaul_settings, gnb_settings, ue_settings
from minitopo_dc.scenario import Scenario

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}


def scenario(**leg: Any) -> Scenario:
    values = {"transport": "tcp", "mode": "dc", "legs": [LEG, LEG | leg]}
    return Scenario.check(values, "test")


def down(rate_mbps: float, *outages: list[float]) -> dict[str, Any]:
    return {"rate_mbps": rate_mbps, "outages": list(outages)}


def test_both_directions_have_the_outages_of_their_leg_and_their_own(tmp_path: Path) -> None:
    wanted = scenario(outages=[[3, 4], [8, 9]], downlink=down(20, [1, 2], [5, 6]))
    gnb, ue = gnb_settings(wanted, tmp_path), ue_settings(wanted, tmp_path)
    assert gnb.leg(2).radio.outages == ((1, 2), (3, 4), (5, 6), (8, 9))
    assert ue.leg(2).radio.outages == ((3, 4), (8, 9))
    assert gnb.leg(1).radio.outages == ue.leg(1).radio.outages == ()


def test_backhaul_links_have_them_too(tmp_path: Path) -> None:
    values = {"transport": "tcp", "mode": "sc", "legs": [LEG]}
    link = LEG | {"outages": [[1, 2]]}
    wanted = Scenario.check(values | {"real": {"backhaul": [link]}}, "test")
    ends = backhaul_settings(wanted, tmp_path)
    assert [end.leg(1).radio.outages for end in ends] == [((1, 2),), ((1, 2),)]


def test_the_two_directions_own_outages_may_overlap() -> None:
    wanted = scenario(downlink=down(20, [1, 3]), uplink=down(20, [2, 4]))
    assert wanted.legs[1].down_periods() == ((1, 3), (2, 4))
