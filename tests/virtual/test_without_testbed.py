"""The virtual clock where Mininet, NetfilterQueue and root are missing, or Linux is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minitopo_dc.cli import main
from minitopo_dc.clocks import default_clock, real_clock_obstacle
from minitopo_dc.runners.quic import stacks_of
from tests.quic.extension import needs_picoquic

BLOCKED = """
import os, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("mininet", "netfilterqueue", "pyroute2"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
os.geteuid = lambda: 1000
from minitopo_dc.cli import main
sys.exit(main(sys.argv[1:]))
"""
SCENARIO = """
transport: quic
mode: dc
legs: [{downlink: {rate_mbps: 20}}, {downlink: {rate_mbps: 20}}]
workload: {size_mb: 0.1}
"""


@needs_picoquic
def test_the_project_s_question_is_answered_without_root_by_default(tmp_path: Path) -> None:
    """Nor are Mininet and NetfilterQueue there."""
    command = ("compare", "--json", "--repetitions", "1", "--size", "0.05", "--output", "out")
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *command],
        cwd=tmp_path,
        env=os.environ | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "not root: using the virtual clock" in done.stderr
    results = json.loads(done.stdout)
    quic = [
        (each["transport"], each["mode"], each["status"])
        for each in results
        if each["transport"] not in ("tcp", "mptcp")  # theirs needs a guest (tests/linux_guest)
    ]
    stacks = stacks_of(None)  # those that are built
    assert sorted(quic) == sorted(
        [
            *((f"quic-{stack}", "sc", "ok") for stack in stacks for _ in (1, 2)),
            *((f"quic-{stack}", "dc", "ok") for stack in stacks for _ in (1, 2)),
            *((f"mpquic-{stack}", "multipath", "ok") for stack in stacks),
        ]
    )
    assert {each["clock"] for each in results} == {"virtual"}


def test_a_scenario_without_a_clock_runs_on_the_virtual_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCENARIO)
    assert main(["run", "s.yaml", "--json", "--output", "out"]) == 0
    done = capsys.readouterr()
    assert json.loads(done.out)["clock"] == "virtual"
    assert "using the virtual clock" in done.err
    assert "clock: virtual" in (tmp_path / "out/scenario.yaml").read_text()


@pytest.mark.parametrize(
    ("platform", "user", "reason"),
    [("darwin", 0, "this is not Linux"), ("linux", 1000, "not root")],
)
def test_the_reason_is_named(
    platform: str, user: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert real_clock_obstacle() == reason
    assert default_clock() == "virtual"
