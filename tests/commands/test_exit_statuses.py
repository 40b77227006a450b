"""What a command ends with when nothing ran, and how it says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minitopo_dc import cli
from minitopo_dc.runs.results import exit_status
from tests.campaign.campaigns import document, write

REASON = "transport mpquic needs the real clock"
ONLY_MPQUIC = {"default": {"transport": "mpquic", "mode": "multipath"}}
FOUR = {"one": {"title": "One", "grid": {"pdcp.batch": [2, 10]}}}


@pytest.mark.parametrize(
    ("statuses", "wanted"),
    [
        (["ok"], 0),
        (["ok", "unsupported"], 0),
        (["unsupported", "unsupported"], 3),
        (["unsupported", "failed"], 1),
        (["ok", "disturbed"], 1),
        ([], 0),
    ],
)
def test_the_status_is_that_of_all_runs(statuses: list[str], wanted: int) -> None:
    assert exit_status(statuses) == wanted


def test_a_run_that_nothing_here_can_do_ends_with_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.yaml"
    legs = "legs: [{downlink: {rate_mbps: 9}}, {downlink: {rate_mbps: 9}}]"
    text = f"transport: mpquic\nclock: virtual\nmode: multipath\n{legs}\n"
    file.write_text(text, encoding="utf-8")
    assert cli.main(["run", str(file), "--output", str(tmp_path / "out")]) == 3
    assert f"[1] mpquic multipath: {REASON}" in capsys.readouterr().out


def test_a_comparison_that_nothing_here_can_do_ends_with_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "--clock", "virtual", "--transports", "mpquic", "--jobs", "1"]
    assert cli.main([*words, "--output", str(tmp_path / "out")]) == 3
    assert REASON in " ".join(capsys.readouterr().out.split())


def test_a_campaign_says_once_why_its_runs_are_unsupported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, document(experiments=FOUR, configurations=ONLY_MPQUIC))
    output = tmp_path / "out"
    command = ["campaign", "run", str(path), "--output", str(output)]
    assert cli.main([*command, "--dry-run"]) == 0
    dry = capsys.readouterr().out.splitlines()
    assert dry[1].startswith(f"unsupported here: 4 of the runs: {REASON}")
    for again in (command, ["campaign", "status", str(output)]):
        assert cli.main(again) == 3
        told = [line for line in capsys.readouterr().out.splitlines() if REASON in line]
        assert len(told) == 1
        assert told[0].startswith(f"unsupported: 4 runs: {REASON}")
        assert told[0].endswith(")")
    assert cli.main(["campaign", "status", str(output), "--json"]) == 3
    (count,) = json.loads(capsys.readouterr().out)["unsupported_reasons"].values()
    assert count == 4
