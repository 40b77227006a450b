"""Outages of both directions of a leg: fields, the option, and what the elements are told."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import cli
from minitopo_dc.cli import compare
from minitopo_dc.cli.options.rows import base_scenario
from minitopo_dc.fields import SettingsError
from minitopo_dc.runs.check import check_real
from minitopo_dc.runs.routers import backhaul_settings, gnb_settings, ue_settings
from minitopo_dc.scenario import Scenario

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}


def scenario(**leg: Any) -> Scenario:
    values = {"transport": "tcp", "mode": "dc", "legs": [LEG, LEG | leg]}
    return Scenario.check(values, "test")


def compared(*arguments: str) -> Scenario:
    parser = argparse.ArgumentParser()
    compare.add(parser)
    return base_scenario(parser.parse_args(arguments))


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


@pytest.mark.parametrize(
    ("leg", "words"),
    [
        ({"outages": [[2, 1]]}, r"legs.1: outages: \[2, 1\] ends before it begins"),
        ({"outages": [[5, 6], [1, 2]]}, r"legs.1: outages: \[1, 2\] must begin after \[5, 6\]"),
        (
            {"outages": [[3, 4]], "downlink": down(20, [1, 3.5])},
            r"legs.1: outages and downlink.outages: \[3, 4\] must begin after \[1, 3.5\] has ended",
        ),
        (
            {"outages": [[3, 4]], "uplink": down(20, [4, 5])},
            r"legs.1: outages and uplink.outages: \[4, 5\] must begin after \[3, 4\] has ended",
        ),
    ],
)
def test_outages_that_overlap_are_named_with_their_leg(leg: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        scenario(**leg)


def test_the_two_directions_own_outages_may_overlap() -> None:
    wanted = scenario(downlink=down(20, [1, 3]), uplink=down(20, [2, 4]))
    assert wanted.legs[1].down_periods() == ((1, 3), (2, 4))


def test_legs_of_the_kernel_s_have_none() -> None:
    steady = {"rate_mbps": 20, "jitter_ms": 0}
    still = {"downlink": steady, "uplink": steady}
    values = {"transport": "tcp", "mode": "sc", "real": {"backend": "kernel"}}
    wanted = Scenario.check(values | {"legs": [still | {"outages": [[1, 2]]}]}, "test")
    with pytest.raises(SettingsError, match=r"^legs.0.downlink: backend kernel has no outages"):
        check_real(wanted)


def test_outages_are_set_with_other_fields_of_the_bearer() -> None:
    words = ("legs.2.outages=[[0.5, 1], [4, 8.5]]", "pdcp.legs=[1, 3]", "pdcp.ratio=[9, 1]")
    more = ("split_uplink=true", "uplink_pdcp.split=duplicate")
    given = [part for word in (*words, *more) for part in ("--set", word)]
    made = compared("--legs", "20", "20", "20", *given)
    assert [leg.outages for leg in made.legs] == [(), (), ((0.5, 1), (4, 8.5))]
    assert (made.pdcp.legs, made.pdcp.ratio, made.pdcp.split) == ((1, 3), (9, 1), "batch")
    assert made.resolved_flows[0].uplink_pdcp.split == "duplicate"
    with pytest.raises(SettingsError, match="uplink_pdcp: needs split_uplink: true"):
        compared("--legs", "20", "20", "--set", "uplink_pdcp.split=duplicate")


@pytest.mark.parametrize("command", ["compare", "run"])
def test_a_wrong_outage_is_one_clear_error(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    scenario().save(tmp_path / "scenario.yaml")
    given = [str(tmp_path / "scenario.yaml")] if command == "run" else ["--legs", "20", "20"]
    word = "legs.0.outages=[[2, 2]]"
    assert cli.main([command, *given, "--clock", "virtual", "--set", word]) == 2
    assert "outages: [2, 2] ends before it begins" in capsys.readouterr().err
