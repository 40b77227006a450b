"""A figure of what the legs of a scenario offer over time, and which of them have a path."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minitopo_dc.analysis.figures.chart import Axis, Chart, Panel, Series, draw, lines
from minitopo_dc.analysis.figures.path_rates import TIME, plan_marks
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.resolve import resolve_scenario
from minitopo_dc.settings import PathPlan
from minitopo_dc.units import NS_PER_S

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP_S = 1
"""The time over which capacities are means: those of a drive are of whole seconds."""
CAPACITY_LABEL = "capacity downlink (Mbit/s)"


def draw_schedule(scenario: Scenario, until_s: float) -> Figure:
    """Draw the capacity of all legs, and of those on which flow 1 has a path that is no backup.

    Args:
        scenario: the given one; its handover rule becomes a path schedule here, as in a run.
        until_s: the end of the figure, in s since time zero of the legs.

    Raises:
        SettingsError, TraceError: a trace is missing or wrong, or no leg ever has any capacity.
    """
    made = resolve_scenario(scenario).scenario
    legs = range(1, len(made.legs) + 1)
    seconds = range(0, math.ceil(until_s), STEP_S)
    offered = {leg: [_mbps(made, leg, second) for second in seconds] for leg in legs}
    plan = made.resolved_flows[0].paths or PathPlan(tuple(legs))
    used = {
        leg: [
            rate if _is_open(plan, leg, second) else math.nan
            for second, rate in zip(seconds, offered[leg], strict=True)
        ]
        for leg in legs
    }
    y = Axis(CAPACITY_LABEL, from_zero=True)
    panels = (
        Panel("all legs", TIME, y, _lines(offered)),
        Panel("legs with a path", TIME, y, _lines(used), tuple(plan_marks(plan))),
    )
    return draw(Chart("schedule", "", panels, together=True))


def _mbps(scenario: Scenario, leg: int, second: int) -> float:
    capacity = scenario.legs[leg - 1].downlink.capacity()
    bits = capacity.bits_between(second * NS_PER_S, (second + STEP_S) * NS_PER_S)
    return bits / STEP_S / 1e6


def _is_open(plan: PathPlan, leg: int, second: int) -> bool:
    """Return whether a path is open in the middle of a second.

    Where two paths overlap for a moment, the new one counts.
    """
    middle = second + STEP_S / 2
    return any(since <= middle < until for since, until in plan.available_periods(leg))


def _lines(rates: dict[int, list[float]]) -> tuple[Series, ...]:
    found = {f"leg {leg}": (range(0, STEP_S * len(row), STEP_S), row) for leg, row in rates.items()}
    return lines(found, "steps")
