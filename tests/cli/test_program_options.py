"""The path of `exec` and `shell`: what options and files make, and what is refused."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
import yaml

from minitopo_dc.cli import entry
from minitopo_dc.cli.exec import program_scenario
from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario import Scenario

FILE = {
    "transport": "quic",
    "mode": "dc-duplicate",
    "legs": [{"downlink": {"rate_mbps": 7}}] * 3,
    "workload": {"kind": "request-response"},
    "options": {"receive_buffer_bytes": 300_000},
}


def parsed(*arguments: str) -> argparse.Namespace:
    return entry.parser().parse_args(["exec", *arguments])


def scenario(*arguments: str) -> Scenario:
    return program_scenario(parsed(*arguments))


def written(directory: Path, **changes: Any) -> str:
    path = directory / "mine.yaml"
    path.write_text(yaml.safe_dump(FILE | changes))
    return str(path)


def test_what_follows_two_hyphens_is_the_program_s_own() -> None:
    arguments = parsed("--legs", "20", "20", "--", "curl", "--legs", "--", "x")
    assert arguments.legs == ["20", "20"]
    assert arguments.words == ["curl", "--legs", "--", "x"]


def test_without_options_it_is_dual_connectivity_over_the_embedded_traces() -> None:
    made = scenario()
    assert (made.mode, len(made.legs), made.clock) == ("dc", 2, "real")
    assert made.legs[0].downlink.trace is not None


def test_a_file_gives_its_path_and_no_transport_or_workload(tmp_path: Path) -> None:
    made = scenario(
        "--scenario", written(tmp_path), "--set", "ip_version=6", "--set", "legs.2.outages=[[1, 2]]"
    )
    assert (made.mode, len(made.legs), made.ip_version) == ("dc-duplicate", 3, 6)
    assert made.legs[2].outages == ((1, 2),)
    assert (made.transport, made.workload.kind, made.options) == ("tcp", "download", {})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mode": "flows", "flows": [{"mode": "dc"}]}, "mode flows; allowed for one program: sc"),
        (
            {"transport": "mptcp", "mode": "multipath", "options": {}, "paths": {"initial": [1]}},
            "paths: a program opens its paths itself",
        ),
        ({"clock": "virtual"}, "clock: virtual; exec has that with --clock virtual"),
    ],
)
def test_a_file_that_no_program_can_use_is_refused(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=words):
        scenario("--scenario", written(tmp_path, **changes))


TWO_PATHS = "path_c2r_0:10,20,4\npath_c2r_1:40,30,8\n"


def topology(directory: Path, kind: str, paths: str = TWO_PATHS) -> str:
    path = directory / "topo"
    path.write_text(f"topoType:{kind}\n{paths}")
    return str(path)


@pytest.mark.parametrize(
    ("kind", "paths", "mode"),
    [
        ("MultiIf", TWO_PATHS, "multipath"),
        ("MultiIf", "path_c2r_0:10,20,4\n", "sc"),
        ("DualConnectivity\nsplit:batch\nbatch:7", TWO_PATHS, "dc"),
        ("DualConnectivity\nsplit:duplicate", TWO_PATHS, "dc-duplicate"),
    ],
)
def test_a_minitopo_topology_gives_its_path(
    kind: str, paths: str, mode: str, tmp_path: Path
) -> None:
    more = ("--set", "legs.0.outages=[[1, 2]]", "--set", "ip_version=6")
    made = scenario("-t", topology(tmp_path, kind, paths), *more)
    assert (made.mode, made.ip_version) == (mode, 6)
    assert made.legs[0].downlink.rate_mbps == 4
    assert made.legs[0].outages == ((1, 2),)
    assert made.pdcp.batch == (7 if mode == "dc" else 100)


def test_a_minitopo_topology_s_backhaul_is_there(tmp_path: Path) -> None:
    made = scenario("-t", topology(tmp_path, "MultiIf", TWO_PATHS + "path_r2s_0:5,20,10\n"))
    assert [link.downlink.delay_ms for link in made.real.backhaul] == [5]


def test_what_a_topology_says_in_vain_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario("-t", topology(tmp_path, "MultiIf", TWO_PATHS.replace("8\n", "8,0,1\n")))
    assert "topo:3: path_c2r_1: backup ignored" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--scenario {yaml} --legs 20", "--scenario: the file has legs, mode"),
        ("--scenario {yaml} --mode sc", "--scenario: the file has legs, mode"),
        ("--scenario {yaml} --seed 2", "--scenario: the file has legs, mode"),
        ("-t {topo} --legs 20 20", "-t: the file has legs, mode, seed and PDCP"),
        ("-t {topo} --scenario {yaml}", "--scenario, -t: both describe the path"),
        ("--legs 20 20 --pcap", "--pcap: needs --output"),
        ("--legs 20", "mode dc needs at least two legs"),
    ],
)
def test_the_path_is_described_once_and_as_a_whole(
    arguments: str, words: str, tmp_path: Path
) -> None:
    files = {"yaml": written(tmp_path), "topo": topology(tmp_path, "MultiIf")}
    with pytest.raises(SettingsError, match=words):
        scenario(*arguments.format(**files).split())
    assert scenario("--legs", "20", "--mode", "sc").leg == 1
