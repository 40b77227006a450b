"""`minitopo-dc campaign`, also when it is killed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks.hostile.small_disk import enlarge, small_disk
from minitopo_dc.campaign.execution.cost import Observed
from minitopo_dc.cli import main
from tests.campaign.campaigns import document, pretend, run_with, write

MANY: dict[str, Any] = {
    "batch": {
        "title": "Batch",
        "grid": {"pdcp.batch": [2, 10, 50, 100], "workload.size_mb": [1.0, 1.5]},
    }
}
RUNS = 2 * 8 * 2


def campaign(path: Path, output: Path) -> subprocess.Popen[str]:
    """The command as a process of its own."""
    command = [sys.executable, "-m", "minitopo_dc.cli", "campaign", "run", str(path)]
    return subprocess.Popen(
        [*command, "--output", str(output), "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_runs(output: Path, number: int) -> None:
    """Return when so many runs are recorded."""
    deadline = time.monotonic() + 60
    while len(list(output.glob("runs/*"))) < number:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for_end(pids: list[int]) -> None:
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}/cmdline").exists() and _runs(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_campaign_killed_twice_goes_on_and_has_every_run_once(tmp_path: Path) -> None:
    path, output = write(tmp_path, document(experiments=MANY)), tmp_path / "out"
    for number in (3, 9):
        process = campaign(path, output)
        wait_for_runs(output, number)
        started = children(process.pid)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        wait_for_end(started)  # none is left behind
    before = {each.name: each.stat().st_ino for each in output.glob("runs/*")}
    assert 9 <= len(before) < RUNS
    assert main(["campaign", "run", str(path), "--output", str(output)]) == 0
    table = pd.read_csv(output / "results.csv")
    assert len(table) == RUNS
    assert table["id"].is_unique
    assert set(table["status"]) == {"ok"}
    after = {each.name: each.stat().st_ino for each in output.glob("runs/*")}
    assert {run: after[run] for run in before} == before  # what was done was kept


def test_ctrl_c_ends_at_once_and_can_be_resumed(tmp_path: Path) -> None:
    path, output = write(tmp_path, document(experiments=MANY)), tmp_path / "out"
    process = campaign(path, output)
    wait_for_runs(output, 2)
    started = children(process.pid)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    (line,) = [each for each in errors.splitlines() if "interrupted" in each]
    assert "interrupted; " in line
    assert line.endswith(f" of {RUNS} runs are finished; the same command runs the rest")
    assert errors.count("are finished") == 1
    assert "removed" not in errors
    assert "Traceback" not in errors
    wait_for_end(started)
    done = len(pd.read_csv(output / "results.csv"))
    assert done >= 2
    assert main(["campaign", "run", str(path), "--output", str(output)]) == 0
    assert len(pd.read_csv(output / "results.csv")) == RUNS


def test_status_tells_what_failed_and_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = {"slow": {"title": "Slow", "cells": [{"timeout_s": 0.05}]}}
    path, output = write(tmp_path, document(experiments=slow)), tmp_path / "out"
    assert main(["campaign", "run", str(path), "--output", str(output)]) == 1
    assert "failed: " in capsys.readouterr().err
    assert main(["campaign", "status", str(output), "--json"]) == 1
    status = json.loads(capsys.readouterr().out)
    assert (status["runs"], status["failed"], status["missing"]) == (4, 4, 0)
    assert all(reason for reason in status["failures"].values())


def test_a_dry_run_counts_and_makes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output = write(tmp_path, document()), tmp_path / "out"
    assert main(["campaign", "run", str(path), "--output", str(output), "--dry-run"]) == 0
    counted, estimated = capsys.readouterr().out.splitlines()
    assert counted == "4 cells, 8 runs on the virtual clock"
    time_told = r"\S+ (s|min|h)"
    told = (
        rf"about {time_told} \({time_told} to {time_told}\) with \d+ at once, from \d+ small runs"
    )
    assert re.match(told, estimated)
    assert not output.exists()


def test_a_dry_run_of_what_is_finished_says_that_nothing_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = run_with(tmp_path, document(), pretend)
    command = ["campaign", "run", str(tmp_path / "campaign.yaml"), "--output", str(output)]
    assert main([*command, "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "4 cells, 8 runs on the virtual clock",
        f"nothing is left to run: all runs are in {output}",
    ]


def test_a_dry_run_estimates_only_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run takes 4 s, so that all eight would take 32 s."""
    monkeypatch.setattr(
        "minitopo_dc.commands.campaign.of_yaml.timed_runs", lambda _: [Observed(("any",), 1.0, 4.0)]
    )
    output = run_with(tmp_path, document(), pretend)
    command = ["campaign", "run", str(tmp_path / "campaign.yaml"), "--output", str(output)]
    gone = sorted(output.glob("runs/*"))[:2]
    shutil.rmtree(gone[0])
    (gone[1] / "result.json").write_text("{}")  # it is damaged, so it will be done again
    assert main([*command, "--dry-run", "--jobs", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "4 cells, 8 runs on the virtual clock",
        f"left to run: 2 of 8; the others are in {output}",
        "about 8.0 s (4.0 s to 16 s) with 1 at once, from 1 finished runs",
    ]


def test_the_directory_follows_from_file_clock_and_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = document(quick={"fields": {"workload.size_mb": 0.01}}, repetitions=1)
    assert main(["campaign", "run", str(write(tmp_path, content)), "--quick"]) == 0
    assert (tmp_path / "results/campaign-virtual-quick/results.csv").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--jobs", "0"], "--jobs: 0; allowed: 1 to 1024"),
        (["--repetitions", "-1"], "--repetitions: -1; allowed: above 0"),
        (["--parameter", "trace"], "--parameter trace: allowed: NAME=VALUE"),
        (["--scheduler", "tcp://x:1", "--jobs", "2"], "--jobs: not with --scheduler"),
        (["--output", "/proc/no"], "/proc/no: "),
    ],
)
def test_a_wrong_option_is_one_error(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["campaign", "run", str(write(tmp_path, document())), *options]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert len(errors.splitlines()) == 1


def test_the_real_clock_without_root_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    path = write(tmp_path, document(clock="real"))
    assert main(["campaign", "run", str(path)]) == 2
    assert "clock real: not root" in capsys.readouterr().err


@pytest.mark.root
def test_jobs_on_the_real_clock_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, document(clock="real"))
    assert main(["campaign", "run", str(path), "--jobs", "2"]) == 2
    assert "--jobs: only 1 on the real clock" in capsys.readouterr().err


