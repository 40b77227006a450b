"""Exit statuses, and the length of help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minitopo_dc import cli
from minitopo_dc.results.run_result import exit_status
from tests.campaign.cases import HEAD

FOUR = """
def cases(version):
    fields = {"transport": "icmp", "mode": "sc"}
    for count in (1, 2, 3, 4):
        workload = {"kind": "ping", "count": count}
        yield dc.Scenario(**base | fields | {"workload": workload}), {"count": count}
"""
REASON = "transport icmp needs the real clock"


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["ok"], 0),
        (["ok", "unsupported"], 0),
        (["unsupported", "unsupported"], 3),
        (["unsupported", "failed"], 1),
        (["ok", "disturbed"], 1),
        ([], 0),
    ],
)
def test_the_status_is_that_of_all_runs(statuses: list[str], expected: int) -> None:
    assert exit_status(statuses) == expected


def test_a_run_that_nothing_here_can_do_ends_with_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.yaml"
    legs = "legs: [{downlink: {rate_mbps: 9}}, {downlink: {rate_mbps: 9}}]"
    text = f"transport: icmp\nworkload: ping\nclock: virtual\nmode: sc\n{legs}\n"
    file.write_text(text, encoding="utf-8")
    assert cli.main(["run", str(file), "--output", str(tmp_path / "out")]) == 3
    assert REASON in capsys.readouterr().out


def test_a_campaign_says_once_why_its_runs_are_unsupported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output = tmp_path / "mine.py", tmp_path / "out"
    path.write_text(HEAD + FOUR, encoding="utf-8")
    command = ["campaign", "run", str(path), "--jobs", "1", "--output", str(output)]
    assert cli.main([*command, "--dry-run"]) == 0
    assert not output.exists()
    for again in (command, ["campaign", "status", str(output)]):
        capsys.readouterr()
        assert cli.main(again) == 3
        printed = capsys.readouterr().out
        assert printed.count(REASON) == 1
        assert f"unsupported: {REASON}" in printed
        assert "(4 runs; the first: runs/" in printed
    assert cli.main(["campaign", "status", str(output), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["unsupported"] == 4


@pytest.mark.parametrize("command", ["compare", "run"])
def test_the_help_fits_on_a_screen_and_a_half(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 75
    assert max(map(len, lines)) <= 100
