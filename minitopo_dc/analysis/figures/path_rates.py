"""Figures of what each leg and path of a run carried over time, and when paths were to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
import pandas as pd

from minitopo_dc.analysis.figures.chart import (
    Axis,
    Chart,
    Mark,
    Panel,
    Series,
    draw,
    numbers,
    plain,
)
from minitopo_dc.analysis.tables.rates import BIN_S, leg_rates, path_rates
from minitopo_dc.files import replacing
from minitopo_dc.runs.results import load_as_run
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import Direction, PathEvent, PathPlan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOGETHER_S = 0.1
"""The time within which changes share a label, as labels would hide each other: a handover opens a
path and abandons another one 0.02 s later."""
RATE_LABEL = "goodput per path (Mbit/s)"
TIME = Axis("time (s)", from_zero=True)


def paths_figure(runs: Sequence[Path], path: Path) -> bool:
    """Write `draw_paths` of these runs as PNG; return whether there is anything to draw.

    Raises:
        ResultError: a run's `paths.csv` is missing or broken.
        OSError: `path` cannot be written.
    """
    figure = draw_paths(runs)
    if figure is not None:
        with replacing(path) as partial:
            figure.savefig(partial, format="png")
    return figure is not None


def draw_paths(runs: Sequence[Path]) -> Figure | None:
    """Draw each flow with a path schedule of these runs; return None when there is none.

    A flow has a panel, and each leg a line; a mark shows where a path was to change.

    Raises:
        ResultError: a run's `paths.csv` is missing or broken.
    """
    panels = tuple(panel for run in runs for panel in _panels(run))
    return draw(Chart("paths", "", panels)) if panels else None


def path_lines(run: Path, flow: int | None = None) -> list[Series]:
    """Return the goodput of each leg's paths, for one flow or all that have several paths."""
    rates = path_rates(run)
    if flow is not None:
        rates = rates[rates["flow"] == flow]
    several = rates["flow"].nunique() > 1
    lines: list[Series] = []
    for (number, leg), rows in rates.groupby(["flow", "leg"]):
        label = f"flow {number}, leg {leg}" if several else f"leg {leg}"
        middles = numbers(rows["time_s"] + BIN_S / 2)
        lines.append(Series(label, middles, numbers(rows["rate_mbps"]), plain(len(lines))))
    return lines


def path_marks(run: Path, flow: int | None = None) -> list[Mark]:
    """Return `plan_marks` of one flow's paths, or of all."""
    return [
        mark
        for number, plan in _schedules(load_as_run(run))
        if flow in (None, number)
        for mark in plan_marks(plan)
    ]


def plan_marks(plan: PathPlan) -> list[Mark]:
    """Return a mark for each change of paths; changes within `TOGETHER_S` share one."""
    groups: list[list[PathEvent]] = []
    for event in plan.events:
        if groups and event.at_s - groups[-1][0].at_s < TOGETHER_S:
            groups[-1].append(event)
        else:
            groups.append([event])
    return [
        Mark(
            group[0].at_s,
            ", ".join(f"{event.action} {event.leg}" for event in group),
            group[0].leg - 1,
        )
        for group in groups
    ]


def _panels(run: Path) -> Iterator[Panel]:
    scenario = load_as_run(run)
    for number, _ in _schedules(scenario):
        transport = scenario.resolved_flows[number - 1].transport
        title = f"{transport} multipath" + (f", flow {number}" if scenario.flows else "")
        series, marks = path_lines(run, number), path_marks(run, number)
        yield Panel(title, TIME, Axis(RATE_LABEL, from_zero=True), tuple(series), tuple(marks))


def _schedules(scenario: Scenario) -> Iterator[tuple[int, PathPlan]]:
    """Yield the flows whose paths are not simply all there from the beginning to the end."""
    for number, flow in enumerate(scenario.resolved_flows, start=1):
        if flow.paths and not flow.paths.is_whole(len(scenario.legs)):
            yield number, flow.paths


def legs_figure(run: Path, path: Path) -> None:
    """Draw the rates of a run's legs as PNG: a panel for each direction, a line for each leg.

    Raises:
        ResultError: a file of an element's is broken.
        OSError: one of them cannot be read, or `path` cannot be written.
    """
    y = Axis("rate of IP bytes (Mbit/s)", from_zero=True)
    panels = tuple(
        Panel(direction, TIME, y, tuple(_lines(leg_rates(run, direction))))
        for direction in get_args(Direction)
    )
    with replacing(path) as partial:
        draw(Chart("legs", "", panels)).savefig(partial, format="png")


def _lines(rates: pd.DataFrame) -> Iterator[Series]:
    for number, (leg, rows) in enumerate(rates.groupby("leg")):
        times = np.append(rows["time_s"], rows["time_s"].iloc[-1] + BIN_S)
        values = np.append(rows["rate_mbps"], 0.0)
        yield Series(f"leg {leg}", times, values, plain(number), "steps")
