"""The commands of the page on one's own program do what they are there for."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from minitopo_dc.real.machine import probe_kernel
from tests.docs.pages import DOCS, blocks, run_script, save_files, user_home

pytestmark = [pytest.mark.root, pytest.mark.long]
PAGE = DOCS / "your-own.md"
SCRIPTS = [block.code for block in blocks(PAGE) if block.language == "sh" and block.mark is None]
MPTCP, IPERF3 = "mptcpize", "iperf3"
SIZE = 2_000_000
"""Of the page's download."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the user is; with the commands that the page calls by their names."""
    made = tmp_path_factory.mktemp("home")
    user_home(made)
    save_files(PAGE, made)
    return made


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.split("--")[-1].strip()[:20])
def test_a_command_of_the_page_ends_well(script: str, home: Path) -> None:
    """In the page's order: later ones use what earlier ones left."""
    if MPTCP in script and (reason := probe_kernel()["MPTCP"]):
        pytest.skip(f"this kernel has no MPTCP: {reason}")
    if any(word in script for word in (IPERF3, ".yaml", ".py ")) and shutil.which(IPERF3) is None:
        pytest.skip("iperf3 is not installed")
    done = run_script(script, home, 60, no_proxy="*")
    if "exec" in script:
        assert "minitopo-dc: leg 2: downlink " in done.stderr
    if "run scenario.yaml" in script:
        check_scenario(home / "results" / "scenario")
    if "campaign" in script:
        check_campaign(home / "results" / "campaign")
    if "results/mine " in script:
        check_download(home / "results" / "mine")
    if MPTCP in script:
        assert done.stderr.count(" MB (") == len(("downlink 1", "downlink 2")), done.stderr


def check_scenario(kept: Path) -> None:
    found = json.loads((kept / "result.json").read_text())
    assert found["status"] == "ok", found["reason"]
    assert 0 < found["details"]["received_mbps"] < 40
    assert found["details"]["retransmissions"] >= 0
    assert min(found["leg_bytes"]) > 0


def check_campaign(kept: Path) -> None:
    """The page's campaign has a row per run, with both measures."""
    with (kept / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == ["ok", "ok"], rows
    assert min(float(row["rtt_ms_mean"]) for row in rows) > 20
    assert min(float(row["received_mbps"]) for row in rows) > 1
    assert (kept / "report" / "report.html").exists()


def check_download(kept: Path) -> None:
    """Both legs carried it; what the page says is kept is there."""
    found = json.loads((kept / "exec.json").read_text())
    down, up = ([leg[way]["bytes"] for leg in found["legs"]] for way in ("downlink", "uplink"))
    assert sum(down) > SIZE and min(down) > SIZE / 4
    assert up[0] > 0 == up[1]
    assert found["pdcp"]["downlink"]["delivered"] > SIZE / 1460
    assert {
        *("scenario.yaml", "environment.json", "exec.json", "legs.png", "server.out", "server.err"),
        *("gnb-legs.csv", "ue-legs.csv", "gnb-transmit.csv", "ue-receive.csv"),
        *("gnb-summary.json", "ue-summary.json"),
    } <= {path.name for path in kept.iterdir()}
