"""Processes of a run: started in a host, watched, ended, their output read."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from minitopo_dc.runners.addresses import ip_version
from minitopo_dc.runners.base import Host, TransferFailed
from minitopo_dc.scratch import started


def last_json(output: Path, role: str) -> dict[str, Any]:
    """Return the JSON object on the last line of a process' output.

    Raises:
        TransferFailed: there is none.
    """
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    try:
        report = json.loads(lines[-1])
    except (IndexError, ValueError):
        report = None
    if not isinstance(report, dict):
        raise TransferFailed(f"{role} printed no report")
    return report


COMMAND_TIMEOUT_S = 10.0


def run(host: Host, arguments: Sequence[str]) -> str:
    """Run a short command in a host; return its standard output.

    Raises:
        TransferFailed: it failed.
    """
    popen = host.popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with popen:
        try:
            output, errors = popen.communicate(timeout=COMMAND_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            popen.kill()
            raise TransferFailed(f"{' '.join(arguments)} in {host.name} hangs") from None
    if popen.returncode:
        message = errors.decode(errors="replace").strip()
        raise TransferFailed(f"{' '.join(arguments)} in {host.name}: {message}")
    return output.decode()


@contextmanager
def undone(host: Host, command: Sequence[str], undo: Sequence[str]) -> Iterator[None]:
    """Run a command in a host, and at the end of a block the one that undoes it.

    Raises:
        TransferFailed: one of them failed.
    """
    run(host, command)
    try:
        yield
    finally:
        run(host, undo)


def kernel_setting(host: Host, name: str, value: str) -> AbstractContextManager[None]:
    """Give a setting of a host's kernel a value for a block.

    Raises:
        TransferFailed: the kernel does not take it.
    """
    before = run(host, ["sysctl", "-n", name]).strip()
    write = ["sysctl", "-qw"]
    return undone(host, [*write, f"{name}={value}"], [*write, f"{name}={before}"])


TAIL_LINES = 5
TAIL_CHARACTERS = 600
MOMENT_S = 0.5
"""A server of which nothing else is known is taken to be ready after this."""
KILL_AFTER_S = 2.0
"""A process that was asked to end and did not is killed after this."""


class Process:
    """A running process whose standard output and error go to files."""

    def __init__(
        self, role: str, popen: subprocess.Popen[bytes], log: Path, output: Path | None = None
    ) -> None:
        self.pid = popen.pid
        self.pidfd = os.pidfd_open(popen.pid)  # becomes readable when the process ends
        self.exit_code: int | None = None
        self.cpu_s = 0.0  # user and system time, once it has ended
        self.seconds = 0.0  # from its start to its end, once it has ended
        self._begin = time.monotonic()
        self._role = role
        self._popen = popen
        self._log = log
        self._output = output

    def reap(self) -> None:
        """Note the exit code and times of a process that has ended."""
        if self.exit_code is None:
            self.seconds = time.monotonic() - self._begin
            _, status, usage = os.wait4(self.pid, 0)
            self.cpu_s = usage.ru_utime + usage.ru_stime
            self.exit_code = self._popen.returncode = os.waitstatus_to_exitcode(status)

    def send(self, number: signal.Signals) -> None:
        """Send a signal unless the process has ended."""
        # Popen.send_signal would wait for a process that has just ended, and its times were lost.
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, number)

    def failure(self, what: str) -> TransferFailed:
        """Return an error that says what happened, how the process ended and its last lines."""
        return failure(self._role, self.exit_code, what, self._log, self._output)

    def close(self) -> None:
        """End the process if it still runs, by force if need be."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not wait_any([self], 0):
                self.send(number)
                wait_any([self], KILL_AFTER_S)
        os.close(self.pidfd)


def failure(
    role: str, exit_code: int | None, what: str, log: Path, output: Path | None = None
) -> TransferFailed:
    """Return an error that says how a process ended (None: it did not), and its last lines.

    Those of its log (standard error); of its output when there are none.
    """
    end = "" if exit_code is None else f"ended with exit code {exit_code}"
    if exit_code is not None and exit_code < 0:
        end = f"was ended by {signal.Signals(-exit_code).name}"
    text = " ".join(word for word in (role, end, what) if word)
    tail = log_tail(log) or (log_tail(output) if output else "")
    return TransferFailed(f"{text}: {tail}" if tail else text)


