"""When one side is better: models and rules of a campaign whose runs have a planted cause."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.analysis.learning.threshold_rule import Regret
from minitopo_dc.campaign.report.evaluation import load_sources
from minitopo_dc.campaign.report.joined import joined_table
from minitopo_dc.campaign.report.when import WhenAnswer, answer_when, read_rule
from minitopo_dc.campaign.report.when_words import effects_chart, rule_lines, verdict
from minitopo_dc.cli import main
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError
from tests.campaign.campaigns import document, pretend, run_with

POINTS, UNSEEN, AGAIN = 80, 20, 10
FACTORS = {
    "label.ratio": [0.2, 5, "log"],
    "label.rate": [5, 20],
    "label.control": {"levels": ["cubic", "reno"]},
}
ASKED: dict[str, Any] = {
    "measure": "gain",
    "first": "DC",
    "second": "multipath",
    "factors": ["label.ratio", "label.rate"],
    "apart": "label.control",
    "noise": "again",
    "tested_on": "other",
}
CONFIGURATIONS = {
    "multipath": {"transport": "mpquic-picoquic", "mode": "multipath"},
    "dc": {"transport": "quic-picoquic", "mode": "dc"},
}


def planted(scenario: Scenario, directory: Path) -> RunResult:
    """Dual Connectivity is slow where the second leg's delay is twice the first one's or more."""
    first, second = (leg.downlink for leg in scenario.legs)
    slow = second.delay_ms >= 2 * first.delay_ms
    goodput = 10.0 if scenario.mode == "multipath" else 6.0 if slow else 13.0
    goodput *= 1.02 if scenario.seed == 2 and scenario.mode == "dc" else 1
    return replace(pretend(scenario, directory), goodput_mbps=goodput, completion_s=8 / goodput)


def equal(scenario: Scenario, directory: Path) -> RunResult:
    """Neither is better, but the rate's last digits make either so by 20 %."""
    rate = scenario.legs[0].downlink.rate_mbps
    assert rate is not None
    goodput = 10.0 if scenario.mode == "multipath" else 10 * 1.2 ** math.sin(1e5 * rate)
    return replace(pretend(scenario, directory), goodput_mbps=goodput, completion_s=8 / goodput)


def content(**asked: Any) -> dict[str, Any]:
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
        "congestion_control": "= control",
        "legs.*.downlink.rate_mbps": "= rate",
        "legs.0.downlink.delay_ms": 10,
        "legs.1.downlink.delay_ms": "= 10 * ratio",
    }
    return document(
        base=base,
        repetitions=1,
        configurations=CONFIGURATIONS,
        words={"label.ratio": "delay ratio", "label.rate": "rate (Mbit/s)"},
        experiments={
            "download": points(POINTS, 1, when=[ASKED | asked]),
            "again": points(AGAIN, 3, repetitions=2),
            "other": points(UNSEEN, 2),
        },
    )


def answer_of(root: Path) -> WhenAnswer:
    sources = load_sources([root])
    experiment = sources[0].plan.file.experiments["download"]
    tables = {each.label: joined_table(each, "download", experiment) for each in sources}
    (found,) = answer_when(sources, "download", experiment, tables)
    return found


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_with(tmp_path_factory.mktemp("c") / "c", content(), planted)


def test_a_planted_rule_is_told_and_loses_less_than_any_constant(done: Path) -> None:
    found = answer_of(done)
    term, rest = rule_lines(found, {"label.ratio": "delay ratio"})
    assert (term, rest) in (
        ("delay ratio > 2: multipath", "otherwise: DC"),
        ("delay ratio <= 2: DC", "otherwise: multipath"),
    )
    assert found.unseen is not None
    rule, first, second = found.unseen.ways
    assert rule.points == UNSEEN
    assert rule.high < min(first.low, second.low)
    better = "The rule loses less than always "
    assert verdict(found.unseen).startswith(f"{better}DC (")
    assert f" {better}multipath (" in verdict(found.unseen)


