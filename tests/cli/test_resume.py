"""A comparison goes on where it was, and shows its progress."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc import Campaign, cli, clocks, load
from minitopo_dc.campaign.store import FACTS
from minitopo_dc.cli.screen import ProgressLine
from minitopo_dc.results.judge import blank_result
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.perform import Retries
from minitopo_dc.scenario import Scenario
from tests.results.synthetic_runs import no_result
from tests.stores import pretend

pytestmark = pytest.mark.usefixtures("without_figures")
TINY = ["compare", "--clock", "virtual", "--jobs", "1", "--legs", "10", "10", "--size", "0.05"]
TINY += ["--transports", "quic", "--modes", "sc", "dc", "--repetitions", "2", "--split", "batch"]
RUNS = 4


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was run; somebody presses Ctrl-C in the third."""
    places: list[str] = []

    def run(scenario: Scenario, directory: Path) -> RunResult:
        places.append(f"{scenario.mode} {scenario.seed}")
        directory.mkdir(parents=True)
        if len(places) == 3:
            (directory / "partial").mkdir()
            raise KeyboardInterrupt
        return pretend(scenario, directory)

    monkeypatch.setattr(clocks, "run_checked", run)
    return places


def interrupted(output: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main([*TINY, "--output", str(output)]) == 130
    return capsys.readouterr().err


def test_finished_runs_are_not_repeated(
    runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    message = interrupted(output, capsys)
    command = shlex.join(["minitopo-dc", *TINY, "--output", str(output)])
    assert f"interrupted; 2 of {RUNS} runs are finished; resume with: {command}\n" in message
    assert cli.main(shlex.split(command)[1:]) == 0
    shown = capsys.readouterr()
    assert f"2 of {RUNS} runs were finished earlier" in shown.err
    assert runs == ["sc 1", "dc 1", "sc 2", "sc 2", "dc 2"]
    assert "2 ok" in shown.out
    assert not list(output.glob("runs/*/partial"))
    assert cli.main(shlex.split(command)[1:]) == 0
    assert len(runs) == 5
    again = capsys.readouterr()
    assert again.out == shown.out


def test_without_output_the_command_to_go_on_names_the_directory(
    runs: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(TINY) == 130
    message = capsys.readouterr().err
    assert cli.main(shlex.split(message.partition("resume with: ")[2])[1:]) == 0
    assert len(runs) == 5


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (["--delay", "25"], "legs.0.downlink.delay_ms 10.0, here 25.0"),
        (["--modes", "sc"], ": DC (papers'), which is not here;"),
    ],
)
@pytest.mark.usefixtures("runs")
def test_other_options_are_one_error_that_says_which(
    changed: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    interrupted(output, capsys)
    assert cli.main([*TINY, *changed, "--output", str(output)]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith(f"minitopo-dc: {output}: holds a comparison with other options: ")
    assert words in message
    assert message.endswith("; give a new directory")


def test_more_repetitions_add_their_seeds(runs: list[str], tmp_path: Path) -> None:
    command = [*TINY, "--modes", "sc", "--output", str(tmp_path / "out")]
    assert cli.main([*command, "--repetitions", "1"]) == 0
    assert cli.main([*command, "--repetitions", "2"]) == 0
    assert runs == ["sc 1", "sc 2"]
    assert load(tmp_path / "out")["seed"].tolist() == [1, 2]


@pytest.mark.usefixtures("runs")
def test_a_file_that_says_nothing_of_a_comparison_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    interrupted(output, capsys)
    for text in ("[]", "{", json.dumps({"labels": ["way"]})):
        (output / FACTS).write_text(text)
        assert cli.main([*TINY, "--output", str(output)]) == 2
        message = capsys.readouterr().err
        assert str(output / FACTS) in message
        assert "Traceback" not in message


@pytest.mark.parametrize("repeats", [1, 2])
def test_a_disturbed_run_is_done_when_it_was_repeated_as_often_as_allowed(
    repeats: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    legs = [{"downlink": {"rate_mbps": 20}}]
    values = {"transport": "quic", "mode": "sc", "legs": legs, "clock": "virtual"}
    scenario, places = Scenario.check(values, "test"), list[Path]()

    def disturbed(_: Scenario, directory: Path) -> RunResult:
        places.append(directory)
        directory.mkdir(parents=True)
        return no_result("quic", "sc", "disturbed", "this machine")

    monkeypatch.setattr(clocks, "run_checked", disturbed)
    campaign = Campaign(tmp_path, [(scenario, {"way": "leg 1"})])
    campaign.run(jobs=1, retries=Retries(disturbed=1), progress=False)
    assert len(places) == 2
    campaign.run(jobs=1, retries=Retries(disturbed=repeats), progress=False)
    assert len(places) == (2 if repeats == 1 else 2 + 3)


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("option", ["--plugin", "--uplink"])
def test_runs_of_a_file_that_has_changed_since_are_not_taken(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = {"--plugin": "mine.py", "--uplink": "mine.csv"}[option]
    path, output = tmp_path / name, tmp_path / "out"
    path.write_text({"--plugin": "LIMIT = 20\n", "--uplink": "0,10\n1,9\n"}[option])
    command = [*TINY, "--repetitions", "1", "--modes", "sc", option, str(path)]
    command += ["--output", str(output)]
    assert cli.main(command) == 0
    assert cli.main(command) == 0
    path.write_text({"--plugin": "LIMIT = 40\n", "--uplink": "0,10\n1,8\n"}[option])
    capsys.readouterr()
    assert cli.main(command) == 2
    words = "a trace or a plugin has changed since its runs; give a new directory"
    assert capsys.readouterr().err.endswith(f"{words}\n")


LEGS = [{"downlink": {"rate_mbps": 20}}] * 2
SCENARIO = Scenario.check({"transport": "quic", "mode": "dc", "legs": LEGS}, "test")
FAILED = replace(
    blank_result(SCENARIO, Path("run")), status="failed", reason="[/red] of [tc]\nmore"
)


class Shown(ProgressLine):
    def __init__(self, number: int, early: tuple[int, Callable[[], str]] | None = None) -> None:
        missing = {f"run-{place}": SCENARIO for place in range(number)}
        super().__init__(missing, names=dict.fromkeys([*missing, "run"], "DC"), early=early)

    def text(self) -> str:
        return str(self._status.status)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def test_a_run_that_failed_is_told_with_the_first_line_of_its_reason_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Shown(2) as progress:
        progress.end(FAILED)
    shown = capsys.readouterr()
    assert shown.err == "1/2 DC (seed 1): failed [/red] of [tc]\n"
    assert shown.out == ""


@pytest.mark.parametrize(("runs", "shown"), [(4, 1), (2, 0)])
def test_an_early_table_is_shown_once_after_its_runs_unless_they_are_the_last(
    runs: int, shown: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with Shown(runs, early=(2, lambda: "early")) as progress:
        for _ in range(runs):
            progress.end(FAILED)
    lines = capsys.readouterr().err.splitlines()
    assert [place for place, line in enumerate(lines) if line == "early"] == [2] * shown


def test_runs_that_cannot_be_for_one_reason_tell_it_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Shown(2) as progress:
        for _ in range(2):
            progress.end(replace(FAILED, status="unsupported", reason="no picoquic"))
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("unsupported no picoquic")
    assert second.endswith("unsupported for a reason above")


def test_a_run_of_programs_shows_their_first_numbers_with_units(
    capsys: pytest.CaptureFixture[str],
) -> None:
    units = {"requests_per_s": "1/s", "request_mean_ms": "ms", "failed_requests": "", "more": "s"}
    numbers = {"requests_per_s": 61.234, "request_mean_ms": 8.1, "failed_requests": 0}
    result = replace(
        FAILED, status="ok", reason="", transport="command", workload="command",
        completion_s=20.01, leg_bytes=[1000, 2000], details={"units": units, **numbers},
    )  # fmt: skip
    with Shown(1) as progress:
        progress.end(result)
    shown = capsys.readouterr()
    first = "requests_per_s 61.2 1/s, request_mean_ms 8.10 ms, failed_requests 0"
    assert shown.err == f"1/1 DC (seed 1): ok time 20.0 s, {first}\n"


@pytest.mark.parametrize(
    ("passed_s", "words"), [(0.5, "about 5 s left"), (60, "about 10 min left")]
)
def test_the_time_left_is_that_of_the_pace_so_far(
    passed_s: float, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    progress = Shown(22)
    progress.end(FAILED)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 + passed_s)
    progress.end(FAILED)
    assert progress.text() == f"3/22 DC … {words}"
