"""Figures of what viewers and callers notice: `rows-cdf`, `against`, `session`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from minitopo_dc.analysis.figures.chart import Chart
from minitopo_dc.analysis.tables.playback import buffer_over_time
from minitopo_dc.campaign.file.plan import read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.campaign.report.evaluation import load_sources
from minitopo_dc.campaign.report.figures import draw_experiment, experiment_chart
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError
from minitopo_dc.statistics import mean_interval
from tests.campaign.campaigns import document, pretend, run_with, write
from tests.campaign.report.test_rows import answer

ONLY = {"default": {"transport": "quic"}}
LEGS = [{"downlink": {"rate_mbps": 20}}, {"downlink": {"rate_mbps": 20}}]
X = "pdcp.batch"


def content(workload: dict[str, Any], figure: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """One configuration with two cells."""
    one = {"title": "One", "grid": {X: [2, 4]}, "figure": figure}
    base = {"mode": "dc", "legs": LEGS, "workload": workload}
    return document(base=base, configurations=ONLY, experiments={"one": one}, **fields)


def chart(root: Path) -> Chart:
    sources = load_sources([root])
    experiment = sources[0].plan.file.experiments["one"]
    found = experiment_chart(sources, "one", experiment)
    assert found is not None
    assert draw_experiment(sources, "one", experiment) is not None
    return found


def test_cumulated_shares_are_of_the_rows_of_all_runs(tmp_path: Path) -> None:
    """Two cells, two repetitions, three answers each, of which one is lost."""

    def losing(scenario: Scenario, directory: Path) -> RunResult:
        result = answer(scenario, directory)
        path = directory / "request-response.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        if scenario.seed == 1 and scenario.pdcp.batch == 2:
            path.write_text("\n".join([*lines[:-1], "3,0.2,,"]), encoding="utf-8")
        return result

    asking = {"kind": "request-response", "interval_s": 0.1, "count": 3}
    figure = {"kind": "rows-cdf", "x_label": "delay (ms)", "level": 25}
    found = chart(run_with(tmp_path / "c", content(asking, figure, repetitions=2), losing))
    (panel,) = found.panels
    (curve,) = panel.series
    assert curve.label == "default (n = 12, 1 missing)"
    assert curve.x.tolist() == pytest.approx([11, 11, 12, 12, 21, 21, 22, 22, 31, 32, 32])
    assert curve.y.tolist() == pytest.approx([n / 12 for n in range(1, 12)])
    assert (panel.level_x, panel.x.label) == (25, "delay (ms)")


def told(numbers: dict[tuple[int, int], tuple[float, float]]) -> Any:
    """Runs whose stall ratio and bitrate are those of their batch and seed."""

    def run(scenario: Scenario, directory: Path) -> RunResult:
        result = pretend(scenario, directory)
        stall, bitrate = numbers[scenario.pdcp.batch, scenario.seed]
        result.details.update(stall_ratio=stall, bitrate_mbps=bitrate)
        return result

    return run


AGAINST = {
    "kind": "against",
    "x": "bitrate_mbps",
    "x_label": "bitrate (Mbit/s)",
    "y_label": "stall ratio",
    "curves": [{"configuration": "default", "measure": "stall_ratio"}],
}
VIDEO = {"kind": "video", "duration_s": 6}


def test_a_measure_stands_against_another_with_intervals_of_both(tmp_path: Path) -> None:
    numbers = {(2, 1): (0.0, 2.0), (2, 2): (0.1, 3.0), (4, 1): (0.2, 4.0), (4, 2): (0.1, 3.0)}
    root = run_with(tmp_path / "c", content(VIDEO, AGAINST, repetitions=2), told(numbers))
    (panel,) = chart(root).panels
    (point,) = panel.series
    assert (point.label, point.x.tolist(), point.y.tolist()) == ("default (n = 4)", [3.0], [0.1])
    stall, bitrate = mean_interval([0.0, 0.1, 0.2, 0.1]), mean_interval([2.0, 3.0, 4.0, 3.0])
    assert point.low is not None
    assert point.left is not None
    assert point.right is not None
    assert point.low.tolist() == pytest.approx([stall.low])
    assert [*point.left, *point.right] == pytest.approx([bitrate.low, bitrate.high])
    assert panel.x.limits is not None
    assert panel.x.limits[0] < bitrate.low < bitrate.high < panel.x.limits[1]


def test_one_run_has_no_interval(tmp_path: Path) -> None:
    numbers = {(2, 1): (0.1, 3.0), (4, 1): (math.nan, 3.0)}
    root = run_with(tmp_path / "c", content(VIDEO, AGAINST, repetitions=1), told(numbers))
    (point,) = chart(root).panels[0].series
    assert point.label == "default (n = 1)"
    assert point.left is not None
    assert np.isnan(point.left).all()


def test_a_misspelt_measure_of_the_axis_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, content(VIDEO, AGAINST | {"x": "bitrate_mpbs"}))
    with pytest.raises(SettingsError, match=r"figure\.x: .*bitrate_mpbs.*bitrate_mbps"):
        read_plan(path, Overrides())


SEGMENTS = pd.DataFrame(
    {
        "done_s": [1.0, 3.0, 8.0],
        "buffer_s": [3.0, 4.0, 3.0],
        "stall_s": [0.0, 0.0, 1.0],
        "bitrate_mbps": [1.0, 2.0, 1.0],
    }
)
BUFFER = ([1, 1, 3, 3, 7, 8, 8], [0, 3, 1, 4, 0, 0, 3])
"""A segment of 3 s is there after 1, 3 and 8 s; the picture stands still from 7 to 8 s."""


def test_the_buffer_is_played_out_between_segments() -> None:
    time, level = buffer_over_time(SEGMENTS)
    assert (time.tolist(), level.tolist()) == BUFFER


def test_a_session_shows_buffer_and_bitrate_of_the_last_cell(tmp_path: Path) -> None:
    def played(scenario: Scenario, directory: Path) -> RunResult:
        result = pretend(scenario, directory)
        late = SEGMENTS.assign(done_s=SEGMENTS["done_s"] + (100 if scenario.pdcp.batch == 2 else 0))
        late.to_csv(directory / "video.csv", index=False)
        return result

    figure = {"kind": "session", "curves": [{"configuration": "default"}]}
    buffer, quality = chart(run_with(tmp_path / "c", content(VIDEO, figure), played)).panels
    ((line,), (steps,)) = buffer.series, quality.series
    assert (line.x.tolist(), line.y.tolist()) == BUFFER
    assert (steps.x.tolist(), steps.y.tolist(), steps.line) == ([1, 3, 8], [1, 2, 1], "steps")
    assert (buffer.y.label, quality.y.label) == ("buffer (s)", "bitrate (Mbit/s)")
