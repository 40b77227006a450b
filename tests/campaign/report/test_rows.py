"""A campaign of requests: its figure of kind `rows`, and delays as measures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from minitopo_dc.analysis import ResultError
from minitopo_dc.analysis.measures.named import measure
from minitopo_dc.campaign.file.plan import read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.campaign.report.evaluation import load_sources
from minitopo_dc.campaign.report.figures import draw_experiment
from minitopo_dc.cli import main
from minitopo_dc.runners.base import accepted
from minitopo_dc.runs.judge import blank_result, judge
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError
from minitopo_dc.workloads import Download, Measurement, Ping, RequestResponse
from minitopo_dc.workloads.request_response import request_rows
from tests.campaign.campaigns import document, pretend, run_with, write

X = "workload.count"
FIGURE = {"kind": "rows", "x": X, "y_label": "delay (ms)"}
LEGS = [{"downlink": {"rate_mbps": 20}}, {"downlink": {"rate_mbps": 20}}]
ONLY = {"default": {"transport": "quic"}}


def content(figure: dict[str, Any] = FIGURE, **fields: Any) -> dict[str, Any]:
    """Three and five requests, twice each."""
    asking = {"kind": "request-response", "interval_s": 0.1}
    return document(
        base={"mode": "dc", "legs": LEGS, "workload": asking},
        configurations=ONLY,
        experiments={"one": {"title": "One", "grid": {X: [3, 5]}, "figure": figure, **fields}},
    )


def echoes(number: int) -> list[dict[str, Any]]:
    return [
        {"leg": leg, "backhaul": 1, "time_s": 0.1 * n, "rtt_ms": 10.0 * leg}
        for leg in (1, 2)
        for n in range(number)
    ]


def answer(scenario: Scenario, directory: Path) -> RunResult:
    """The n-th request is answered after n times 10 ms and the seed's number of ms."""
    pretend(scenario, directory)
    measured = [_measured(flow.workload, scenario.seed) for flow in scenario.resolved_flows]
    flows = zip(scenario.resolved_flows, measured, strict=True)
    taken = [accepted(flow.workload, each) for flow, each in flows]
    return judge(blank_result(scenario, directory), scenario, taken, [900_000, 900_000])


def _measured(workload: Any, seed: int) -> Measurement:
    if isinstance(workload, Ping):
        trips = [{"leg": leg, "backhaul": 1, "sent": 3, "received": 3} for leg in (1, 2)]
        return Measurement(0, 1.0, {"round_trips": trips}, rows=echoes(workload.count))
    if isinstance(workload, Download):
        return Measurement(workload.size_bytes, 1.0)
    assert isinstance(workload, RequestResponse)
    sent = [0.1 * n for n in range(workload.requests)]
    times = [(at, at + 0.01 * n + 0.001 * seed) for n, at in enumerate(sent, start=1)]
    return Measurement(750 * len(times), times[-1][1], rows=request_rows(times))


def panels(root: Path) -> list[Axes]:
    """What the experiment's figure shows."""
    sources = load_sources([root])
    drawn = draw_experiment(sources, "one", sources[0].plan.file.experiments["one"])
    assert drawn is not None
    drawn.canvas.draw()
    return [axes for axes in drawn.axes if axes.lines]


def series(axes: Axes) -> list[list[tuple[float, float]]]:
    return [
        [(round(x, 6), round(y, 6)) for x, y in np.asarray(line.get_xydata()).tolist()]
        for line in axes.lines
    ]


THREE = [(0.0, 11.0), (0.1, 21.0), (0.2, 31.0)]
"""Of the first repetition, whose seed is 1."""
FIVE = [*THREE, (0.3, 41.0), (0.4, 51.0)]
TIME = 0.25


def labels(axes: Axes) -> list[str]:
    return [str(line.get_label()) for line in axes.lines]


def test_rows_are_a_line_for_each_cell_of_its_first_run(tmp_path: Path) -> None:
    """Also where cells have different numbers of requests."""
    (axes,) = panels(run_with(tmp_path / "c", content(), answer))
    assert (labels(axes), series(axes)) == (["3", "5"], [THREE, FIVE])
    assert (axes.get_title(), axes.get_ylabel()) == ("default (virtual)", "delay (ms)")


def test_rows_are_a_panel_for_each_configuration(tmp_path: Path) -> None:
    two = {"transport": "quic", "pdcp.batch": 2}
    both = content() | {"configurations": ONLY | {"other": two}}
    found = panels(run_with(tmp_path / "c", both, answer))
    titles = [axes.get_title() for axes in found]
    assert titles == ["default (virtual)", "other (virtual)"]
    assert [len(series(axes)) for axes in found] == [2, 2]


def test_a_row_without_a_value_is_a_cross(tmp_path: Path) -> None:
    def silent(scenario: Scenario, directory: Path) -> RunResult:
        result = answer(scenario, directory)
        path = directory / "request-response.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join([*lines[:-1], f"9,{TIME},,"]), encoding="utf-8")
        return result

    (axes,) = panels(run_with(tmp_path / "c", content(grid={X: [3]}), silent))
    curve, crosses = axes.lines
    assert np.isnan(np.asarray(curve.get_ydata())[-1])
    assert (crosses.get_marker(), np.asarray(crosses.get_xdata()).tolist()) == ("x", [TIME])


