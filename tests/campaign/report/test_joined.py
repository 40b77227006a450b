"""Measures over the configurations of a point, what is claimed of them, and their figures."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.campaign.file.fields import Curve, Experiment
from minitopo_dc.campaign.report.evaluation import (
    Source,
    failed_runs_text,
    load_sources,
    measured_points,
)
from minitopo_dc.campaign.report.joined import (
    join,
    joined_table,
)
from minitopo_dc.cli import main
from minitopo_dc.runs.results import RunResult, Status
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


def claims(*values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"text": f"claim {number}"} | value for number, value in enumerate(values, start=1)]


def made_up(scenario: Scenario, directory: Path) -> RunResult:
    """One leg has 0.5 of its rate, Dual Connectivity 1.5; the second of three seeds is off."""
    rate = scenario.legs[0].downlink.rate_mbps
    assert rate is not None
    goodput = rate * (0.5 if scenario.mode == "sc" else 1.5) * (10 if scenario.seed == 2 else 1)
    result = pretend(scenario, directory)
    return replace(result, goodput_mbps=goodput, completion_s=8 / goodput)


def one_leg_fails(scenario: Scenario, directory: Path) -> RunResult:
    return (fail if scenario.mode == "sc" else made_up)(scenario, directory)


def campaign(
    directory: Path, execute: Any = made_up, file: dict[str, Any] | None = None, **fields: Any
) -> Path:
    content = document(
        configurations=CONFIGURATIONS,
        repetitions=3,
        experiments={"points": EXPERIMENT | fields},
    )
    content |= file or {}
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
        "unknown": "= opposed(dc.leg_bytes_9, 2)",
    }
    source, experiment = source_of(campaign(tmp_path, joined=joined))
    row = joined_table(source, "points", experiment).iloc[0]
    assert [row["yes"], row["no"], row["near"]] == [1, 0, 0]
    assert math.isnan(row["unknown"])


def failing(seeds: set[int], status: Status = "failed") -> Any:
    """Dual Connectivity's runs with these seeds do not end well."""

    def execute(scenario: Scenario, directory: Path) -> RunResult:
        if scenario.mode == "dc" and scenario.seed in seeds:
            return replace(fail(scenario, directory), status=status)
        return made_up(scenario, directory)

    return execute


@pytest.mark.parametrize("status", ["failed", "unsupported"])
def test_a_run_that_is_not_ok_is_left_out_and_counted(tmp_path: Path, status: Status) -> None:
    source, experiment = source_of(campaign(tmp_path, failing({2, 3}, status)))
    table = joined_table(source, "points", experiment)
    assert list(table["gain"]) == pytest.approx([3.0] * POINTS)
    assert list(table["runs.planned"]) == [6] * POINTS
    assert list(table["runs.ok"]) == [4] * POINTS
    assert failed_runs_text(source.cells_of("points")) == f"10 of 30 runs {status}"


@pytest.mark.parametrize("status", ["failed", "unsupported"])
def test_a_configuration_of_which_no_run_is_ok_has_no_value(tmp_path: Path, status: Status) -> None:
    source, experiment = source_of(campaign(tmp_path, failing({1, 2, 3}, status)))
    table = joined_table(source, "points", experiment)
    assert table[["gain", "benefit", "slower"]].isna().all(axis=None)


@pytest.mark.parametrize(("failed_runs", "counted"), [("missing", 1), ("endless", 3)])
def test_curves_and_points_count_the_same_runs(
    tmp_path: Path, failed_runs: str, counted: int
) -> None:
    joined = {"dc": "= dc.goodput_mbps"}
    root = campaign(tmp_path, failing({2, 3}), {"failed_runs": failed_runs}, joined=joined)
    source, experiment = source_of(root)
    curve = measured_points(source, "points", Curve(configuration="dc"), "label.rate")
    assert list(curve["mean"]) == pytest.approx(list(1.5 * curve["x"] / counted))
    assert list(curve["runs"]) == [counted] * POINTS
    assert list(curve["planned"]) == [3] * POINTS
    points = join(source, "points", experiment)
    assert list(points.runs["dc"]) == [counted] * POINTS
    expected = [0.0] * POINTS if counted == 3 else list(curve["mean"])
    assert list(points.table["dc"]) == pytest.approx(expected)


def test_a_run_that_failed_never_ends_where_the_file_says_so(tmp_path: Path) -> None:
    endless = {"failed_runs": "endless"}
    source, experiment = source_of(campaign(tmp_path, one_leg_fails, file=endless))
    table = joined_table(source, "points", experiment)
    assert list(table["gain"]) == [math.inf] * POINTS
    assert list(table["slower"]) == [math.inf] * POINTS
    both = campaign(tmp_path / "both", fail, file=endless)
    source, experiment = source_of(both)
    assert joined_table(source, "points", experiment)["gain"].isna().all()
    assert list(joined_table(source, "points", experiment)["benefit"]) == [-1.0] * POINTS


def test_only_failure_is_endless(tmp_path: Path) -> None:
    unsupported = failing({1, 2, 3}, "unsupported")
    root = campaign(tmp_path, unsupported, file={"failed_runs": "endless"})
    source, experiment = source_of(root)
    assert joined_table(source, "points", experiment)["gain"].isna().all()


def test_a_point_without_any_run_of_a_configuration_has_no_value(tmp_path: Path) -> None:
    root = campaign(tmp_path)
    source, experiment = source_of(root)
    cell = source.plan.cells[0]
    for run in cell.runs:
        (root / "runs" / run).rename(tmp_path / run)
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
    with pytest.raises(SettingsError, match=message):
        source, experiment = source_of(campaign(tmp_path, joined={"gain": text}))
        joined_table(source, "points", experiment)


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
    endless = {"failed_runs": "endless"}
    root = campaign(tmp_path, execute, endless, figure=figure, claims=wanted)
    assert main(["campaign", "report", str(root)]) == 0
    html = (root / "report/report.html").read_text()
    assert "they say 2.5" in html
    assert ">holds<" in html
    assert html.count("<figure data-chart=") == 1
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


@pytest.mark.parametrize("function", ["least", "most"])
def test_the_extreme_of_configurations_one_of_which_did_not_run_has_no_value(
    tmp_path: Path, function: str
) -> None:
    values = "[dc[1].goodput_mbps, other[1].goodput_mbps]"
    source, experiment = source_of(across(tmp_path, gain=f"= {function}({values})"))
    assert joined_table(source, "points", experiment)["gain"].isna().all()
