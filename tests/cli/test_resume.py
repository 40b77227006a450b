"""A comparison goes on where it was, and shows its progress."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from minitopo_dc import Campaign, cli, clocks, load
from minitopo_dc.campaign.store import FACTS
from minitopo_dc.cli.compare import FIRST
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

    monkeypatch.setattr(clocks, "runner_on", lambda _: run)
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
    assert f"2 of {RUNS} runs were finished before" in shown.err
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

    monkeypatch.setattr(clocks, "runner_on", lambda _: disturbed)
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


def test_on_the_real_clock_the_table_of_the_first_repetition_comes_before_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(clocks, "real_clock_obstacle", lambda: None)

    def run(scenario: Scenario, directory: Path) -> RunResult:
        directory.mkdir(parents=True)
        return pretend(scenario, directory)

    monkeypatch.setattr(clocks, "runner_on", lambda _: run)
    monkeypatch.setattr("minitopo_dc.campaign.executors.clean_killed", lambda: None)
    command = [*TINY, "--clock", "real", "--output", str(tmp_path / "out")]
    assert cli.main(command) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line == FIRST] == [FIRST]
    assert f"2 of {RUNS} runs were finished before" in lines[lines.index(FIRST) :]
    assert cli.main(command) == 0
    assert FIRST not in capsys.readouterr().err