def test_rows_behind_the_figure_s_seconds_are_left_out(tmp_path: Path) -> None:
    (axes,) = panels(run_with(tmp_path / "c", content(FIGURE | {"seconds": 0.25}), answer))
    assert series(axes) == [THREE, THREE]


def test_a_cell_whose_first_run_failed_shows_its_next_one(tmp_path: Path) -> None:
    def sometimes(scenario: Scenario, directory: Path) -> RunResult:
        result = answer(scenario, directory)
        workload = scenario.workload
        if isinstance(workload, RequestResponse) and (workload.count, scenario.seed) == (3, 1):
            return replace(blank_result(scenario, directory), reason="it broke")
        return result

    (axes,) = panels(run_with(tmp_path / "c", content(), sometimes))
    assert series(axes)[0] == [(at, delay + 1) for at, delay in THREE]


def test_a_cell_without_a_run_that_is_ok_has_no_line(tmp_path: Path) -> None:
    def never(scenario: Scenario, directory: Path) -> RunResult:
        result = answer(scenario, directory)
        if scenario.resolved_flows[0].workload == RequestResponse(count=3, interval_s=0.1):
            return replace(blank_result(scenario, directory), reason="it broke")
        return result

    (axes,) = panels(run_with(tmp_path / "c", content(), never))
    assert labels(axes) == ["5"]


def test_pings_are_a_line_for_each_leg(tmp_path: Path) -> None:
    base = {"transport": "icmp", "mode": "sc", "workload": {"kind": "ping", "interval_s": 0.1}}
    fields: dict[str, Any] = {"base": base, "grid": {X: [3]}}
    (axes,) = panels(run_with(tmp_path / "c", content(**fields), answer, clock="real"))
    assert labels(axes) == ["3, leg 1, backhaul 1", "3, leg 2, backhaul 1"]
    assert [len(line) for line in series(axes)] == [3, 3]
    assert [line[0][1] for line in series(axes)] == [10.0, 20.0]


def test_of_several_flows_the_first_one_s_rows_are_shown(tmp_path: Path) -> None:
    flows = [{"mode": "dc"}, {"mode": "sc", "workload": {"size_mb": 1}}]
    fields = {"base": {"mode": "flows", "flows": flows}}
    (axes,) = panels(run_with(tmp_path / "c", content(**fields), answer))
    assert series(axes) == [THREE, FIVE]


def test_a_download_has_no_rows_to_show(tmp_path: Path) -> None:
    fields = {"base": {"workload": {"size_mb": 1}}, "grid": {"pdcp.batch": [2]}}
    root = run_with(tmp_path / "c", content(FIGURE | {"x": "pdcp.batch"}, **fields), answer)
    with pytest.raises(ResultError, match="workload download has no figure of rows"):
        panels(root)


def test_the_report_says_why_there_are_no_rows(tmp_path: Path) -> None:
    root = run_with(tmp_path / "c", content(), pretend)
    assert main(["campaign", "report", str(root), "--output", str(tmp_path / "report")]) == 0
    html = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "No figure: " in html
    assert "request-response.csv" in html


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ({"kind": "row", "x": X}, "figure.kind: row; allowed: 'curves', 'bars', 'legs', "),
        ({"kind": "rows"}, "figure: kind rows needs x"),
        (FIGURE | {"x": "seed"}, f"figure.x: seed is no factor here; allowed: {X}"),
        (FIGURE | {"column": "delay_ms"}, "figure.column: unknown field"),
        (FIGURE | {"seconds": "long"}, "figure.seconds: long is no number in digits"),
    ],
)
def test_a_wrong_figure_is_one_error_with_its_place(
    figure: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = write(tmp_path, content(figure))
    with pytest.raises(SettingsError) as caught:
        read_plan(path, Overrides())
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{path}: experiments.one.{message}")


def test_the_delays_of_requests_are_measures(tmp_path: Path) -> None:
    (source,) = load_sources([run_with(tmp_path / "c", content(), answer)])
    rows = source.cells_of("one", "default").to_dict("records")
    assert [measure(row, "delay_median_ms") for row in rows] == pytest.approx([21, 22, 31, 32])
    assert [measure(row, "unanswered") for row in rows] == [0, 0, 0, 0]
    assert np.isnan(measure(rows[0], "goodput_mbps"))


def test_a_campaign_of_requests_runs_on_the_virtual_clock(tmp_path: Path) -> None:
    path, output = write(tmp_path, content()), tmp_path / "out"
    assert main(["campaign", "run", str(path), "--output", str(output), "--jobs", "1"]) == 0
    (axes,) = panels(output)
    assert [len(line) for line in series(axes)] == [3, 5]
    kept = [json.loads(each.read_text()) for each in output.glob("runs/*/result.json")]
    assert sorted(result["details"]["answered"] for result in kept) == [3, 3, 5, 5]
