"""`minitopo-dc show`: what was printed once, from files alone; and two of them side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.hostile.stores import make_store
from minitopo_dc import cli
from minitopo_dc.scenario import Scenario
from tests.results.synthetic_runs import no_result, result, save

pytestmark = pytest.mark.usefixtures("without_figures")
TINY = ["compare", "--clock", "virtual", "--jobs", "1", "--legs", "10", "10", "--size", "0.1"]
TINY += ["--transports", "quic", "--repetitions", "2", "--loss", "0.5"]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def show(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert cli.main(["show", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_a_comparison_is_printed_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    assert cli.main([*TINY, "--output", str(output)]) == 0
    printed = capsys.readouterr().out
    assert "at random" in printed
    assert show(capsys, output) == printed
    rows = json.loads(show(capsys, output, "--json"))
    assert [row["repetition"] for row in rows] == [1, 1, 1, 2, 2, 2]
    once = show(capsys, output / "quic-sc-1")
    assert "quic (aioquic)  sc    1 ok" in once
    assert json.loads(show(capsys, output / "quic-sc-1", "--json"))["mode"] == "sc"


def test_a_campaign_is_printed_as_its_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = make_store(tmp_path)
    assert cli.main(["campaign", "status", str(output)]) == 0
    printed = capsys.readouterr().out
    assert show(capsys, output) == printed
    assert json.loads(show(capsys, output, "--json"))["missing"] == 0
    beside = json.loads(show(capsys, "--compare", output, output, "--json"))
    assert {row["difference"] for row in beside["rows"]} == {0}
    assert beside["differ"] == {}


def comparison(root: Path, *goodputs: float, delay_ms: float = 10, mode: str = "dc") -> Path:
    legs = [{"downlink": {"rate_mbps": 20, "delay_ms": delay_ms}}] * 2
    made = Scenario.check({"transport": "quic", "mode": mode, "legs": legs}, "test")
    for number, goodput in enumerate(goodputs, start=1):
        run = result("quic", mode, goodput_mbps=goodput, seed=number, repetition=number)
        made.save(save(root, run) / "scenario.yaml")
    return root


def test_two_comparisons_stand_side_by_side_with_what_sets_them_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = comparison(tmp_path / "a", 10, 20, 30)
    second = comparison(tmp_path / "b", 11, 21, 32, delay_ms=25)
    comparison(second, 5, mode="sc")
    save(first, no_result("tcp", "dc", "failed", "it died"))
    (first / "tcp-dc-1" / "scenario.yaml").write_bytes(
        (first / "quic-dc-1" / "scenario.yaml").read_bytes()
    )
    lines = show(capsys, "--compare", first, second).splitlines()
    (row,) = (line for line in lines if line.startswith("quic dc batch"))
    assert row.split()[3:] == ["20.0", "21.3", "1.33", "-0.101", "to", "2.77", "3"]
    assert f"First: {first}; 1 runs that are not ok are left out" in lines
    assert "Only in the second: quic sc" in lines
    assert "They differ in legs.0.downlink.delay_ms: 10.0 and 25.0" in lines


def test_another_measure_can_be_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = comparison(tmp_path / "a", 10, 20)
    shown = json.loads(show(capsys, "--compare", root, root, "--measure", "completion_s", "--json"))
    assert (shown["measure"], shown["rows"][0]["first"]) == ("completion_s", 4.0)
    assert cli.main(["show", "--compare", str(root), str(root), "--measure", "joy"]) == 2
    assert (
        "no run with status ok has joy; they have: capacity_share, completion_s"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "show: give DIR, or --compare DIR DIR"),
        (["{run}", "--compare", "{run}", "{run}"], "show: give DIR, or --compare DIR DIR"),
        (["{run}", "--measure", "goodput_mbps"], "--measure: needs --compare"),
        (["{empty}"], "no results; looked for result.json, */result.json and campaign.json"),
        (["--compare", "{run}", "{empty}"], "no results; looked for"),
    ],
)
def test_what_cannot_be_shown_is_one_error(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"run": comparison(tmp_path / "a", 10), "empty": tmp_path / "empty"}
    places["empty"].mkdir()
    assert cli.main(["show", *(argument.format(**places) for argument in arguments)]) == 2
    message = capsys.readouterr().err
    assert words in message
    assert message.count("\n") == 1


def test_above_results_the_directories_that_have_some_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    comparison(tmp_path / "a", 10)
    (tmp_path / "a" / "comparison.json").write_text("{}", encoding="utf-8")
    assert cli.main(["show", str(tmp_path)]) == 2
    words = f"no results; the directories below it have some: {tmp_path / 'a'}\n"
    assert capsys.readouterr().err.endswith(words)


def test_a_broken_result_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = comparison(tmp_path / "a", 10)
    replace(result("quic", "dc"), goodput_mbps=-1.0).save(root / "quic-dc-1")
    assert cli.main(["show", str(root)]) != 0
    assert "quic-dc-1/result.json: malformed result" in capsys.readouterr().err
