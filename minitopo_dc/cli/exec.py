"""Run your own program over one leg, Dual Connectivity or several paths (`minitopo-dc exec`)."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from minitopo_dc.cli.options.program import add_program_options, program_scenario, program_user
from minitopo_dc.cli.screen import interrupted_with, kept_text, new_directory, note, save_figure
from minitopo_dc.clocks import require_real
from minitopo_dc.fields import SettingsError
from minitopo_dc.linux_guest import missing as missing_guest
from minitopo_dc.numbers import amount, significant
from minitopo_dc.real.machine import TOOLS, save_facts
from minitopo_dc.runners.programs import not_installed
from minitopo_dc.scratch import scratch

if TYPE_CHECKING:
    from minitopo_dc.results.run_result import ProgramResult
    from minitopo_dc.scenario import Scenario

HELP = "run your own program between the hosts over one leg, Dual Connectivity or several paths"
FAILED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
"""Exit statuses of programs that run others (env(1), timeout(1)): this one failed; the program
cannot be executed; there is none of this name."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to the parser."""
    parser.usage = "%(prog)s [options] -- COMMAND [ARG ...]"
    add_program_options(parser)
    parser.add_argument(
        "words",
        nargs="*",
        metavar="COMMAND",
        help="the program and its arguments; words after -- are passed on unchanged",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Return the program's exit status; 128 plus the number of a signal that ended it."""
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
    if (missing := missing_guest() if is_virtual else not_installed(TOOLS)) is not None:
        raise SettingsError(missing)
    if not _is_program(command[0]):
        if os.sep in command[0] and Path(command[0]).exists():
            note(f"{command[0]} cannot be executed")
            return NOT_EXECUTABLE
        note(f"no program {command[0]}")
        return NOT_FOUND
    prepared = _on_virtual if is_virtual else _on_real
    run = prepared(arguments, path, command, server, banner)
    kept = arguments.output is not None
    with _directory(arguments.output) as directory, ExitStack() as stack:
        if kept:
            stack.enter_context(interrupted_with(lambda: kept_text(directory, "exec.json")))
        if kept and not is_virtual:
            save_facts(directory)
        result = run(directory)
        _tell(result, directory, kept=kept)
    return FAILED if result.exit_status is None else result.exit_status


# Imported once it is known that this machine has what is imported.
# ruff: noqa: PLC0415


def _on_real(
    arguments: argparse.Namespace,
    path: Scenario,
    command: tuple[str, ...],
    server: tuple[str, ...],
    banner: str,
) -> Callable[[Path], ProgramResult]:
    from minitopo_dc.real.user_program import UserProgram, run_program

    user = program_user(arguments)
    host: Literal["client", "server"] = getattr(arguments, "host", "client")
    program = UserProgram(command, host, server, arguments.server_ready, banner, user)
    if user == "root":
        note(f"{command[0]} runs as root; --user NAME runs it as another")
    return lambda directory: run_program(path, program, directory, note)


def _on_virtual(
    arguments: argparse.Namespace,
    path: Scenario,
    command: tuple[str, ...],
    server: tuple[str, ...],
    _banner: str,
) -> Callable[[Path], ProgramResult]:
    from minitopo_dc.virtual.run import VirtualUserProgram, run_program

    program = VirtualUserProgram(command, server, arguments.server_ready, _print, note)
    scenario = program.scenario(path)
    return lambda directory: run_program(scenario, program, directory)


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
        words = tuple(shlex.split(arguments.server))
    except ValueError as error:
        raise SettingsError(f"--server: {error}") from None
    if words and not _is_program(words[0]):
        raise SettingsError(f"--server: no program {words[0]}")
    port = arguments.server_ready
    if port is not None and not words:
        raise SettingsError("--server-ready: needs --server")
    if port is not None and not 1 <= port <= 65535:
        raise SettingsError(f"--server-ready: {port}; allowed: 1 to 65535")
    return words


def _is_program(name: str) -> bool:
    return shutil.which(name) is not None


@contextmanager
def _directory(output: Path | None) -> Iterator[Path]:
    """Yield the directory for the run's files: the user's new one, or a temporary one."""
    if output is not None:
        yield new_directory(output, "exec")
        return
    with scratch() as directory:
        yield directory


def report_lines(result: ProgramResult) -> Iterator[str]:
    """Yield a line for each leg and for each receiving PDCP entity; none if the run failed."""
    for number, leg in enumerate(result.legs, start=1):
        ways = (
            f"{way} {amount(count.bytes)} "
            f"({significant(count.mbps)} Mbit/s, {count.dropped} dropped)"
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
