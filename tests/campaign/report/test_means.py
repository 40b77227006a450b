"""The means of a report: by configuration on the terminal, and at each point in a file."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc.campaign.report.evaluation import load_sources
from minitopo_dc.campaign.report.means import Mean, means, means_sheet
from minitopo_dc.cli import main
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from tests.campaign.campaigns import document, fail, pretend, run_with

GOODPUT = {2: 10.0, 100: 30.0}


def made_up(scenario: Scenario, directory: Path) -> RunResult:
    """10 and 30 Mbit/s by the batch, 1 less with the first seed, and 1 more with the third."""
    goodput = GOODPUT[scenario.pdcp.batch] + scenario.seed - 2
    return replace(pretend(scenario, directory), goodput_mbps=goodput)


def fails_once(scenario: Scenario, directory: Path) -> RunResult:
    failed = scenario.pdcp.batch == 2 and scenario.seed == 1
    return (fail if failed else made_up)(scenario, directory)


def found(root: Path, execute: Any = made_up, **changes: Any) -> list[Mean]:
    results = run_with(root, document(repetitions=3, **changes), execute)
    sources = load_sources([results])
    (name, experiment) = next(iter(sources[0].plan.file.experiments.items()))
    return means(sources, name, experiment)


def test_a_mean_is_over_points_and_says_of_how_many_runs_it_is(tmp_path: Path) -> None:
    rows = found(tmp_path)
    assert [each.configuration for each in rows] == ["default", "large"]
    assert {(each.mean, each.points, each.counted, each.planned) for each in rows} == {
        (20, 2, 6, 6)
    }
    assert rows[0].found.method == "bootstrap over points and repetitions"
    assert rows[0].found.low < 20 < rows[0].found.high
    assert list(rows[0].each["mean"]) == [10, 30]
    assert list(rows[0].each["runs"]) == [3, 3]


def test_a_single_point_has_the_interval_of_its_repetitions(tmp_path: Path) -> None:
    (row, _) = found(tmp_path, experiments={"one": {"title": "One", "base": {"pdcp.batch": 2}}})
    assert (row.mean, row.points, row.counted) == (10, 1, 3)
    # Student's quantile of 2 degrees of freedom times 1 over the root of 3.
    assert row.found.low == pytest.approx(10 - 4.302653 / math.sqrt(3))
    assert row.found.high == pytest.approx(10 + 4.302653 / math.sqrt(3))


def test_runs_that_failed_are_left_out_and_counted(tmp_path: Path) -> None:
    (row, _) = found(tmp_path, fails_once)
    assert (row.counted, row.planned) == (5, 6)
    assert list(row.each["mean"]) == [10.5, 30]
    (line,) = (each for each in means_sheet("Batch", [row], 1).lines(80) if "default" in each)
    assert line.endswith("5 of 6")


def test_the_measure_is_that_of_the_figure(tmp_path: Path) -> None:
    curve = {"configuration": "large", "measure": "completion_s"}
    figure = {"x": "pdcp.batch", "curves": [curve]}
    batch = {"title": "Batch", "grid": {"pdcp.batch": [2, 100]}, "figure": figure}
    rows = found(tmp_path, experiments={"batch": batch})
    assert [(each.configuration, each.measure, each.mean) for each in rows] == [
        ("default", "goodput_mbps", 20),
        ("large", "completion_s", 4),
    ]


def test_the_terminal_has_the_means_and_a_file_has_those_of_each_point(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = run_with(tmp_path, document(repetitions=3), made_up)
    assert main(["campaign", "report", str(root)]) == 0
    told = capsys.readouterr().out
    assert "Batch: means" in told
    (line,) = (each for each in told.splitlines() if each.startswith("large"))
    assert line.split()[:2] == ["large", "20.0"]
    assert line.split()[-2:] == ["2", "6"]
    assert f"{root / 'report' / 'means.csv'}" in told
    table = pd.read_csv(root / "report" / "means.csv")
    assert list(table["pdcp.batch"]) == [2, 100] * 2
    assert list(table["mean"]) == [10, 30] * 2
    assert set(table["runs"]) == {3}
