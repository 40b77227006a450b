"""A user's program between the hosts of a scenario, and the server that it talks to.

The program is in this process' session and process group, so that the terminal's keys (Ctrl-C and
the like) reach it as they would without minitopo-dc. A signal that is sent to this process by its
id is passed on.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from pwd import getpwnam
from typing import Literal

from minitopo_dc.fields import IpVersion
from minitopo_dc.interruption import heed
from minitopo_dc.real.elements import Testbed, stop_all, testbed
from minitopo_dc.real.hosts import EmulatedHost, ending_leftovers
from minitopo_dc.results.run_result import ProgramResult
from minitopo_dc.runners.addresses import is_port_bound
from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.command.runner import program_environment
from minitopo_dc.runners.mptcp.endpoints import subflow_per_address
from minitopo_dc.runners.processes.process import (
    KILL_AFTER_S,
    MOMENT_S,
    Process,
    run,
    running,
    wait_any,
)
from minitopo_dc.runners.processes.session import READY_TIMEOUT_S
from minitopo_dc.runs.element_settings import client_legs
from minitopo_dc.runs.perform import RunFailedError
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address, client_gateway, server_address

Say = Callable[[str], None]
"""Takes a line for the user."""
READY_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class UserProgram:
    """The user's program: its command, its host and its server."""

    command: tuple[str, ...]
    host: Literal["client", "server"] = "client"
    server: tuple[str, ...] = ()
    """The command on the server's host, started before the program; none when empty."""
    server_port: int | None = None
    """The port that the server binds when it is ready; None: it is ready after a moment."""
    banner: str = ""
    """A line that is printed before the program begins."""
    user: str = "root"
    """The user's name as whom program and server run."""

    def user_command(self, command: Sequence[str], addresses: Mapping[str, str]) -> list[str]:
        """Return the command line that runs a command as the user, with only the user's groups.

        Args:
            command: the program and its arguments.
            addresses: environment variables, besides those that say who another user than root is.
        """
        variables = dict(addresses)
        if self.user != "root":
            entry = getpwnam(self.user)
            variables |= {"HOME": entry.pw_dir, "USER": self.user, "LOGNAME": self.user}
            # Again, as a change of user clears the parent-death signal (prctl(2)).
            change = ("--reuid", self.user, "--regid", str(entry.pw_gid), "--init-groups")
            command = ("setpriv", *change, "--pdeathsig", "KILL", "--", *command)
        return ["env", *(f"{name}={value}" for name, value in variables.items()), *command]


def run_program(
    scenario: Scenario, program: UserProgram, directory: Path, say: Say
) -> ProgramResult:
    """Run a program in the user's terminal, and remove all that was made for it afterwards.

    Args:
        scenario: was checked; of one flow, whose transport and workload do not matter.
        program: what runs.
        directory: gets the elements' files and the server's output.
        say: is told at once what the user must know.

    Returns:
        How it went. Failed when the server was not ready, or the testbed is not to be trusted.
    """
    scenario.save(directory / "scenario.yaml")
    blank = ProgramResult(program.command, program.host, program.server, scenario.mode)
    try:
        return _on_fresh_hosts(scenario, program, directory, say, blank)
    except (RunFailedError, TransferFailed) as failure:
        return replace(blank, reason=str(failure))


def path_variables(scenario: Scenario) -> dict[str, str]:
    """Return the environment variables with the addresses of the hosts."""
    version, legs = scenario.ip_version, range(1, len(scenario.legs) + 1)
    # The client's is the one that it has unless a program chooses.
    first = client_legs(scenario.resolved_flows[0], len(legs))[0]
    of_legs = [client_address(leg, version) for leg in legs]
    return program_environment(server_address(version=version), of_legs[first - 1], of_legs)


def _on_fresh_hosts(
    scenario: Scenario, program: UserProgram, directory: Path, say: Say, blank: ProgramResult
) -> ProgramResult:
    legs = client_legs(scenario.resolved_flows[0], len(scenario.legs))
    addresses = [client_address(leg, scenario.ip_version) for leg in legs]
    variables = path_variables(scenario)
    with ExitStack() as held, testbed(scenario, directory) as bed:
        ends = (bed.hosts.server, bed.hosts.client)
        with ending_leftovers(ends), subflow_per_address(*ends, addresses), ExitStack() as stack:
            _use_leg(bed.hosts.client, legs[0], scenario.ip_version)
            server = None
            if program.server:
                words = program.user_command(program.server, variables)
                server = stack.enter_context(user_server(bed.hosts.server, words, directory))
                wait_ready(server, bed.hosts.server, program.server_port)
            if program.banner:
                say(program.banner)
            bed.start()
            begin, watch = time.monotonic(), _watch(bed, server, say)
            words = program.user_command(program.command, variables)
            code = run_in_foreground(bed.hosts[program.host], words, held=held, watch=watch)
            seconds = time.monotonic() - begin
            watch()
            ended = None if server is None else exit_code(server)
        summaries = {summary["host"]: summary for summary in stop_all(bed.elements)}
    return blank.ended(summaries, seconds, code, ended)