@contextmanager
def running(
    role: str,
    host: Host,
    arguments: Sequence[str],
    output: Path,
    log: Path,
    *,
    stdin: int = subprocess.DEVNULL,
) -> Iterator[Process]:
    """Run a process in a host; on leaving it has ended.

    Raises:
        TransferFailed: it cannot be started.
    """
    for word in arguments:
        if not isinstance(word, str):
            raise TransferFailed(f"{role} cannot be started: {word!r} in its command is no text")
    with output.open("wb") as stdout, log.open("wb") as stderr:
        try:
            popen = host.popen(arguments, stdin=stdin, stdout=stdout, stderr=stderr)
        except OSError as error:
            raise TransferFailed(f"{role} cannot be started in {host.name}: {error}") from error
    process = Process(role, popen, log, output)
    try:
        yield process
    finally:
        process.close()


def wait_any(processes: Sequence[Process], timeout_s: float) -> list[Process]:
    """Wait until one of the processes has ended or the time (s) is over; return those that have."""
    poll = select.poll()
    for process in processes:
        poll.register(process.pidfd, select.POLLIN)
    readable = {pidfd for pidfd, _ in poll.poll(timeout_s * 1000)}
    ended = [process for process in processes if process.pidfd in readable]
    for process in ended:
        process.reap()
    return ended


def log_tail(log: Path) -> str:
    """Return the last lines of a log, as one line."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    kept = [line.strip() for line in lines if line.strip()][-TAIL_LINES:]
    return " | ".join(kept)[-TAIL_CHARACTERS:]


def age_s(pid: int) -> float:
    """Return how long a process has existed in s, 0 for one that does not."""
    ticks = started(pid)
    if ticks is None:
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / os.sysconf("SC_CLK_TCK")


def socket_numbers(pid: int) -> Iterator[int]:
    """Yield the descriptors of a process' sockets."""
    for entry in list(Path(f"/proc/{pid}/fd").glob("*")):
        with suppress(FileNotFoundError, ProcessLookupError):  # closed, or ended, in the meantime
            if entry.readlink().name.startswith("socket:"):
                yield int(entry.name)


MEDDLING = re.compile(
    "LD_PRELOAD|LD_AUDIT|BASH_ENV|ENV|SSLKEYLOGFILE|CURL_HOME|(https?|all|ftp|no)_proxy"
    "|PYTHON(HOME|STARTUP|INSPECT|BREAKPOINT|WARNINGS)",
    re.IGNORECASE,
)
"""Variables with which a program loads what nobody asked for, writes down its keys, or goes to a
proxy: none of it may change a measurement or run as root."""


def clean_environment() -> dict[str, str]:
    """Return this process' environment without variables that change how programs work."""
    return {name: value for name, value in os.environ.items() if not MEDDLING.fullmatch(name)}


TABLE = 4433
"""A table of its own: the topologies have 101 to 350 (one per leg), Linux 253 to 255."""
FIRST_USER, USERS = 20_000, 10_000
"""Of programs that have an address each, whose tables have the same numbers. Machines seldom have
so many users, and containers know these numbers (they have 65,536)."""
PRIORITY = "300"
"""After rules for what has a source address already (the topologies: 200), which thus keeps its
way; before the main table (32766)."""


@contextmanager
def source_address(
    host: Host, source: str, destination: str, user: int | None = None
) -> Iterator[None]:
    """Let programs that ask for a route to `destination` use `source`, for a block.

    There is one source address for a destination and a user at a time: only by its user can the
    kernel tell a program from another one here. None: all users have it.

    Raises:
        TransferFailed: on entering, when the host has no such address or route, or uses another
            source address for this destination already.
    """
    ip = ["ip", f"-{ip_version((source, destination))}"]
    way = _lookup(host, [*ip, "-json", "route", "get", destination, "from", source])
    if way.get("type") == "local":  # it reaches itself from the address that it reaches
        yield
        return
    gateway = ["via", way["gateway"]] if "gateway" in way else []
    table = str(TABLE if user is None else user)
    route = [destination, *gateway, "dev", way["dev"], "src", source, "table", table]
    whose = [] if user is None else ["uidrange", f"{user}-{user}"]
    rule = ["to", destination, *whose, "table", table, "priority", PRIORITY]
    with ExitStack() as undo:
        for kind, what in (("route", route), ("rule", rule)):
            commands = ([*ip, kind, verb, *what] for verb in ("add", "delete"))
            undo.enter_context(undone(host, *commands))
        asking = [] if user is None else ["uid", str(user)]
        chosen = _lookup(host, [*ip, "-json", "route", "get", destination, *asking]).get("prefsrc")
        if chosen != source:
            raise TransferFailed(f"{host.name} would send to {destination} from {chosen}")
        yield


def user_of(address: str) -> int:
    """Return a user for programs with a source address; it differs between a run's addresses.

    Those of two legs differ by the number of the leg times a power of two, which is no multiple of
    `USERS` for 624 legs.
    """
    return FIRST_USER + int(ip_address(address)) % USERS


def _lookup(host: Host, command: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(host, command))[0]
    return found
