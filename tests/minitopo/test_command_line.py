"""A topology file without an experiment: Mininet's command line on running legs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minitopo_dc import cli
from tests import long
from tests.minitopo.files import DUAL, TWO_PATHS

PINGS = "client ping -c 1 -W 2 server\nclient ping -c 1 -W 2 -I 10.2.2.2 server\n"


def run(directory: Path, topology: str, commands: str, *more: str) -> list[str]:
    """What the commands say (Mininet: on standard error), after a run that has to end well."""
    (directory / "topo").write_text(topology, encoding="utf-8")
    (directory / "xp").write_text("xpType:none\nrmem:4096 87380 300000\n", encoding="utf-8")
    words = [sys.executable, "-m", "minitopo_dc.cli", "run", "-t", str(directory / "topo"), *more]
    words += ["--output", str(directory / "out")]
    done = subprocess.run(words, input=commands, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    return [line for line in lines if not line.startswith("minitopo-dc: ")]


def round_trips(lines: list[str]) -> list[float]:
    return [float(line.split("time=")[1].split()[0]) for line in lines if "time=" in line]


@pytest.mark.alone
@pytest.mark.root
@pytest.mark.parametrize("topology", [long(TWO_PATHS), DUAL.replace("c2r_1:10", "c2r_1:40")])
def test_commands_run_on_legs_that_are_there(topology: str, tmp_path: Path) -> None:
    before = set(Path("/sys/class/net").iterdir())
    lines = run(tmp_path, topology, f"{PINGS}exit\nclient ping -c 1 server\n")
    assert round_trips(lines) == pytest.approx([21, 81], abs=2)
    assert set(Path("/sys/class/net").iterdir()) <= before
    summary = json.loads((tmp_path / "out" / "gnb-summary.json").read_text(encoding="utf-8"))
    assert summary["legs"]["1"]["delivered_packets"] == 1


@pytest.mark.root
def test_no_experiment_by_its_name_has_its_kernel_settings_beside_mininet_s(tmp_path: Path) -> None:
    commands = "server sysctl -n net.ipv4.tcp_rmem\nserver sysctl -n net.ipv4.tcp_wmem\n"
    lines = run(tmp_path, DUAL, commands, "-x", str(tmp_path / "xp"))
    assert [" ".join(line.split()) for line in lines] == [
        "4096 87380 300000",
        "10240 87380 16777216",
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--clock", "virtual"], "opens Mininet's command line, which needs --clock real"),
        (["-x", "no-such-file"], "no-such-file: No such file"),
    ],
)
def test_what_a_command_line_cannot_have_is_refused(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "topo").write_text(DUAL, encoding="utf-8")
    assert cli.main(["run", "-t", str(tmp_path / "topo"), *options]) == 2
    assert words in capsys.readouterr().err