@pytest.mark.root
def test_a_command_on_a_full_disk_is_one_error_and_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        path, output = write(tmp_path, document(experiments=MANY)), disk / "out"
        command = ["campaign", "run", str(path), "--output", str(output), "--jobs", "2"]
        assert main(command) == 2
        errors = [line for line in capsys.readouterr().err.splitlines() if "runs done" not in line]
        assert len(errors) == 1
        assert "the disk is full; every run that was recorded is kept" in errors[0]
        done = {each.name for each in output.glob("runs/*")}
        assert 0 < len(done) < RUNS
        enlarge(disk, "64m")
        assert main(command) == 0
        table = pd.read_csv(output / "results.csv")
        assert len(table) == RUNS
        assert done < set(table["id"])


@pytest.mark.root
def test_a_campaign_on_the_real_clock(tmp_path: Path) -> None:
    experiments = {"one": {"title": "One", "cells": [{"transport": "tcp"}]}}
    only = {"default": {"transport": "tcp"}}
    content = document(clock="real", experiments=experiments, configurations=only, repetitions=1)
    output = tmp_path / "out"
    path = write(tmp_path, content)
    assert main(["campaign", "run", str(path), "--output", str(output)]) == 0
    table = pd.read_csv(output / "results.csv")
    assert list(table["clock"]) == ["real"]
    assert list(table["status"]) == ["ok"]
