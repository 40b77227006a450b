"""Run your own program, or a shell, over the legs (`minitopo-dc exec`, `minitopo-dc shell`)."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from pwd import getpwnam
from typing import TYPE_CHECKING, Any, Literal

from minitopo_dc.cli.commands import PATH
from minitopo_dc.cli.options import CONTROL, MODES, add_options
from minitopo_dc.cli.options.scenario import with_assignments, with_capture
from minitopo_dc.cli.screen import interrupted_with, kept_text, new_directory, note, save_figure
from minitopo_dc.clocks import require_real
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.ranges import CONGESTION_CONTROL
from minitopo_dc.linux_guest import obstacle as guest_obstacle
from minitopo_dc.minitopo.mapping import paths_scenario
from minitopo_dc.minitopo.topology import read_topology
from minitopo_dc.numbers import amount, significant
from minitopo_dc.real.machine import TOOLS, save_facts
from minitopo_dc.registry import load_plugins
from minitopo_dc.runners.programs import not_installed
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Scenario
from minitopo_dc.scratch import scratch
from minitopo_dc.workloads import Download

if TYPE_CHECKING:
    from minitopo_dc.results.run_result import ProgramResult


OPENS_PATHS_ITSELF = "a program opens its paths itself"


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
    load_plugins(arguments.plugin)
    if arguments.pcap and arguments.output is None:
        raise SettingsError("--pcap: needs --output, which the captures are kept in")
    scenario = with_capture(_path(arguments), arguments, arguments.clock)
    check_scenario(scenario)
    return scenario


def _path(arguments: argparse.Namespace) -> Scenario:
    if arguments.scenario is not None and arguments.topo_param_file is not None:
        raise SettingsError("--scenario, -t: both describe the path; give one of them")
    if arguments.scenario is not None:
        _refuse_path_options(arguments, "--scenario")
        return with_assignments(_from_file(arguments), arguments)
    if arguments.topo_param_file is not None:
        _refuse_path_options(arguments, "-t")
        path, notes = path_of_topology(arguments.topo_param_file)
        for line in notes:
            note(line)
        fields = {**path.model_dump(), "plugins": arguments.plugin}
        return with_assignments(_checked(fields, str(arguments.topo_param_file)), arguments)
    from minitopo_dc.cli.options.rows import base_scenario

    # What a scenario has beside its path, and a user's program has no use for.
    beside = {"workload": Download.kind, "size": None, "congestion_control": CONTROL, "xn": None}
    given = {**vars(arguments), **beside, "split": [arguments.split]}
    base = base_scenario(argparse.Namespace(**given))
    return _checked({**base.model_dump(), "mode": arguments.mode}, "options")


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
    add_options(alone, PATH)
    unset = vars(alone.parse_args([]))
    if any(getattr(arguments, name) != value for name, value in unset.items()):
        raise SettingsError(
            f"{option}: the file has legs, mode, seed and PDCP; "
            "allowed beside it of the path's options: --set, --pcap, --plugin"
        )


def path_of_topology(file: Path) -> tuple[Scenario, tuple[str, ...]]:
    """Return the paths of a topology as a scenario, and its lines that mean nothing here.

    Raises:
        SettingsError: naming file and line of the first mistake, and what is allowed there.
    """
    topology = read_topology(file)
    path = paths_scenario(topology)
    words = f"ignored, as all pathAt lines: {OPENS_PATHS_ITSELF}"
    needless = [line.says(words) for line in (topology.path_lines or ())[:1]]
    if path.mode == "multipath":
        backups = [leg.line for leg in topology.c2r if leg.backup]
        needless += [line.says(f"backup ignored: {OPENS_PATHS_ITSELF}") for line in backups]
    return path, (*topology.notes, *topology.ignored, *needless)


FAILED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
"""Exit statuses of programs that run others (env(1), timeout(1)): this one failed; the program
cannot be executed; there is none of this name."""


def execute(arguments: argparse.Namespace) -> int:
    """Return the program's or the shell's status; 128 plus the number of a signal that ended it."""
    if arguments.command == "shell":
        return _shell(arguments)
    if not arguments.words:
        raise SettingsError("exec: no COMMAND; write it behind --, e.g. exec -- ping -c 3 10.0.0.2")
    return run_user_program(arguments, tuple(arguments.words))


def run_user_program(
    arguments: argparse.Namespace, command: tuple[str, ...], banner: str = ""
) -> int:
    """Run a program over the path of the options, report, and return its exit status.

    Raises:
        SettingsError, TraceError: an option is wrong, or this machine lacks what the path needs.
    """
    server = _server(arguments)
    is_virtual = arguments.clock == "virtual"
    if is_virtual and arguments.user is not None:
        raise SettingsError("--user: only the real clock has it; in a guest all are root")
    path = program_scenario(arguments)
    if not is_virtual:
        require_real(arguments.command)
    if (missing := guest_obstacle() if is_virtual else not_installed(TOOLS)) is not None:
        raise SettingsError(missing)
    if shutil.which(command[0]) is None:
        is_there = os.sep in command[0] and Path(command[0]).exists()
        note(f"{command[0]} cannot be executed" if is_there else f"no program {command[0]}")
        return NOT_EXECUTABLE if is_there else NOT_FOUND
    run = _prepared(arguments, path, command, server, banner)
    kept = arguments.output is not None
    with (
        nullcontext(new_directory(arguments.output, "exec")) if kept else scratch() as directory,
        interrupted_with(lambda: kept_text(directory, "exec.json")) if kept else nullcontext(),
    ):
        if kept and not is_virtual:
            save_facts(directory)
        result = run(directory)
        _tell(result, directory, kept=kept)
    return FAILED if result.exit_status is None else result.exit_status


# Imported once it is known that this machine has what is imported.
# ruff: noqa: PLC0415


def _prepared(
    arguments: argparse.Namespace,
    path: Scenario,
    command: tuple[str, ...],
    server: tuple[str, ...],
    banner: str,
) -> Callable[[Path], ProgramResult]:
    """Return what runs the programs on the clock of the options, in a directory."""
    if arguments.clock == "virtual":
        from minitopo_dc.results.run_result import ProgramResult
        from minitopo_dc.virtual.run import programs_scenario, run_programs

        scenario = programs_scenario(path, command, server, arguments.server_ready)
        blank = ProgramResult(command, "client", server, scenario.mode)
        return lambda directory: run_programs(scenario, blank, directory, _print, note)
    from minitopo_dc.real.user_program import UserProgram, run_program

    user = program_user(arguments)
    host: Literal["client", "server"] = getattr(arguments, "host", "client")
    program = UserProgram(command, host, server, arguments.server_ready, banner, user)
    if user == "root":
        note(f"{command[0]} runs as root; --user NAME runs it as another")
    return lambda directory: run_program(path, program, directory, note)


def _print(stream: int, data: bytes) -> None:
    terminal = (sys.stdout if stream == 1 else sys.stderr).buffer
    terminal.write(data)
    terminal.flush()


def _tell(result: ProgramResult, directory: Path, *, kept: bool) -> None:
    if result.status == "failed":
        note(result.reason)
    for line in report_lines(result):
        note(line)
    if kept:
        result.save(directory)
        if result.status == "ok":
            from minitopo_dc.plots import legs  # with Matplotlib: slow

            save_figure(legs(directory), directory / "legs.png")
        note(f"results: {directory}")


def _server(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the words of the server's command line."""
    try:
        words = tuple(shlex.split(arguments.server or ""))
    except ValueError as error:
        raise SettingsError(f"--server: {error}") from None
    if words and shutil.which(words[0]) is None:
        raise SettingsError(f"--server: no program {words[0]}")
    port = arguments.server_ready
    if port is not None and not words:
        raise SettingsError("--server-ready: needs --server")
    if port is not None and not 1 <= port <= 65535:
        raise SettingsError(f"--server-ready: {port}; allowed: 1 to 65535")
    return words


