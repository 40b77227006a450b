"""The figure of what legs offer and which of them have a path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.lines import Line2D

from minitopo_dc.analysis.figures.path_rates import plan_marks
from minitopo_dc.analysis.figures.schedule import draw_schedule
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import PathEvent, PathPlan


def legs_of(*changes: list[dict[str, float]]) -> list[dict[str, Any]]:
    return [{"downlink": {"rate_mbps": 10, "changes": each}} for each in changes]


def heights(line: Line2D) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(line.get_ydata(), dtype=float)


def scenario(**more: Any) -> Scenario:
    given = {"transport": "mpquic-picoquic", "mode": "multipath", "clock": "virtual"}
    return Scenario.check(given | more, "test")


def test_a_handover_moves_the_capacity_that_has_a_path_to_the_better_leg() -> None:
    legs = legs_of([{"at_s": 2, "rate_mbps": 1}], [])
    figure = draw_schedule(scenario(legs=legs, handover={"case": 1}), 6)
    offered, used = figure.axes
    assert [list(heights(line)) for line in offered.lines] == [[10, 10, 1, 1, 1, 1], [10] * 6]
    first, second = map(heights, used.lines[:2])
    assert list(first[:3]) == [10, 10, 1]
    assert np.isnan(first[3:]).all()
    assert np.isnan(second[:3]).all()
    assert list(second[3:]) == [10, 10, 10]


def test_without_a_schedule_every_leg_has_a_path() -> None:
    offered, used = draw_schedule(scenario(legs=legs_of([], [])), 3).axes
    assert [list(heights(line)) for line in used.lines] == [[10] * 3] * 2
    assert len(offered.lines) == 2


@pytest.mark.parametrize(
    ("later", "labels"), [(0.02, ["open 2, abandon 1"]), (1, ["open 2", "abandon 1"])]
)
def test_changes_that_follow_at_once_share_a_mark(later: float, labels: list[str]) -> None:
    plan = PathPlan((1,), (PathEvent(3, "open", 2), PathEvent(3 + later, "abandon", 1)))
    assert [mark.label for mark in plan_marks(plan)] == labels
