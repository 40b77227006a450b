"""The answer on a report's first page, from a campaign whose runs have a planted cause."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc.campaign.report.answer import Answer, answers
from minitopo_dc.campaign.report.answer_words import headline, sentences, to_json
from minitopo_dc.campaign.report.evaluation import load_sources
from minitopo_dc.campaign.report.joined import joined_table
from minitopo_dc.cli import main
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError
from tests.campaign.campaigns import document, fail, pretend, run_with, write

POINTS = 40
FACTORS = {
    "label.ratio": [0.2, 5, "log"],
    "label.rate": [5, 20],
    "workload.size_mb": {"levels": [1, 4]},
}
ASKED: dict[str, Any] = {
    "measure": "gain",
    "at_least": 0.97,
    "limits": [0.9],
    "text": "DC is as good as multipath",
    "label": "DC",
    "then": "DC",
    "otherwise": "multipath",
    "tested_on": "other",
}
CONFIGURATIONS = {
    "multipath": {"transport": "mpquic-picoquic", "mode": "multipath"},
    "dc": {"transport": "quic-picoquic", "mode": "dc"},
}


def planted(scenario: Scenario, directory: Path) -> RunResult:
    """Dual Connectivity is slow where the second leg's delay is twice the first one's or more."""
    slow = scenario.legs[1].downlink.delay_ms >= 2 * scenario.legs[0].downlink.delay_ms
    goodput = 10.0 if scenario.mode == "multipath" else 6.0 if slow else 11.0
    goodput *= 1.02 if scenario.seed == 2 else 1
    return replace(pretend(scenario, directory), goodput_mbps=goodput, completion_s=8 / goodput)


def planted_with_failures(scenario: Scenario, directory: Path) -> RunResult:
    rate = scenario.legs[0].downlink.rate_mbps
    assert rate is not None
    failed = scenario.mode == "multipath" and rate > 19
    return (fail if failed else planted)(scenario, directory)


def content(asked: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    def points(number: int, seed: int, **more: Any) -> dict[str, Any]:
        design = {
            "method": "latin-hypercube",
            "points": number,
            "seed": seed,
            "factors": FACTORS,
        }
        joined = {"gain": "= dc.goodput_mbps / multipath.goodput_mbps"}
        return {"title": "Points", "design": design, "joined": joined, **more}

    base = {
        "legs": [{"downlink": {"rate_mbps": 1}}, {"downlink": {"rate_mbps": 1}}],
        "legs.*.downlink.rate_mbps": "= rate",
        "legs.0.downlink.delay_ms": 10,
        "legs.1.downlink.delay_ms": "= 10 * ratio",
    }
    return document(
        base=base,
        repetitions=fields.pop("repetitions", 1),
        configurations=CONFIGURATIONS,
        words={"label.ratio": "delay ratio", "label.rate": "rate (Mbit/s)"},
        experiments={
            "download": points(POINTS, 1, explain=[ASKED | (asked or {})], **fields),
            "other": points(10, 2),
        },
    )


def answer_of(root: Path) -> Answer:
    sources = load_sources([root])
    experiment = sources[0].plan.file.experiments["download"]
    tables = {each.label: joined_table(each, "download", experiment) for each in sources}
    (found,) = answers(sources, "download", experiment, tables)
    return found


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_with(tmp_path_factory.mktemp("c") / "c", content(), planted)


def test_the_answer_says_where_it_is_so_in_words_made_from_the_numbers(done: Path) -> None:
    found = answer_of(done)
    text = headline(found)
    yes = int(found.found.at.counted.yes.count)
    assert text.startswith(f"DC is as good as multipath at {yes} of {POINTS} points, ")
    assert "multipath where delay ratio > " in text
    listed = " ".join(sentences(found))
    assert "On 10 points of another design it is right at " in listed
    assert "Right verdicts lost without a factor: delay ratio (" in listed
    assert "0.9: " in listed
    assert "each point was run once, so how much its runs differ is not known" in listed


def test_the_report_begins_with_the_answer_and_leaves_it_for_programs(
    done: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["campaign", "report", str(done)]) == 0
    told = capsys.readouterr().out
    assert "DC is as good as multipath: " in told
    html = (done / "report/report.html").read_text(encoding="utf-8")
    assert html.index("effect (95 % interval)") < html.index("Conditions</h2>")
    assert '"answer-download":' in html
    assert "multipath (" in (done / "report/answer.txt").read_text(encoding="utf-8")
    (found,) = json.loads((done / "report/answer.json").read_text(encoding="utf-8"))["answers"]
    assert found["so"]["points"] == POINTS
    assert found["better_than_majority"] is True
    assert found["importances"][0]["factor"] == "label.ratio"
    assert found["unseen"]["right"]["points"] == 10


def test_three_outcomes_count_no_tie_as_a_win(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = {"measure": "gain", "first": "DC", "second": "multipath"}
    root = run_with(tmp_path / "c", content(outcomes=[sides, sides | {"margin": 0.2}]), planted)
    assert main(["campaign", "report", str(root)]) == 0
    told = capsys.readouterr().out
    assert "DC against multipath: " in told
    assert " % better, 0 % a tie, " in told
    assert "a tie is within 20.0 %; median ratio " in told
    fine, coarse = json.loads((root / "report/answer.json").read_text())["outcomes"]
    assert fine["better"]["count"] + fine["worse"]["count"] == POINTS
    assert (coarse["better"]["count"], coarse["tie"]["count"]) == (0, fine["better"]["count"])
    assert coarse["worse"] == fine["worse"]
    assert sorted(set(fine["ratios"])) == pytest.approx([0.6, 1.1])


def slower_on_packets(scenario: Scenario, directory: Path) -> RunResult:
    """On packets Dual Connectivity is 8 % slower than planted where rates are above 12.5."""
    rate = scenario.legs[0].downlink.rate_mbps
    assert rate is not None
    found = planted(scenario, directory)
    assert found.goodput_mbps is not None
    held = scenario.mode == "dc" and rate > 12.5
    return replace(found, goodput_mbps=found.goodput_mbps * (0.92 if held else 1))


def test_outcomes_of_two_clocks_are_compared_point_by_point(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = {"measure": "gain", "first": "DC", "second": "multipath"}
    asked = content(outcomes=[sides])
    virtual = run_with(tmp_path / "c", asked, planted)
    real = run_with(tmp_path / "c", asked, slower_on_packets, clock="real")
    assert main(["campaign", "report", str(virtual), str(real)]) == 0
    told = capsys.readouterr().out
    table = pd.read_csv(virtual / "report/points-download.csv")
    one, other = (table[table["source"] == clock] for clock in ("virtual", "real"))
    held = (other["label.rate"] > 12.5) & (one["gain"].to_numpy() > 1)
    same = len(other) - int(held.sum())
    assert 0 < same < POINTS
    assert "DC against multipath: the outcome of the virtual clock: **" in told
    assert f"{100 * same / POINTS:.1f} % (" in told
    (agreed,) = json.loads((virtual / "report/answer.json").read_text())["agreements"]
    assert (agreed["same"]["count"], agreed["same"]["points"]) == (same, POINTS)
    numbers = other.loc[held.to_numpy(), "label.point"]
    assert [each["point"] for each in agreed["differing"]] == [f"point {n}" for n in numbers]
    assert agreed["differing"][0]["first"] == pytest.approx(1.1)
    assert agreed["differing"][0]["other"] == pytest.approx(1.012)
    assert f"another outcome at point {numbers.iloc[0]}: 1.10 and 1.01; point " in told


def test_points_that_one_clock_has_only_in_part_are_left_out(tmp_path: Path) -> None:
    asked = content(outcomes=[{"measure": "gain", "first": "DC", "second": "multipath"}])
    virtual = run_with(tmp_path / "c", asked, planted)
    real = run_with(tmp_path / "c", asked, planted, clock="real")
    for directory in (real / "runs").iterdir():
        scenario = Scenario.load(directory / "scenario.yaml")
        rate = scenario.legs[0].downlink.rate_mbps
        if scenario.mode == "multipath" and rate is not None and rate > 12.5:
            shutil.rmtree(directory)
    assert main(["campaign", "report", str(virtual), str(real)]) == 0
    (agreed,) = json.loads((virtual / "report/answer.json").read_text())["agreements"]
    table = pd.read_csv(virtual / "report/points-download.csv")
    slow = (table["source"] == "virtual") & (table["label.rate"] <= 12.5)
    assert 0 < slow.sum() < POINTS
    assert (agreed["same"]["points"], agreed["differing"]) == (slow.sum(), [])


def test_an_older_file_s_runs_have_the_measures_of_the_first_file(tmp_path: Path) -> None:
    sides = {"measure": "gain", "first": "DC", "second": "multipath"}
    new = run_with(tmp_path / "new", content(outcomes=[sides]), planted)
    older = content()
    older["experiments"]["download"].update(joined={"loss": "= 1"}, explain=[])
    old = run_with(tmp_path / "old", older, planted, clock="real")
    assert main(["campaign", "report", str(new), str(old)]) == 0
    table = pd.read_csv(new / "report/points-download.csv")
    assert not table["gain"].isna().any()
    assert set(table["source"]) == {"virtual", "real"}


def test_outcomes_of_what_is_not_joined_are_one_error(tmp_path: Path) -> None:
    wrong = content(outcomes=[{"measure": "loss", "first": "DC", "second": "multipath"}])
    with pytest.raises(
        SettingsError, match=r"outcomes\.measure: loss is unknown here; allowed: gain"
    ):
        run_with(tmp_path / "c", wrong, planted)


def test_repetitions_tell_how_much_a_point_scatters(tmp_path: Path) -> None:
    found = answer_of(run_with(tmp_path / "c", content(repetitions=2), planted))
    assert found.scatter.points == POINTS
    assert found.scatter.median == pytest.approx(0.0, abs=1e-6)
    assert "runs of one point differ by 0 %" in " ".join(sentences(found))


def test_points_whose_run_failed_have_no_value_and_are_counted(tmp_path: Path) -> None:
    found = answer_of(run_with(tmp_path / "c", content(), planted_with_failures))
    counted = found.found.at.counted
    assert counted.endless == 0
    assert counted.without_value > 0
    assert counted.yes.points == POINTS - counted.without_value
    said = "without a value: a run is missing, unsupported or failed"
    assert said in " ".join(sentences(found))


def test_points_with_a_run_that_failed_are_counted_and_said(tmp_path: Path) -> None:
    endless = content() | {"failed_runs": "endless"}
    found = answer_of(run_with(tmp_path / "c", endless, planted_with_failures))
    failed = found.found.at.counted.endless
    assert failed > 0
    assert found.found.at.counted.yes.points == POINTS
    assert f"{failed} points with a run that failed" in " ".join(sentences(found))
    assert json.dumps(to_json(found), allow_nan=False)


def test_where_lower_is_better_the_verdict_is_turned(done: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"at_least": None, "at_most": 0.97, "limits": [], "tested_on": ""}
    turned = answer_of(run_with(tmp_path / "c", content(asked), planted))
    more = answer_of(done).found.at.counted.yes
    assert turned.found.at.counted.yes.count == POINTS - more.count
    assert "delay ratio > " in headline(turned)


def test_a_test_that_was_not_run_is_said(tmp_path: Path) -> None:
    root = run_with(tmp_path / "d", content(), planted)
    for name in answer_runs(root, "other"):
        (root / "runs" / name).rename(tmp_path / name)
    assert "The rule was not tested on other" in " ".join(sentences(answer_of(root)))


def answer_runs(root: Path, experiment: str) -> set[str]:
    plan = load_sources([root])[0].plan
    return {run for cell in plan.cells if cell.experiment == experiment for run in cell.runs}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"measure": "speed"}, "explain.measure: speed is unknown here; allowed: gain"),
        ({"factors": ["label.no"]}, "explain.factors: label.no is unknown here"),
        ({"runs": ["tcp"]}, "explain.runs: tcp is unknown here; allowed: dc, multipath"),
        ({"tested_on": "third"}, "explain.tested_on: third is unknown here"),
        ({"at_most": 1}, "give at_least or at_most"),
        ({"then": "multipath"}, "then and otherwise are both multipath"),
    ],
)
def test_a_wrong_question_is_one_error(tmp_path: Path, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        run_with(tmp_path / "c", content(asked), planted)


def test_words_are_of_factors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = content() | {"words": {"label.nothing": "nothing"}}
    path = write(tmp_path, wrong)
    assert main(["campaign", "run", str(path), "--dry-run"]) == 2
    assert "words: label.nothing is no factor" in capsys.readouterr().err
