"""What each path of a run carried over time, and when paths were to open and to close."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from minitopo_dc.analysis.curves import Line, Mark, Panel, draw_series
from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.run.as_run_files import load_as_run
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import PathEvent, PathPlan
from minitopo_dc.whole_files import replacing
from minitopo_dc.workloads.paths import COLUMNS

BIN_S = 0.2
"""Two samples of the default interval: with one, rates would show where in it the samples were."""
TOGETHER_S = 0.1
"""A handover opens a path and abandons another one 0.02 s later: labels would hide each other."""
RATE_LABEL = "goodput per path (Mbit/s)"


def path_series(run: Path) -> pd.DataFrame:
    """The rows of `paths.csv` (docs/results.md); NaN where the transport does not know a number.

    Raises:
        ResultError: the file is missing or broken, or lacks a column.
    """
    path = run / "paths.csv"
    try:
        table = pd.read_csv(path)
        for column in (name for name in COLUMNS if name != "state"):
            table[column] = pd.to_numeric(table[column])
    except KeyError as error:
        raise ResultError(f"{path}: no column {error.args[0]}") from None
    except (OSError, ValueError) as error:
        raise ResultError(f"{path}: {error}") from None
    return table


def path_rates(run: Path, bin_s: float = BIN_S) -> pd.DataFrame:
    """Goodput over the paths of each leg in bins of `bin_s`.

    Columns: `time_s`, the begin of a bin, `flow` and `leg` (1, 2, ...), `rate_mbps`. Bytes count
    when the sender learns that they arrived (`bytes_acked`). Between two samples of a path they are
    spread evenly; before its first sample and after its last one there are none.

    Raises:
        ResultError: `paths.csv` is missing or broken.
    """
    series = path_series(run)
    end = series["time_s"].max() if len(series) else 0.0
    edges = np.arange(max(1, np.ceil(end / bin_s)) + 1) * bin_s
    tables = [
        pd.DataFrame(
            {"time_s": edges[:-1], "flow": flow, "leg": leg, "rate_mbps": _rates(rows, edges)}
        )
        for (flow, leg), rows in series.groupby(["flow", "leg"])
    ]
    columns = ["time_s", "flow", "leg", "rate_mbps"]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)


def paths_figure(runs: Sequence[Path], path: Path) -> bool:
    """Write `draw_paths` of these runs as PNG; whether there is anything to draw.

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
    """Draw each flow with a path schedule of these runs; None when there is none.

    A panel for each flow, a line for each leg; a mark where a path was to change.

    Raises:
        ResultError: a run's `paths.csv` is missing or broken.
    """
    panels = [panel for run in runs for panel in _panels(run)]
    return draw_series(panels) if panels else None


def path_lines(run: Path, flow: int | None = None) -> list[Line]:
    """Goodput of each leg's paths, of one flow or of all that have several."""
    rates = path_rates(run)
    if flow is not None:
        rates = rates[rates["flow"] == flow]
    several = rates["flow"].nunique() > 1
    lines = []
    for (number, leg), rows in rates.groupby(["flow", "leg"]):
        points = pd.DataFrame({"x": rows["time_s"] + BIN_S / 2, "mean": rows["rate_mbps"]})
        label = f"flow {number}, leg {leg}" if several else f"leg {leg}"
        lines.append(Line(label, int(rows["leg"].iloc[0]) - 1, False, points))
    return lines


def path_marks(run: Path, flow: int | None = None) -> list[Mark]:
    """`plan_marks` of one flow's paths, or of all."""
    return [
        mark
        for number, plan in _schedules(load_as_run(run))
        if flow in (None, number)
        for mark in plan_marks(plan)
    ]


def plan_marks(plan: PathPlan) -> list[Mark]:
    """A mark for each change of paths; changes that follow within `TOGETHER_S` share one."""
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
        yield Panel(title, RATE_LABEL, path_lines(run, number), path_marks(run, number))


def _schedules(scenario: Scenario) -> Iterator[tuple[int, PathPlan]]:
    """The flows whose paths are not simply all there from the beginning to the end."""
    for number, flow in enumerate(scenario.resolved_flows, start=1):
        if flow.paths and not flow.paths.is_whole(len(scenario.legs)):
            yield number, flow.paths


def _rates(rows: pd.DataFrame, edges: np.ndarray[tuple[int], np.dtype[np.float64]]) -> pd.Series:
    """Of one leg, over all paths that it had one after the other."""
    acked = sum(
        np.interp(edges, path["time_s"], path["bytes_acked"], left=0.0)
        for _, path in rows.dropna(subset="bytes_acked").groupby("path")
    )
    return pd.Series(np.diff(acked + np.zeros_like(edges)) * 8 / np.diff(edges) / 1e6)
