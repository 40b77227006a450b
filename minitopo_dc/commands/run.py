"""``minitopo-dc run``: one scenario file, one result."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from minitopo_dc.commands.options import add_clock_option
from minitopo_dc.commands.output import new_directory
from minitopo_dc.commands.progress import Progress
from minitopo_dc.execute import default_clock, run_scenario
from minitopo_dc.scenario import Clock, Scenario

HELP = "run one scenario file"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "scenario", type=Path, metavar="SCENARIO.yaml", help="see docs/scenarios.md"
    )
    add_clock_option(parser)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="results directory; must not exist (results/run-TIME)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when the run is ok or unsupported, 1 when it failed."""
    scenario = Scenario.load(arguments.scenario)
    clock = arguments.clock or _wanted_clock(scenario)
    scenario = scenario.model_copy(update={"clock": clock})
    scenario.read_traces()
    directory = new_directory(arguments.output, "run")
    with Progress(1) as progress:
        progress.begin(scenario)
        result = run_scenario(scenario, directory)
        progress.end(result)
    if arguments.json:
        print(json.dumps(asdict(result), indent=1))  # noqa: T201
    else:
        Console().print(f"Result: {directory}/result.json")
    return 1 if result.status == "failed" else 0


def _wanted_clock(scenario: Scenario) -> Clock:
    """The file's clock; if it names none, what this machine can do."""
    return scenario.clock if "clock" in scenario.model_fields_set else default_clock()
