"""Options of `exec` and `shell`, and the scenario that they make."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from pwd import getpwnam
from typing import Any

from minitopo_dc.cli.options import add
from minitopo_dc.cli.options.legs import add_legs
from minitopo_dc.cli.options.rows import base_scenario
from minitopo_dc.cli.options.scenario import (
    CHOSEN,
    MODES,
    add_set,
    check_capture,
    with_assignments,
    with_capture,
)
from minitopo_dc.cli.screen import note
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.ranges import CONGESTION_CONTROL
from minitopo_dc.minitopo.mapping import paths_scenario
from minitopo_dc.minitopo.topology import Topology, read_topology
from minitopo_dc.numbers import whole
from minitopo_dc.registry import load_plugins
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Download

OPENS_PATHS_ITSELF = "a program opens its paths itself"


def add_program_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the path, the server, and where the run is kept."""
    parser.add_argument(
        "--scenario",
        type=Path,
        metavar="FILE",
        help="scenario file that gives legs, mode and PDCP in place of the options "
        "(docs/scenarios.md)",
    )
    add(parser, "-t --topo_param_file")
    _add_path_options(parser)
    add_set(parser, (*CHOSEN, "workload", "congestion_control", "options", "paths"))
    clocks = (
        "real: on emulated hosts, needs root; virtual: in a guest, without root "
        "(docs/linux-guest.md; default: real)"
    )
    add(parser, "--clock", default="real", help=clocks)
    add(parser, "--pcap", "--plugin")
    group = parser.add_argument_group("server")
    group.add_argument(
        "--server",
        default="",
        metavar="'COMMAND ARG ...'",
        help="program on the server's host, which starts before yours; no shell reads the words "
        "(default: none)",
    )
    group.add_argument(
        "--server-ready",
        type=whole,
        metavar="PORT",
        help="start your program when this TCP or UDP port is bound on the server's host "
        "(default: after half a second)",
    )
    parser.add_argument(
        "--user",
        metavar="NAME",
        help="user as whom the program and the server run (default: $SUDO_USER, else root)",
    )
    kept = "directory for time series, counters and a figure; must not exist (default: keep "
    add(parser, "--output", help=f"{kept}nothing)")
    # What a scenario has beside its path, and a user's program has no use for.
    control = CONGESTION_CONTROL
    kept_out = {"workload": Download.kind, "size": None, "congestion_control": control}
    parser.set_defaults(**kept_out, xn=None)


def program_user(arguments: argparse.Namespace) -> str:
    """Return the name of the user whom program and server run as.

    Raises:
        SettingsError: this machine has no such user.
    """
    name: str = os.environ.get("SUDO_USER", "root") if arguments.user is None else arguments.user
    try:
        return getpwnam(name).pw_name
    except KeyError:
        source = "$SUDO_USER" if arguments.user is None else "--user"
        raise SettingsError(f"{source}: no user {name!r:.80} on this machine") from None


def program_scenario(arguments: argparse.Namespace) -> Scenario:
    """Return the scenario of the path that the options describe, after checking it.

    Raises:
        SettingsError, TraceError: an option or the file is wrong; the message says what is allowed.
    """
    load_plugins(arguments.plugins)
    check_capture(arguments, getattr(arguments, "clock", None))  # the shell has none
    if arguments.capture and arguments.output is None:
        raise SettingsError("--pcap: needs --output, which the captures are kept in")
    scenario = with_capture(_path(arguments), arguments)
    check_scenario(scenario)
    return scenario


def _path(arguments: argparse.Namespace) -> Scenario:
    if arguments.scenario is not None and arguments.topology is not None:
        raise SettingsError("--scenario, -t: both describe the path; give one of them")
    if arguments.scenario is not None:
        _refuse_path_options(arguments, "--scenario")
        return with_assignments(_from_file(arguments), arguments)
    if arguments.topology is not None:
        _refuse_path_options(arguments, "-t")
        path, notes = path_of_topology(arguments.topology)
        for line in notes:
            note(line)
        fields = {**path.model_dump(), "plugins": arguments.plugins}
        return with_assignments(_checked(fields, str(arguments.topology)), arguments)
    return _checked({**base_scenario(arguments).model_dump(), "mode": arguments.mode}, "options")


def _add_path_options(parser: argparse.ArgumentParser) -> None:
    add_legs(parser)
    add(parser, "--split")
    parser.add_argument("--mode", choices=MODES, default="dc", help="mode (default: dc)")
    parser.add_argument(
        "--leg", type=whole, default=1, metavar="N", help="leg of mode sc (default: 1)"
    )
    add(parser, "--seed")


def _from_file(arguments: argparse.Namespace) -> Scenario:
    path, scenario = arguments.scenario, Scenario.load(arguments.scenario)
    if scenario.mode == "flows":
        raise SettingsError(f"{path}: mode flows; allowed for one program: {', '.join(MODES)}")
    if scenario.paths is not None:
        raise SettingsError(f"{path}: paths: {OPENS_PATHS_ITSELF}; leave them out")
    if scenario.handover is not None:
        raise SettingsError(f"{path}: handover: a program has its paths to the end; leave it out")
    if scenario.clock == "virtual" and arguments.clock != "virtual":
        raise SettingsError(f"{path}: clock: virtual; exec has that with --clock virtual")
    return _checked(scenario.model_dump(), str(path))


def _checked(fields: dict[str, Any], source: str) -> Scenario:
    """Return a path's scenario, with a transport of its mode in place of the program's own."""
    stand_in = {
        "transport": "mptcp" if fields["mode"] == "multipath" else "tcp",
        "workload": {"kind": Download.kind},
        "congestion_control": CONGESTION_CONTROL,
        "options": {},
    }
    return Scenario.check({**fields, **stand_in}, source)


def _refuse_path_options(arguments: argparse.Namespace, option: str) -> None:
    alone = argparse.ArgumentParser(add_help=False)
    _add_path_options(alone)
    unset = vars(alone.parse_args([]))
    if any(getattr(arguments, name) != value for name, value in unset.items()):
        raise SettingsError(
            f"{option}: the file has legs, mode, seed and PDCP; "
            "allowed beside it of the path's options: --set, --pcap, --plugin"
        )


def path_of_topology(file: Path) -> tuple[Scenario, tuple[str, ...]]:
    """Return the paths of a topology as a scenario, and its lines that mean nothing here.

    Raises:
        ParameterError: naming file and line of the first mistake, and what is allowed there.
    """
    topology = read_topology(file)
    path = paths_scenario(topology)
    return path, (*topology.notes, *topology.ignored, *_notes(topology, path.mode))


def _notes(topology: Topology, mode: str) -> Iterator[str]:
    """Yield notes on what one program on one client has no use for."""
    if topology.path_lines is not None:
        line = topology.path_lines.first
        yield line.says(f"ignored, as all pathAt lines: {OPENS_PATHS_ITSELF}")
    for path in topology.c2r:
        if path.backup and mode == "multipath":
            yield path.line.says(f"backup ignored: {OPENS_PATHS_ITSELF}")