def test_each_congestion_control_has_a_model_beside_the_noise_floor(done: Path) -> None:
    found = answer_of(done)
    assert [each.of for each in found.models] == ["cubic", "reno"]
    for each in found.models:
        assert each.found.points == POINTS // 2
        assert each.found.r2 > 0.8
        assert each.found.importances[0].factor.path == "label.ratio"
        # Two repetitions, the second one 2 % better.
        assert each.noise.variance == pytest.approx(math.log(1.02) ** 2 / 2)
        assert each.noise.error == pytest.approx(math.log(1.02) / 2 * math.sqrt(2))


def test_effects_fall_where_the_planted_cause_is(done: Path) -> None:
    chart = effects_chart(answer_of(done))
    assert chart is not None
    (panel,) = (each for each in chart.panels if each.x.label == "delay ratio")
    for curve in panel.series:
        below, above = curve.y[curve.x < 1.5], curve.y[curve.x > 2.8]
        assert below.min() > 1 > above.max()


def test_without_a_cause_no_rule_is_better_than_a_constant(tmp_path: Path) -> None:
    found = answer_of(run_with(tmp_path / "c", content(), equal))
    assert rule_lines(found, {}) == ["everywhere: either of the two"]
    assert found.unseen is not None
    assert found.unseen.silent == UNSEEN
    assert verdict(found.unseen).count("The rule is not better than always ") == 2
    assert all(each.found.r2 < 0.2 for each in found.models)


def test_a_worse_rule_is_said_to_be_worse(done: Path) -> None:
    tested = answer_of(done).unseen
    assert tested is not None
    worse = replace(tested, ahead=(Regret("always DC", 9, mean=-0.15, low=-0.2, high=-0.1),))
    said = "The rule loses more than always DC (-15.0 %, -20.0 to -10.0 % of the goodput)."
    assert verdict(worse) == said


def test_the_report_has_rule_regret_models_and_effects(
    done: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["campaign", "report", str(done)]) == 0
    text = capsys.readouterr().out
    assert "regret at 20 unseen points: the rule " in text
    html = (done / "report/report.html").read_text(encoding="utf-8")
    assert "When DC, when multipath" in html
    assert 'data-chart="when-download-gain-virtual"' in html
    (answer,) = json.loads((done / "report/answer.json").read_text(encoding="utf-8"))["when"]
    assert answer["models"][0]["noise"]["points"] == AGAIN / 2
    assert answer["unseen"]["points"] == UNSEEN
    assert answer["rule"]["terms"][0]["factor"] == "label.ratio"


def test_a_rule_that_was_written_can_be_fixed_and_is_then_tested_as_it_is(
    done: Path, tmp_path: Path
) -> None:
    assert main(["campaign", "report", str(done), "--output", str(tmp_path / "report")]) == 0
    path = tmp_path / "report/rule-download-gain.json"
    rule, digest = read_rule(str(path))
    assert len(digest) == 64
    turned = rule.model_dump(mode="json") | {"terms": [], "otherwise": "second"}
    path.write_text(json.dumps(turned), encoding="utf-8")
    found = answer_of(run_with(tmp_path / "c", content(rule=str(path)), planted))
    assert found.digest not in ("", digest)
    assert rule_lines(found, {}) == ["everywhere: multipath"]
    assert found.unseen is not None
    by_rule, _, second = found.unseen.ways
    assert by_rule.mean == second.mean


def test_a_rule_of_another_measure_is_one_error(done: Path, tmp_path: Path) -> None:
    path = tmp_path / "rule.json"
    rule = answer_of(done).rule
    assert rule is not None
    path.write_text(rule.model_copy(update={"measure": "other"}).model_dump_json())
    root = run_with(tmp_path / "c", content(rule=str(path)), planted)
    with pytest.raises(SettingsError, match=r"is of other; allowed: a rule of gain"):
        answer_of(root)


def test_a_rule_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.json"):
        read_rule(str(tmp_path / "none.json"))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"measure": "loss"}, "when.measure: loss is unknown here; allowed: gain"),
        ({"factors": ["label.size"]}, "when.factors: label.size is unknown here"),
        ({"apart": "label.size"}, "when.apart: label.size is unknown here"),
        ({"noise": "never"}, "when.noise: never is unknown here; allowed: again"),
        ({"tested_on": "never"}, "when.tested_on: never is unknown here"),
    ],
)
def test_a_wrong_question_is_one_error(tmp_path: Path, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        run_with(tmp_path / "c", content(**asked), planted)
