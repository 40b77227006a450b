"""``minitopo-dc run``: one scenario file, or Minitopo's two files, one result."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from minitopo_dc.commands.options import (
    add_capture_option,
    add_clock_option,
    add_ip_option,
    add_minitopo_options,
    add_output_option,
)
from minitopo_dc.commands.output import new_directory
from minitopo_dc.commands.progress import Progress
from minitopo_dc.execute import check_scenario, default_clock, require_real, run_scenario
from minitopo_dc.minitopo import read_minitopo
from minitopo_dc.scenario import Clock, Scenario
from minitopo_dc.settings import SettingsError

if TYPE_CHECKING:
    from minitopo_dc.emulation.ping import RoundTrips

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
    add_output_option(parser, "run")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when the run is ok or unsupported, 1 when it failed."""
    scenario = _read(arguments)
    clock = arguments.clock or _wanted_clock(scenario)
    capture = tuple(dict.fromkeys((*scenario.capture, *arguments.capture)))
    version = arguments.ip_version or scenario.ip_version
    changes = {"clock": clock, "capture": capture, "ip_version": version}
    scenario = scenario.model_copy(update=changes)
    if scenario.transport == "ping":
        scenario.read_traces()
        return _ping(scenario, arguments)
    check_scenario(scenario)
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


def _read(arguments: argparse.Namespace) -> Scenario:
    """The scenario, from its own file or from Minitopo's two; notes go to standard error."""
    files = (arguments.topology, arguments.experiment)
    if (arguments.scenario is None) != all(files) or (arguments.scenario and any(files)):
        raise SettingsError("run: give SCENARIO.yaml, or -t TOPO and -x XP")
    if arguments.scenario is not None:
        return Scenario.load(arguments.scenario)
    found = read_minitopo(*files)
    for note in found.notes:
        print(f"minitopo-dc: {note}", file=sys.stderr)  # noqa: T201
    return found.scenario


def _ping(scenario: Scenario, arguments: argparse.Namespace) -> int:
    """Round-trip times; 0 when every pair of addresses had an answer."""
    if scenario.clock == "virtual":
        raise SettingsError("transport ping needs the real clock: this is clock: virtual")
    require_real("transport ping")
    # Not above: the virtual clock must work without Mininet.
    from minitopo_dc.emulation import ping  # noqa: PLC0415
    from minitopo_dc.emulation.elements import ElementFailedError  # noqa: PLC0415

    ping.check_ping(scenario)
    directory = new_directory(arguments.output, "run")
    try:
        found = ping.run_ping(scenario, directory)
    except ElementFailedError as error:
        print(f"minitopo-dc: {error}", file=sys.stderr)  # noqa: T201
        return 1
    if arguments.json:
        print(json.dumps(ping.as_json(found), indent=1))  # noqa: T201
    else:
        Console().print(_table(found), f"Result: {directory}/ping.json")
    return 0 if all(each.received for each in found) else 1


def _table(found: Iterable[RoundTrips]) -> Table:
    columns = ("minimum ms", "mean ms", "maximum ms", "serialisation ms")
    table = Table("leg", "backhaul", "sent", "received", *columns)
    for each in found:
        times = (each.minimum_ms, each.mean_ms, each.maximum_ms, each.serialisation_ms)
        shown = ("-" if value is None else f"{value:.2f}" for value in times)
        counts = (each.leg, each.backhaul or "-", each.sent, each.received)
        table.add_row(*map(str, counts), *shown)
    return table


def _wanted_clock(scenario: Scenario) -> Clock:
    """The file's clock; if it names none, what this machine can do."""
    return scenario.clock if "clock" in scenario.model_fields_set else default_clock()
