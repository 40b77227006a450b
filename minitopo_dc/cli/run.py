"""Run one scenario file, or Minitopo's topology and experiment files (`minitopo-dc run`)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from minitopo_dc.cli.options.scenario import dc_of, with_assignments, with_capture, xn_of
from minitopo_dc.cli.screen import (
    interrupted_with,
    kept_text,
    new_directory,
    note,
    print_runs,
    save_figure,
    say,
)
from minitopo_dc.clocks import attempt, build_missing, default_clock, require_clock, require_real
from minitopo_dc.errors import InputError
from minitopo_dc.fields import SettingsError
from minitopo_dc.minitopo import read_minitopo
from minitopo_dc.numbers import significant
from minitopo_dc.registry import load_plugins
from minitopo_dc.results.kept_scenario import load_as_run, load_to_run
from minitopo_dc.results.run_result import RunResult, exit_status
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.runs.needs import needs, print_once
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Download, get_workload

if TYPE_CHECKING:
    from minitopo_dc.results.tables.sheet import Sheet

# ruff: noqa: PLC0415


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when the run is ok, 1 when it is not, 3 when it is unsupported here."""
    load_plugins(arguments.plugin)
    scenario, interactive = _read(arguments)
    xn_ms = xn_of(arguments, [arguments.dc])
    if arguments.dc is not None:
        scenario = scenario.with_dc(dc_of(arguments.dc), xn_ms=xn_ms)
    scenario = with_assignments(scenario, arguments)
    named = scenario.clock if "clock" in scenario.model_fields_set else None
    clock = arguments.clock or ("real" if interactive else named or default_clock())
    scenario = with_capture(scenario.on_clock(clock), arguments, clock)
    try:
        check_scenario(scenario)
        print_once(need.words for need in needs(scenario) if not need.is_met)
    except InputError as error:
        files = (arguments.scenario, arguments.topo_param_file, arguments.experiment_param_file)
        raise SettingsError(f"{', '.join(map(str, filter(None, files)))}: {error}") from None
    if interactive:
        return open_command_line(scenario, arguments.output)
    require_clock(clock)
    build_missing([scenario])
    directory = new_directory(arguments.output, "run")
    with interrupted_with(lambda: kept_text(directory, "result.json")):
        with Console(stderr=True).status(f"{scenario.transport} {scenario.mode}"):
            result = attempt(scenario, directory)
        tell_run(result, directory, as_json=arguments.json)
        if result.status == "ok" and (directory / "paths.csv").exists():
            from minitopo_dc.plots import timeline  # with Matplotlib: slow

            save_figure(timeline(directory), directory / "timeline.png")
        return exit_status([result.status])


def _read(arguments: argparse.Namespace) -> tuple[Scenario, bool]:
    """Return the scenario, from its own file or from Minitopo's; print notes to standard error.

    The second value says whether there is no transfer in it: Mininet's command line is opened
    instead.
    """
    files = (arguments.topo_param_file, arguments.experiment_param_file)
    if bool(arguments.scenario) == bool(files[0]) or (arguments.scenario and any(files)):
        raise SettingsError("run: give SCENARIO.yaml, or -t TOPO and -x XP, or -t TOPO alone")
    if arguments.scenario is not None:
        return load_to_run(arguments.scenario), False
    run = read_minitopo(*files)
    for line in run.notes:
        note(line)
    return run.scenario, run.interactive


def tell_run(result: RunResult, directory: Path, *, as_json: bool) -> None:
    """Print a run's result as a table with its details, or as JSON."""
    if as_json:
        print(json.dumps(asdict(result), indent=1))  # noqa: T201
        return
    # Imported here, as pandas takes half a second.
    from minitopo_dc.results.measures.account import few_losses, network_sentences, packet_account
    from minitopo_dc.results.tables.runs import results_table

    labels = {"transport": result.transport, "mode": result.mode}
    frame, console = results_table([result], [labels]), Console()
    print_runs(frame, ())
    for sheet in (_flows(result.details), _round_trips(result.details)):
        if sheet.rows:
            console.print("", sheet, sep="\n")
    if (fairness := result.details.get("jain_index")) is not None:
        say(f"Jain's fairness index of the flows: {fairness:.3f}")
    print_runs(None, few_losses(frame))
    if result.status == "ok" and (directory / "gnb-summary.json").exists():
        for direction in load_as_run(directory).loads:
            say(f"Packets {direction}: {packet_account(directory, direction).sentence}")
        for sentence in network_sentences(directory):
            say(sentence)
    if (directory / "result.json").exists():
        say(f"Result: {directory}/result.json")
    else:
        note(f"no result is kept in {directory}: {result.reason}")


def _flows(details: Mapping[str, Any]) -> Sheet:
    from minitopo_dc.results.tables.sheet import Head, Sheet

    flows = details.get("flows", ())
    kinds = (Download.kind, *(flow.get("workload", Download.kind) for flow in flows))
    columns = dict.fromkeys(
        column
        for kind in kinds
        for column in get_workload(kind).columns
        if any(column.measure in flow for flow in flows)
    )
    heads = [Head(name, text=True) for name in ("flow", "transport", "mode")]
    sheet = Sheet([*heads, *(Head(*column.name_and_unit) for column in columns)])
    for number, flow in enumerate(flows, start=1):
        shown = (column.shown(flow.get(column.measure)) for column in columns)
        sheet.add(f"flow {number}", flow["transport"], flow["mode"], *shown)
    return sheet


def _round_trips(details: Mapping[str, Any]) -> Sheet:
    """Return a row per leg and backhaul link, for workload `ping`."""
    from minitopo_dc.results.tables.sheet import Head, Sheet

    times = ("minimum", "mean", "maximum", "serialisation")
    heads = [Head("leg", text=True), Head("backhaul", text=True), Head("sent"), Head("received")]
    sheet = Sheet([*heads, *(Head(name, "ms") for name in times)])
    for trip in details.get("round_trips", ()):
        values = (trip.get(f"{name}_ms") for name in times)
        shown = ("-" if value is None else significant(value) for value in values)
        counts = str(trip["sent"]), str(trip["received"])
        sheet.add(f"leg {trip['leg']}", f"link {trip['backhaul']}", *counts, *shown)
    return sheet


def open_command_line(scenario: Scenario, output: Path | None) -> int:
    """Read Mininet's commands from standard input, on running legs.

    Returns:
        0, or 1 when something of the network failed.

    Raises:
        SettingsError: the virtual clock, a path schedule, or a machine without the real clock;
            nothing has been made.
    """
    what = "run: -t TOPO without an experiment opens Mininet's command line, which"
    if scenario.clock == "virtual":
        raise SettingsError(f"{what} needs --clock real")
    if scenario.paths is not None:
        raise SettingsError(f"{what} has no transfer for paths")
    require_real(what)
    # Imported here, as the rest of the command line must work without Mininet.
    from minitopo_dc.real.elements import stop_all, testbed
    from minitopo_dc.real.machine import save_facts
    from minitopo_dc.runs.perform import RunFailedError

    directory = new_directory(output, "run")
    save_facts(directory)
    scenario.save(directory / "scenario.yaml")
    try:
        with testbed(scenario, directory) as bed:
            note("hosts server, gnb, ue, client; try: client ping -c 3 server; exit ends it")
            bed.start()
            bed.hosts.command_line()
            stop_all(bed.elements)
    except RunFailedError as error:
        note(str(error))
        return 1
    note(f"files: {directory}")
    return 0
