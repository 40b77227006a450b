"""`--pcap` and the scenario's `pcap`: off unless asked for, and only where packets are real."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from minitopo_dc import cli
from minitopo_dc.cli import compare
from minitopo_dc.cli.options.rows import base_scenario
from minitopo_dc.runs.routers import backhaul_settings, gnb_settings, ue_settings
from minitopo_dc.scenario import Scenario

LEG = {"downlink": {"rate_mbps": 20}}


def compared(*arguments: str) -> Scenario:
    parser = argparse.ArgumentParser()
    compare.add(parser)
    return base_scenario(parser.parse_args(arguments))


def scenario(**more: object) -> Scenario:
    values = {"transport": "tcp", "mode": "dc", "legs": [LEG, LEG], "real": {"backhaul": [LEG]}}
    return Scenario.check(values | more, "test")


def test_captures_are_off_unless_asked_for(tmp_path: Path) -> None:
    assert compared().real.capture == ()
    assert compared("--pcap").real.capture == ("legs",)
    wanted = scenario()
    elements = [gnb_settings(wanted, tmp_path), ue_settings(wanted, tmp_path)]
    assert [each.pcap for each in (*elements, *backhaul_settings(wanted, tmp_path))] == [None] * 4


def test_each_host_is_told_the_direction_that_leaves_it(tmp_path: Path) -> None:
    wanted = scenario(real={"capture": ["legs"], "backhaul": [LEG]})
    elements = [gnb_settings(wanted, tmp_path), ue_settings(wanted, tmp_path)]
    assert {each.host: each.pcap for each in (*elements, *backhaul_settings(wanted, tmp_path))} == {
        "gnb": "downlink",
        "ue": "uplink",
        "edge": "downlink",
        "agg": "uplink",
    }


def test_the_virtual_clock_refuses_captures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.yaml"
    scenario(transport="quic", real={}).save(path)
    arguments = ["run", str(path), "--pcap", "--clock", "virtual"]
    assert cli.main([*arguments, "--output", str(tmp_path / "result")]) == 2
    assert "--pcap: needs --clock real" in capsys.readouterr().err
