"""That `run` and `compare` draw the paths of what has a schedule, and of nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc import cli
from minitopo_dc.commands import compare
from minitopo_dc.commands import run as run_command
from minitopo_dc.runs.judge import blank_result
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads.path_reports import PathFile, PathSample

PATHS = ["--paths", "1", "2:open:2"]


def made_up(scenario: Scenario, directory: Path) -> RunResult:
    """A run that went well at once, with a path on leg 1."""
    directory.mkdir(parents=True, exist_ok=True)
    scenario.save(directory / "scenario.yaml")
    (directory / "client-rate.csv").write_text("time_s,received_bytes\n0,0\n4,10000000\n")
    if scenario.mode == "multipath":
        with PathFile(directory / "paths.csv") as file:
            file.write(1, [PathSample(s, 1, 0, "open", bytes_acked=10**6 * s) for s in range(4)])
    numbers = {"goodput_mbps": 20.0, "completion_s": 4.0, "capacity_share": 0.5}
    blank = blank_result(scenario, directory)
    result = replace(blank, status="ok", leg_bytes=[10**7, 0], **numbers)  # type: ignore[arg-type]
    result.save(directory)
    return result


@pytest.fixture(autouse=True)
def nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for command in (compare, run_command):
        monkeypatch.setattr(command, "run_checked", made_up)
        monkeypatch.setattr(command, "require_clock", lambda *_: None)


@pytest.mark.parametrize(("more", "drawn"), [(PATHS, True), ([], False)])
def test_a_comparison_has_a_figure_of_paths_with_a_schedule(
    more: list[str], drawn: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--clock", "real", "--legs", "9", "9", "--transports", "mptcp", "tcp"]
    output = ["--repetitions", "1", "--output", str(tmp_path / "out")]
    assert cli.main(["compare", *options, *output, *more]) == 0
    assert (tmp_path / "out" / "paths.png").exists() == drawn
    assert ("paths.png" in capsys.readouterr().out) == drawn


@pytest.mark.parametrize(("more", "drawn"), [(PATHS, True), ([], False)])
def test_a_run_has_a_figure_of_paths_with_a_schedule(
    more: list[str], drawn: bool, tmp_path: Path
) -> None:
    leg = "{downlink: {rate_mbps: 9}}"
    path = tmp_path / "s.yaml"
    path.write_text(f"transport: mptcp\nmode: multipath\nclock: real\nlegs: [{leg}, {leg}]\n")
    assert cli.main(["run", str(path), "--output", str(tmp_path / "out"), *more]) == 0
    assert (tmp_path / "out" / "paths.png").exists() == drawn