def _watch(bed: Testbed, server: Process | None, say: Say) -> Callable[[], None]:
    """Return what raises RunFailedError when the testbed is not whole.

    It reports once that the server has ended with an error.
    """
    reported: list[str] = []

    def watch() -> None:
        bed.check()
        if server is not None and not reported and exit_code(server):
            reported.append(str(server.failure("")))
            say(reported[0])

    return watch


def _use_leg(client: EmulatedHost, leg: int, ip_version: IpVersion) -> None:
    """Send what does not choose an address by a leg, with that leg's address.

    Raises:
        TransferFailed: the kernel refused the route.
    """
    versions: tuple[IpVersion, ...] = (4,) if ip_version == 4 else (4, 6)
    for version in versions:
        route = ("route", "replace", "default", "via", client_gateway(leg, version))
        run(client, ["ip", f"-{version}", *route])


def user_server(
    host: EmulatedHost, command: Sequence[str], directory: Path
) -> AbstractContextManager[Process]:
    """Run a server for a block, with its output in `server.out` and `server.err`."""
    return running("server", host, command, directory / "server.out", directory / "server.err")


def wait_ready(server: Process, host: EmulatedHost, port: int | None) -> None:
    """Return when a process has bound the port, or without a port after a moment.

    Raises:
        TransferFailed: the server ended with an error, or took too long.
    """
    deadline = time.monotonic() + (MOMENT_S if port is None else READY_TIMEOUT_S)
    while port is None or not is_port_bound(host.pid, port):
        if exit_code(server):
            raise server.failure("before it was ready")
        if time.monotonic() > deadline:
            if port is None:
                return
            raise server.failure(f"did not bind port {port} within {READY_TIMEOUT_S:g} s")
        time.sleep(READY_POLL_S)


def exit_code(server: Process) -> int | None:
    """Return a server's exit code, or a signal's number below 0; None while it runs."""
    wait_any([server], 0)
    return server.exit_code


KEYBOARD_SIGNALS = (signal.SIGINT, signal.SIGQUIT)
"""What a terminal sends to all processes of its foreground process group (termios(3))."""
ENDING = (signal.SIGTERM, signal.SIGHUP)
WATCH_S = 0.2
"""How often what else may fail is looked at; the program's own end is seen at once."""


def run_in_foreground(
    host: EmulatedHost, command: Sequence[str], *, held: ExitStack, watch: Callable[[], None]
) -> int:
    """Run a program with this process' standard input, output and error; return its exit status.

    Signals are passed on to it. They are caught, not blocked: a signal that is blocked here goes to
    a thread of numpy's instead.

    Args:
        host: where it runs.
        command: the program and its arguments.
        held: signals do nothing else until it is closed, so that nothing interrupts the clean-up
            behind the program's end; what comes then is dropped.
        watch: called now and then; what it raises ends the program and is passed on.

    Returns:
        Its exit status, or 128 and the number of the signal that ended it, as shells say it.
    """
    deadlines = [float("inf")]

    def pass_on(number: int, _frame: object) -> None:
        # What is typed, the program has already, where the terminal is this process group's.
        if process.exit_code is None and (number in ENDING or not is_ours()):
            process.send(signal.Signals(number))
        if number in ENDING:
            deadlines.append(time.monotonic() + KILL_AFTER_S)

    with _controlling_terminal() as is_ours:
        popen = host.popen(command, stdin=None, in_terminal=True)
        with closing(Process("program", popen, Path())) as process:
            for number, before in heed(pass_on, *KEYBOARD_SIGNALS, *ENDING).items():
                held.callback(signal.signal, number, before)
            while not wait_any([process], WATCH_S):
                watch()
                if time.monotonic() > min(deadlines):
                    process.send(signal.SIGKILL)
    code = process.exit_code
    assert code is not None
    return code if code >= 0 else 128 - code


@contextmanager
def _controlling_terminal() -> Iterator[Callable[[], bool]]:
    """Give the controlling terminal back at the block's end, if this process had it.

    A shell takes the terminal for each of its jobs, and one that is killed does not return it.
    Yields what says whether what is typed reaches this process' group and so the program.
    """
    try:
        file = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # there is none
        yield lambda: False
        return

    def is_ours() -> bool:
        with suppress(OSError):
            return os.tcgetpgrp(file) == os.getpgrp()
        return False

    was_ours = is_ours()
    try:
        yield is_ours
    finally:
        if was_ours:  # taking it from a background process would stop this one (tcsetpgrp(3))
            before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            with suppress(OSError):  # the terminal has gone
                os.tcsetpgrp(file, os.getpgrp())
            signal.signal(signal.SIGTTOU, before)
        os.close(file)