def report_lines(result: ProgramResult) -> Iterator[str]:
    """Yield a line for each leg and for each receiving PDCP entity; none if the run failed."""
    for number, leg in enumerate(result.legs, start=1):
        ways = (
            f"{way} {amount(count['bytes'])} "
            f"({significant(count['mbps'])} Mbit/s, {count['dropped']} dropped)"
            for way, count in leg.items()
        )
        yield f"leg {number}: {', '.join(ways)}"
    for way, counters in result.pdcp.items():
        count = counters["t_reordering_expiries"]
        yield (
            f"PDCP {way}: {counters['delivered']} delivered, {counters['missing']} missing, "
            f"{counters['duplicates']} duplicates, {counters['old']} too late, "
            f"t-Reordering expired {'once' if count == 1 else f'{count} times'}"
        )


def _shell(arguments: argparse.Namespace) -> int:
    """Open the shell on the chosen host, and return its exit status."""
    if arguments.clock == "virtual":
        raise SettingsError("--clock: virtual; a shell needs the real clock; exec has both")
    user = program_user(arguments)
    mine = os.environ.get("SHELL") if user == "root" else getpwnam(user).pw_shell
    shell = mine or "/bin/sh"  # of whose environment names none (POSIX, `SHELL`)
    other = "MINITOPO_DC_SERVER" if arguments.host == "client" else "MINITOPO_DC_CLIENT"
    banner = f"{shell} on the {arguments.host}'s host; the other end is ${other}; exit ends it"
    return run_user_program(arguments, (shell,), banner)
