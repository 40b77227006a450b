"""`minitopo-dc compare`: link-layer Dual Connectivity against transport multipath, once."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

import pandas as pd
from rich.console import Console

from minitopo_dc.analysis import compare_table, render_table, results_table, save_tables
from minitopo_dc.analysis.measures.verdict import findings
from minitopo_dc.analysis.tables.labels import compared_labels, labelled
from minitopo_dc.clocks import chosen_jobs, default_clock, require_clock, run_checked
from minitopo_dc.commands.options.pdcp import add_dc_options
from minitopo_dc.commands.options.scenario import (
    add_capture_option,
    add_clock_option,
    add_ip_option,
    add_jobs_option,
    add_leg_options,
    add_output_option,
    add_plugin_option,
    add_retry_option,
    add_transfer_options,
    base_scenario,
    better_leg,
    rows,
)
from minitopo_dc.commands.options.schedules import add_outage_option, add_paths_option
from minitopo_dc.commands.screen import Progress, new_directory
from minitopo_dc.compare import planned_runs, run_all
from minitopo_dc.files import write_whole
from minitopo_dc.numbers import whole
from minitopo_dc.run.capacity import capacity_over_time
from minitopo_dc.run.check import check_scenario
from minitopo_dc.run.results import FINE, RunResult, flow_windows
from minitopo_dc.runners.base import all_runners
from minitopo_dc.scenario import Scenario, as_run
from minitopo_dc.settings import SettingsError
from minitopo_dc.workloads import Workload

MOST_REPETITIONS = 10_000
"""Of one comparison, which lists them all; a campaign may have more."""
HELP = "compare transports on one leg, over Dual Connectivity, and over several paths"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_leg_options(parser)
    add_outage_option(parser)
    add_dc_options(parser, several=True)
    add_transfer_options(parser)
    add_paths_option(parser)
    add_ip_option(parser)
    add_clock_option(parser)
    add_capture_option(parser)
    add_plugin_option(parser)
    add_jobs_option(parser)
    parser.add_argument(
        "--repetitions", type=whole, default=3, metavar="N", help="runs of each row (3)"
    )
    add_retry_option(parser)
    add_output_option(parser, "compare")
    parser.add_argument(
        "--json", action="store_true", help="print the rows as a JSON list instead of the table"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when every run is ok or unsupported, else 1."""
    if not 1 <= arguments.repetitions <= MOST_REPETITIONS:
        allowed = f"1 to {MOST_REPETITIONS}"
        raise SettingsError(f"--repetitions: {arguments.repetitions}; allowed: {allowed}")
    base = base_scenario(arguments)
    leg = arguments.leg or better_leg(base)
    base = base.model_copy(update={"leg": leg, "clock": arguments.clock or default_clock()})
    jobs = chosen_jobs(arguments.jobs, base.clock)
    wanted = rows(arguments, base.clock, base.workload.kind)
    planned = list(planned_runs(base, wanted, arguments.repetitions))
    for _, scenario in planned[: len(wanted)]:  # repetitions differ in their seed only
        check_scenario(scenario)
    require_clock(base.clock)
    root = new_directory(arguments.output, "compare")
    results = _run(planned, root, jobs, arguments.retry_disturbed)
    whole = _report(base, results, root, as_json=arguments.json)
    return 0 if whole and all(result.status in FINE for result in results) else 1


def _run(
    planned: list[tuple[int, Scenario]], root: Path, jobs: int, retry_disturbed: int
) -> list[RunResult]:
    results = []
    with Progress(len(planned)) as progress:
        outcomes = run_all(planned, root, run_checked, jobs, retry_disturbed)
        for _, scenario in planned:
            progress.begin(scenario)
            results.append(next(outcomes))
            progress.end(results[-1])
    return results


def _report(base: Scenario, results: list[RunResult], root: Path, *, as_json: bool) -> bool:
    """Print the table, or the rows as JSON; then write tables and figures. False: they cannot be.

    What was measured is told even where nothing can be written any more.
    """
    frame = results_table(results)
    if as_json:
        print(json.dumps([asdict(result) for result in results], indent=1))  # noqa: T201
    else:
        labels = {each.name: each.label for each in all_runners()}
        Console().print(render_table(compare_table(frame), labels))
    found = findings(frame, {each.name: each.stack for each in all_runners()})
    if not as_json:
        for each in found:
            Console().print(each.sentence, markup=False, highlight=False)
    try:
        files = _save(base, results, frame, root)
        verdict = json.dumps([each.to_json() for each in found], indent=1)
        write_whole(root / "verdict.json", verdict)
    except OSError as error:
        print(f"minitopo-dc: {root}: {error.strerror}; no tables", file=sys.stderr)  # noqa: T201
        return False
    if not as_json:
        shown = ", ".join(files)
        Console().print(f"Results: {root} ({shown}, one directory per run)")
    return True


def _save(
    base: Scenario, results: list[RunResult], frame: pd.DataFrame, root: Path
) -> tuple[str, ...]:
    """Write tables and figures; return their names."""
    # Not above: Matplotlib takes a second.
    # ruff: noqa: PLC0415
    from minitopo_dc.analysis.figures.paths import paths_figure
    from minitopo_dc.analysis.figures.received import goodput_figure
    from minitopo_dc.analysis.figures.rows import rows_figure

    save_tables(labelled(frame, compared_labels(frame)), root)
    longest = max((_end_s(result) for result in results), default=0) or 1.0
    figure = root / _figure_name(base.workload)
    if base.workload.figure is None:
        capacity = capacity_over_time(as_run(base).scenario, longest, _step(longest))
        goodput_figure(frame, capacity, figure)
    else:
        rows_figure(frame, base.workload, figure)
    drawn = paths_figure(_first_of_each(results), root / "paths.png")
    tables = ("results.csv", "results.parquet", figure.name)
    return (*tables, "paths.png") if drawn else tables


def _first_of_each(results: list[RunResult]) -> list[Path]:
    """The first run that is ok of each transport and mode."""
    found: dict[tuple[str, str], Path] = {}
    for result in results:
        if result.status == "ok":
            found.setdefault((result.transport, result.mode), Path(result.directory))
    return list(found.values())


def _figure_name(workload: Workload) -> str:
    return "goodput.png" if workload.figure is None else f"{workload.kind}.png"


def _end_s(result: RunResult) -> float:
    """When the last client had ended, s since the elements' start; 0 of a run that is not ok."""
    if result.completion_s is None:
        return 0.0
    return max(end for _, end in flow_windows(result.details, result.completion_s))


def _step(seconds: float) -> float:
    """Resolution of the figure in s: a short transfer must still have some tens of points."""
    return 0.5 if seconds > 15 else 0.2
