"""A campaign of path schedules: their times as factors, and the figure of kind `paths`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from minitopo_dc.campaign.report.evaluation import load_sources
from minitopo_dc.campaign.report.figures import draw_experiment
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads.path_reports import PathFile, PathSample
from tests.campaign.campaigns import document, pretend, run_with

AT = "paths.schedule.0.at_s"
EXPERIMENT = {
    "title": "Openings",
    "base": {"mode": "multipath", "paths": {"initial": [1], "schedule": [{"at_s": 9, "open": 2}]}},
    "grid": {AT: [1, 2]},
    "figure": {"kind": "paths", "x": AT},
}


def with_paths(scenario: Scenario, directory: Path) -> RunResult:
    """A second path from its opening to 4 s."""
    (flow,) = scenario.resolved_flows
    assert flow.paths is not None
    opened_s = flow.paths.events[0].at_s
    with PathFile(directory / "paths.csv") as file:
        for step in range(5):
            first = PathSample(float(step), 1, 0, "open", bytes_acked=125_000 * step)
            second = PathSample(opened_s + step / 2, 2, 1, "open", bytes_acked=62_500 * step)
            file.write(1, [first, second])
    return replace(pretend(scenario, directory), transport="mptcp", mode="multipath")


def test_a_cell_is_a_panel_whose_changes_are_marked_where_they_were(tmp_path: Path) -> None:
    content = document(
        experiments={"open": EXPERIMENT}, configurations={"mptcp": {"transport": "mptcp"}}
    )
    sources = load_sources([run_with(tmp_path / "c", content, with_paths, clock="real")])
    drawn = draw_experiment(sources, "open", sources[0].plan.file.experiments["open"])
    assert drawn is not None
    marks = [(axes.texts[0].get_text(), axes.lines[2].get_xdata()[0]) for axes in drawn.axes]  # type: ignore[index]
    assert marks == [("open 2", 1), ("open 2", 2)]
    assert [line.get_label() for line in drawn.axes[0].lines[:2]] == ["leg 1", "leg 2"]
