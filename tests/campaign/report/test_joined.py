"""Measures over the configurations of a point, what is claimed of them, and their figures."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc.campaign.file.fields import Claim, Experiment
from minitopo_dc.campaign.report.evaluation import Source, load_sources
from minitopo_dc.campaign.report.joined import (
    Estimate,
    Verdict,
    claims_table,
    estimate,
    joined_table,
    verdicts,
)
from minitopo_dc.cli import main
from minitopo_dc.run.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError
from tests.campaign.campaigns import document, fail, pretend, run_with

POINTS = 5
EXPERIMENT: dict[str, Any] = {
    "title": "A design",
    "configurations": ["one-leg", "dc"],
    "base": {"legs.*.downlink.rate_mbps": "= rate"},
    "design": {
        "method": "latin-hypercube",
        "points": POINTS,
        "factors": {"label.rate": [1, 9], "label.rtt": [1, 100]},
    },
    "joined": {
        "gain": "= dc.goodput_mbps / one_leg.goodput_mbps",
        "benefit": "= benefit(dc.goodput_mbps, [one_leg.goodput_mbps, rate])",
        "slower": "= one_leg.completion_s / dc.completion_s",
    },
}
CONFIGURATIONS = {
    "one-leg": {"transport": "quic", "mode": "sc"},
    "dc": {"transport": "quic", "mode": "dc"},
}


def made_up(scenario: Scenario, directory: Path) -> RunResult:
    """One leg has 0.5 of its rate, Dual Connectivity 1.5; the second of three seeds is off."""
    rate = scenario.legs[0].downlink.rate_mbps
    assert rate is not None
    goodput = rate * (0.5 if scenario.mode == "sc" else 1.5) * (10 if scenario.seed == 2 else 1)
    result = pretend(scenario, directory)
    return replace(result, goodput_mbps=goodput, completion_s=8 / goodput)


def one_leg_fails(scenario: Scenario, directory: Path) -> RunResult:
    return (fail if scenario.mode == "sc" else made_up)(scenario, directory)


def campaign(directory: Path, execute: Any = made_up, **fields: Any) -> Path:
    content = document(
        configurations=CONFIGURATIONS,
        repetitions=3,
        experiments={"points": EXPERIMENT | fields},
    )
    directory.mkdir(exist_ok=True)
    return run_with(directory / "c", content, execute)


def source_of(root: Path) -> tuple[Source, Experiment]:
    source = load_sources([root])[0]
    return source, source.plan.file.experiments["points"]


def test_a_point_has_the_medians_of_its_configurations_joined(tmp_path: Path) -> None:
    source, experiment = source_of(campaign(tmp_path))
    table = joined_table(source, "points", experiment)
    assert len(table) == POINTS
    assert list(table["gain"]) == pytest.approx([3.0] * POINTS)
    assert list(table["slower"]) == pytest.approx([3.0] * POINTS)
    assert list(table["benefit"]) == pytest.approx([(1.5 - 1) / 0.5] * POINTS)
    assert set(table["label.point"]) == set(range(1, POINTS + 1))


def test_a_measure_may_use_those_above_it(tmp_path: Path) -> None:
    joined = {"gain": "= dc.goodput_mbps / one_leg.goodput_mbps", "loss": "= 1 / gain"}
    source, experiment = source_of(campaign(tmp_path, joined=joined))
    assert list(joined_table(source, "points", experiment)["loss"]) == pytest.approx([1 / 3] * 5)


def test_two_ratios_are_opposed_when_they_are_clearly_on_different_sides(tmp_path: Path) -> None:
    joined = {
        "known": "= dc.goodput_mbps / dc.goodput_mbps",
        "yes": "= opposed(1.1 * known, 0.9)",
        "no": "= opposed(1.1, 1.2 * known)",
        "near": "= opposed(1.1, 0.98)",
        "unknown": "= opposed(dc.no_such_measure, 2)",
    }
    source, experiment = source_of(campaign(tmp_path, joined=joined))
    row = joined_table(source, "points", experiment).iloc[0]
    assert [row["yes"], row["no"], row["near"]] == [1, 0, 0]
    assert math.isnan(row["unknown"])


def test_a_run_that_failed_is_counted_as_one_that_never_ends(tmp_path: Path) -> None:
    source, experiment = source_of(campaign(tmp_path, one_leg_fails))
    table = joined_table(source, "points", experiment)
    assert list(table["gain"]) == [math.inf] * POINTS
    assert list(table["slower"]) == [math.inf] * POINTS
    both = campaign(tmp_path / "both", fail)
    source, experiment = source_of(both)
    assert joined_table(source, "points", experiment)["gain"].isna().all()
    assert list(joined_table(source, "points", experiment)["benefit"]) == [-1.0] * POINTS


def test_a_point_with_a_missing_run_has_no_value(tmp_path: Path) -> None:
    root = campaign(tmp_path)
    source, experiment = source_of(root)
    cell = source.plan.cells[0]
    (root / "runs" / cell.runs[0]).rename(tmp_path / "elsewhere")
    source, experiment = source_of(root)
    table = joined_table(source, "points", experiment).set_index("label.point")
    assert table["gain"].isna().sum() == 1
    assert math.isnan(table["gain"][cell.factors["label.point"]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("= nobody.goodput_mbps", "points.joined.gain.*'nobody' is undefined"),
        ("= dc.goodput_mbps +", "points.joined.gain"),
        ("= 'fast'", "points.joined.gain.*comes to a text; a number is wanted"),
        ("= '3'", "comes to a text; a number is wanted"),
        ("= none", "comes to none; a number is wanted"),
        ("= dc", "comes to a configuration; one value is wanted"),
        ("= dc[3]", "3 is no measure"),
        ("= dc.goodput_mbps.tofile('x')", "methods are not called"),
    ],
)
def test_a_wrong_measure_is_one_error(tmp_path: Path, text: str, message: str) -> None:
    source, experiment = source_of(campaign(tmp_path, joined={"gain": text}))
    with pytest.raises(SettingsError, match=message):
        joined_table(source, "points", experiment)


def claims(*values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"text": f"claim {number}"} | value for number, value in enumerate(values, start=1)]


def test_claims_hold_or_not_or_are_undecided(tmp_path: Path) -> None:
    wanted = claims(
        {"value": "= median(gain)", "least": 2.9, "most": 3.1},
        {"value": "= share(gain > 4)", "least": 0.5},
        {"value": "= mean(benefit * 0 + slower)", "most": 3.5},
    )
    source, experiment = source_of(campaign(tmp_path, claims=wanted))
    found = verdicts(joined_table(source, "points", experiment), "points", experiment)
    assert [each.word for each in found] == ["holds", "does not hold", "holds"]
    assert [each.estimate.value for each in found if each.estimate] == pytest.approx([3, 0, 3])


def test_a_claim_of_somebody_else_s_writes_nothing(tmp_path: Path) -> None:
    written = tmp_path / "written"
    source, experiment = source_of(
        campaign(tmp_path, claims=claims({"value": f"= gain.tofile('{written}')", "least": 1}))
    )
    with pytest.raises(
        SettingsError, match=r"experiments\.points\.claims: .*methods are not called"
    ):
        verdicts(joined_table(source, "points", experiment), "points", experiment)
    assert not written.exists()


def test_what_a_claim_divides_by_0_is_infinite() -> None:
    table = pd.DataFrame({"gain": [1.0, 2.0], "nil": [0.0, 0.0]})
    found = estimate(table, "= mean(gain) / mean(nil)", ["gain", "nil"])
    assert found == Estimate(math.inf, math.inf, math.inf, 2)


def test_an_interval_on_both_sides_of_a_limit_is_undecided() -> None:
    claim = Claim(text="", value="= x", least=1)
    assert Verdict(claim, Estimate(1.1, 0.9, 1.3, 5)).word == "undecided"
    assert Verdict(claim, None).word == "not run"


def test_an_interval_is_that_of_the_points_and_the_same_each_time(tmp_path: Path) -> None:
    source, experiment = source_of(campaign(tmp_path))
    table = joined_table(source, "points", experiment)
    table["rate"] = table["label.rate"]
    found = estimate(table, "= mean(rate)", ["rate"])
    assert found is not None
    assert found.low < found.value < found.high
    assert found == estimate(table, "= mean(rate)", ["rate"])


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ({"kind": "cdf", "curves": [{"measure": "speed"}]}, "speed is not in joined"),
        ({"kind": "map", "x": "label.rate", "curves": [{"measure": "gain"}]}, "map needs y"),
        ({"kind": "boxes"}, "kind boxes needs curves"),
        ({"kind": "curves", "curves": [{"configuration": "dc"}]}, "kind curves needs x"),
        (
            {"kind": "map", "x": "label.rate", "y": "label.no", "curves": [{"measure": "gain"}]},
            "figure.y: label.no is no factor",
        ),
        (
            {"kind": "cdf", "curves": [{"configuration": "dc", "measure": "gain"}]},
            "needs curves with no configuration",
        ),
    ],
)
def test_a_wrong_figure_is_one_error(tmp_path: Path, figure: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        campaign(tmp_path, figure=figure)


@pytest.mark.parametrize(
    "figure",
    [
        {"kind": "cdf", "level": 1, "curves": [{"measure": "gain"}, {"measure": "benefit"}]},
        {"kind": "boxes", "level": 0, "curves": [{"measure": "benefit", "label": "DC"}]},
        {
            "kind": "map",
            "x": "label.rate",
            "y": "label.rtt",
            "level": 2.5,
            "curves": [{"measure": "gain"}],
        },
    ],
)
@pytest.mark.parametrize("execute", [made_up, one_leg_fails])
def test_figures_over_points_and_claims_are_in_the_report(
    tmp_path: Path, figure: dict[str, Any], execute: Any
) -> None:
    wanted = claims({"value": "= median(slower)", "least": 2, "source": "they say 2.5"})
    root = campaign(tmp_path, execute, figure=figure, claims=wanted)
    assert main(["campaign", "report", str(root)]) == 0
    html = (root / "report/report.html").read_text()
    assert "they say 2.5" in html
    assert ">holds<" in html
    assert html.count("data:image/png") == 1
    with (root / "report/points-points.csv").open() as file:
        assert len(list(csv.DictReader(file))) == POINTS


def test_values_of_a_factor_are_joined_across(tmp_path: Path) -> None:
    source, experiment = source_of(across(tmp_path))
    table = joined_table(source, "points", experiment)
    assert list(table["gain"]) == pytest.approx([3.0, 3.0])
    assert list(table["label.start"]) == [0, 100]
    assert "legs.*.downlink.rate_mbps" not in table


def test_a_configuration_without_runs_has_no_value(tmp_path: Path) -> None:
    source, experiment = source_of(across(tmp_path, gain="= other[3].goodput_mbps"))
    assert joined_table(source, "points", experiment)["gain"].isna().all()


def test_a_value_that_the_factor_has_not_is_an_error(tmp_path: Path) -> None:
    source, experiment = source_of(across(tmp_path, gain="= dc[7].goodput_mbps"))
    with pytest.raises(SettingsError, match=r"joined\.gain: .* is never 7; allowed: 1, 3"):
        joined_table(source, "points", experiment)


@pytest.mark.parametrize(
    "listed",
    [
        {"joint": [{"label.ratio": [1, 3], "pdcp.ratio": [[1, 1], [3, 1]]}]},
        {
            "cells": [
                {"label.ratio": 1, "pdcp.ratio": [1, 1]},
                {"label.ratio": 3, "pdcp.ratio": [3, 1]},
            ]
        },
    ],
    ids=["joint", "cells"],
)
def test_what_moves_with_the_factor_that_is_joined_across_makes_no_points(
    tmp_path: Path, listed: dict[str, Any]
) -> None:
    points = {
        "title": "Two ratios",
        "grid": {"legs.*.downlink.rate_mbps": [1, 3]},
        **listed,
        "configurations": ["dc"],
        "across": "label.ratio",
        "joined": {"same": "= dc[3].goodput_mbps / dc[1].goodput_mbps"},
    }
    content = document(configurations=CONFIGURATIONS, experiments={"points": points})
    source, experiment = source_of(run_with(tmp_path / "c", content, made_up))
    table = joined_table(source, "points", experiment)
    assert list(table["same"]) == [1, 1]
    assert list(table["legs.*.downlink.rate_mbps"]) == [1, 3]


def test_only_a_listed_factor_can_be_gone_across() -> None:
    with pytest.raises(
        ValueError,
        match=r"across: pdcp\.batch is no factor of grid, joint or cells; allowed: label\.ratio",
    ):
        Experiment.check(
            {"title": "One", "across": "pdcp.batch", "grid": {"label.ratio": [1]}}, "one"
        )


def across(directory: Path, gain: str = "= dc[3].goodput_mbps / dc[1].goodput_mbps") -> Path:
    rates = "legs.*.downlink.rate_mbps"
    points = {
        "title": "Two starts, two rates",
        "configurations": ["dc"],
        "grid": {"label.start": [0, 100], rates: [1, 3]},
        "across": rates,
        "joined": {"gain": gain},
    }
    content = document(
        configurations=CONFIGURATIONS | {"other": {"transport": "quic"}},
        experiments={"points": points},
    )
    return run_with(directory / "c", content, made_up)


def test_a_column_whose_name_is_a_part_of_another_s_is_not_needed() -> None:
    table = pd.DataFrame({"ratio": [math.nan, math.nan], "single_ratio": [1.0, 3.0]})
    found = estimate(table, "= mean(single_ratio)", ["ratio", "single_ratio"])
    assert found is not None
    assert (found.value, found.points) == (2.0, 2)


def test_claims_of_all_experiments_are_a_table(tmp_path: Path) -> None:
    wanted = claims(
        {"value": "= median(slower)", "least": 2, "source": "they say 2.5"},
        {"value": "= median(slower)", "most": 2},
    )
    table = claims_table(load_sources([campaign(tmp_path, claims=wanted)]))
    assert list(table["verdict"]) == ["holds", "does not hold"]
    assert table["published"].iloc[0] == "they say 2.5"
    assert list(table["points"]) == [POINTS, POINTS]


@pytest.mark.parametrize("function", ["least", "most"])
def test_the_extreme_of_configurations_one_of_which_did_not_run_has_no_value(
    tmp_path: Path, function: str
) -> None:
    values = "[dc[1].goodput_mbps, other[1].goodput_mbps]"
    source, experiment = source_of(across(tmp_path, gain=f"= {function}({values})"))
    assert joined_table(source, "points", experiment)["gain"].isna().all()
