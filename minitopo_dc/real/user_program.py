"""A user's program between the hosts of a scenario, and the server that it talks to.

The program is in this process' session and process group, so that the terminal's keys (Ctrl-C and
the like) reach it as they would without minitopo-dc. A signal that is sent to this process by its
id is passed on.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from pwd import getpwnam
from typing import Literal, Self

from minitopo_dc.fields import IpVersion
from minitopo_dc.interruption import heed
from minitopo_dc.real.elements import Testbed, stop_all, testbed
from minitopo_dc.real.hosts import EmulatedHost, ending_leftovers
from minitopo_dc.results.run_result import ProgramResult, leg_counts, pdcp_counts
from minitopo_dc.runners.addresses import is_port_bound
from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.command.runner import program_environment as addresses_environment
from minitopo_dc.runners.mptcp.endpoints import subflow_per_address
from minitopo_dc.runners.processes.process import MOMENT_S, Process, run, wait_any
from minitopo_dc.runs.element_settings import client_legs
from minitopo_dc.runs.perform import RunFailedError
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address, client_gateway, server_address

Say = Callable[[str], None]
"""Takes a line for the user."""
READY_TIMEOUT_S = 30.0
"""As for the project's own servers (`minitopo_dc.runners.processes.session`)."""
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

    def user_command(self, command: Sequence[str]) -> tuple[str, ...]:
        """Return the command line that runs a command as the user, with only the user's groups."""
        if self.user == "root":
            return tuple(command)
        group = str(getpwnam(self.user).pw_gid)
        # Again, as a change of user clears the parent-death signal (prctl(2)).
        change = ("--reuid", self.user, "--regid", group, "--init-groups", "--pdeathsig", "KILL")
        return ("setpriv", *change, "--", *command)

    def environment(self) -> dict[str, str]:
        """Return the variables that say who the user is; those of root stay as they are."""
        if self.user == "root":
            return {}
        entry = getpwnam(self.user)
        return {"HOME": entry.pw_dir, "USER": self.user, "LOGNAME": self.user}


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


def program_environment(scenario: Scenario) -> dict[str, str]:
    """Return the environment variables with the addresses of the hosts."""
    version = scenario.ip_version
    return addresses_environment(
        server_address(version=version),
        # The one that it has unless a program chooses.
        client_address(client_legs(scenario.resolved_flows[0], len(scenario.legs))[0], version),
        [client_address(leg, version) for leg in range(1, len(scenario.legs) + 1)],
    )


def _on_fresh_hosts(
    scenario: Scenario, program: UserProgram, directory: Path, say: Say, blank: ProgramResult
) -> ProgramResult:
    legs = client_legs(scenario.resolved_flows[0], len(scenario.legs))
    addresses = [client_address(leg, scenario.ip_version) for leg in legs]
    environment = {**program.environment(), **program_environment(scenario)}
    command, server_command = map(program.user_command, (program.command, program.server))
    with HeldSignals() as signals, testbed(scenario, directory) as bed:
        ends = (bed.hosts.server, bed.hosts.client)
        with ending_leftovers(ends), subflow_per_address(*ends, addresses), ExitStack() as stack:
            _use_leg(bed.hosts.client, legs[0], scenario.ip_version)
            server = None
            if program.server:
                started = user_server(bed.hosts.server, server_command, environment, directory)
                server = stack.enter_context(started)
                wait_ready(server, bed.hosts.server, program.server_port)
            if program.banner:
                say(program.banner)
            bed.start()
            begin, watch = time.monotonic(), _watch(bed, server, say)
            host = bed.hosts[program.host]
            status = run_in_foreground(host, command, environment, signals=signals, watch=watch)
            seconds = time.monotonic() - begin
            watch()
            ended = None if server is None else exit_code(server)
        gnb, ue, *_ = stop_all(bed.elements)
    return replace(
        blank,
        exit_status=status,
        server_exit_code=ended,
        seconds=seconds,
        status="ok",
        legs=leg_counts({"downlink": gnb, "uplink": ue}, seconds),
        pdcp=pdcp_counts({"downlink": ue, "uplink": gnb}),
    )


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
        RunFailedError: the kernel refused the route.
    """
    versions: tuple[IpVersion, ...] = (4,) if ip_version == 4 else (4, 6)
    for version in versions:
        route = ("route", "replace", "default", "via", client_gateway(leg, version))
        try:
            run(client, ["ip", f"-{version}", *route])
        except TransferFailed as failure:
            raise RunFailedError(str(failure)) from failure


@contextmanager
def user_server(
    host: EmulatedHost, command: Sequence[str], environment: Mapping[str, str], directory: Path
) -> Iterator[Process]:
    """Run a server for a block, with its output in `server.out` and `server.err`."""
    log = directory / "server.err"
    with (directory / "server.out").open("wb") as output, log.open("wb") as errors:
        popen = host.popen(command, environment=environment, stdout=output, stderr=errors)
    process = Process("server", popen, log)
    try:
        yield process
    finally:
        process.close()


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
GRACE_S = 2.0
"""How long a program may take to end when it was asked to; then it gets SIGKILL."""
WATCH_S = 0.2
"""How often what else may fail is looked at; the program's own end is seen at once."""


class HeldSignals:
    """Signals that wait for `run_in_foreground`, from `hold` to the block's end.

    So nothing interrupts the clean-up behind the program's end. What comes then is dropped. Signals
    are caught, not blocked: a signal that is blocked here goes to a thread of numpy's instead.
    """

    def __init__(self) -> None:
        self._restore = ExitStack()
        self._pipe = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._restore.close()

    def hold(self) -> None:
        """Hold signals from now on; programs that are started are not affected."""
        self._pipe, written = os.pipe()
        for end in (self._pipe, written):
            os.set_blocking(end, False)
            self._restore.callback(os.close, end)
        before = signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        self._restore.callback(signal.set_wakeup_fd, before)
        for number, handler in heed(lambda *_: None, *KEYBOARD_SIGNALS, *ENDING).items():
            self._restore.callback(signal.signal, number, handler)

    def wait(self, pidfd: int, timeout_s: float) -> list[signal.Signals]:
        """Wait for a signal, the process' end or the timeout (s); return the signals that came."""
        readable, _, _ = select.select([pidfd, self._pipe], (), (), timeout_s)
        if self._pipe not in readable:
            return []
        return [signal.Signals(number) for number in os.read(self._pipe, 512)]


def run_in_foreground(
    host: EmulatedHost,
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    signals: HeldSignals,
    watch: Callable[[], None],
) -> int:
    """Run a program with this process' standard input, output and error; return its exit status.

    Args:
        host: where it runs.
        command: the program and its arguments.
        environment: beside this process's own.
        signals: are held from now on.
        watch: called now and then; what it raises ends the program and is passed on.

    Returns:
        Its exit status, or 128 and the number of the signal that ended it, as shells say it.
    """
    signals.hold()
    with _controlling_terminal() as is_ours, ExitStack() as stack:
        process = host.popen(command, environment=environment, stdin=None, in_terminal=True)
        stack.callback(_end, process)
        pidfd = os.pidfd_open(process.pid)  # readable when the process ends
        stack.callback(os.close, pidfd)
        deadline = float("inf")
        while (code := process.poll()) is None:
            watch()
            for number in signals.wait(pidfd, WATCH_S):
                if number in ENDING or not is_ours():  # else the program has it already
                    process.send_signal(number)
                if number in ENDING:
                    deadline = min(deadline, time.monotonic() + GRACE_S)
            if time.monotonic() > deadline:
                process.kill()
    return code if code >= 0 else 128 - code


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program if it still runs, by force if need be."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


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
