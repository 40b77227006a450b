"""`minitopo-dc run`: one scenario file, or Minitopo's two files, one result."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from minitopo_dc.clocks import default_clock, require_clock, run_checked
from minitopo_dc.commands.minitopo_cli import check_command_line, open_command_line
from minitopo_dc.commands.options import (
    add_capture_option,
    add_clock_option,
    add_ip_option,
    add_minitopo_options,
    add_output_option,
    add_plugin_option,
)
from minitopo_dc.commands.outage_option import add_outage_option, with_outages
from minitopo_dc.commands.output import new_directory
from minitopo_dc.commands.path_options import add_paths_option, path_schedule
from minitopo_dc.commands.progress import Progress
from minitopo_dc.compare import attempt
from minitopo_dc.minitopo import read_minitopo
from minitopo_dc.plugins import load_plugins
from minitopo_dc.run.check import check_scenario
from minitopo_dc.run.results import RunResult
from minitopo_dc.scenario import Clock, Scenario
from minitopo_dc.settings import SettingsError

HELP = "run one scenario file, or Minitopo's topology and experiment file"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "scenario", type=Path, nargs="?", metavar="SCENARIO.yaml", help="see docs/scenarios.md"
    )
    add_minitopo_options(parser, required=False)
    add_clock_option(parser)
    add_ip_option(parser, default=None)
    add_capture_option(parser)
    add_plugin_option(parser)
    add_paths_option(parser)
    add_outage_option(parser)
    add_output_option(parser, "run")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when the run is ok or unsupported, 1 when it failed."""
    load_plugins(arguments.plugins)
    scenario, interactive = _read(arguments)
    clock = arguments.clock or ("real" if interactive else _wanted_clock(scenario))
    scenario = _changed(scenario, arguments, clock)
    check_scenario(scenario)
    if interactive:
        check_command_line(scenario, clock)
        return open_command_line(scenario, new_directory(arguments.output, "run"))
    require_clock(clock)
    directory = new_directory(arguments.output, "run")
    with Progress(1) as progress:
        progress.begin(scenario)
        result = attempt(run_checked, scenario, directory)
        progress.end(result)
    if arguments.json:
        print(json.dumps(asdict(result), indent=1))  # noqa: T201
    else:
        _show(result, directory)
    if result.status == "ok" and (directory / "paths.csv").exists():
        from minitopo_dc.analysis.paths_figure import paths_figure  # noqa: PLC0415  # with Matplotlib: slow

        paths_figure([directory], directory / "paths.png")
    return 1 if result.status == "failed" else 0


def _changed(scenario: Scenario, arguments: argparse.Namespace, clock: Clock) -> Scenario:
    """With what the command line says otherwise."""
    capture = tuple(dict.fromkeys((*scenario.real.capture, *arguments.capture)))
    if (paths := path_schedule(arguments)) is not None:
        scenario = Scenario.check({**scenario.model_dump(), "paths": paths}, "--paths")
    if arguments.outages:
        values = scenario.model_dump()
        changed = {**values, "legs": with_outages(values["legs"], arguments)}
        scenario = Scenario.check(changed, "--outage")
    return scenario.model_copy(
        update={
            "clock": clock,
            "real": scenario.real.model_copy(update={"capture": capture}),
            "ip_version": arguments.ip_version or scenario.ip_version,
        }
    )


def _read(arguments: argparse.Namespace) -> tuple[Scenario, bool]:
    """The scenario, from its own file or from Minitopo's; notes go to standard error.

    Also whether there is no transfer in it: Mininet's command line is opened instead.
    """
    files = (arguments.topology, arguments.experiment)
    if bool(arguments.scenario) == bool(arguments.topology) or (arguments.scenario and any(files)):
        raise SettingsError("run: give SCENARIO.yaml, or -t TOPO and -x XP, or -t TOPO alone")
    if arguments.scenario is not None:
        return Scenario.load(arguments.scenario), False
    found = read_minitopo(*files)
    for note in found.notes:
        print(f"minitopo-dc: {note}", file=sys.stderr)  # noqa: T201
    return found.scenario, found.interactive


def _show(result: RunResult, directory: Path) -> None:
    console = Console()
    if result.details.get("round_trips"):
        console.print(_round_trips(result.details["round_trips"]))
    console.print(f"Result: {directory}/result.json", markup=False)


def _round_trips(found: Iterable[Mapping[str, Any]]) -> Table:
    """A line per leg and backhaul link, of workload `ping`."""
    times = ("minimum", "mean", "maximum", "serialisation")
    table = Table("leg", "backhaul", "sent", "received", *(f"{name} ms" for name in times))
    for each in found:
        values = (each[f"{name}_ms"] for name in times)
        shown = ("-" if value is None else f"{value:.2f}" for value in values)
        counts = (each[name] for name in ("leg", "backhaul", "sent", "received"))
        table.add_row(*map(str, counts), *shown)
    return table


def _wanted_clock(scenario: Scenario) -> Clock:
    """The file's clock; if it names none, what this machine can do."""
    return scenario.clock if "clock" in scenario.model_fields_set else default_clock()
