"""Run gtlsclient and do to its socket what it has no option for; print one line of JSON about it.

While it runs, its UDP socket is borrowed (pidfd_getfd(2), Linux 5.6), which needs to be root or, as
here, its parent. It is there before the first answer can be, so that a receive buffer is in effect
from the beginning.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from errno import EBADF, ESRCH
from pathlib import Path
from typing import Any

from minitopo_dc.runners.processes.start_signal import wait_for_start
from minitopo_dc.runners.processes.udp_socket import set_receive_buffer, socket_drops
from minitopo_dc.runners.programs import ProgramSettings
from minitopo_dc.units import NS_PER_S

PIDFD_GETFD = 438
"""asm-generic/unistd.h: the number is the same for all processors."""
POLL_S = 0.001
"""Less than the round trip in which the first answer comes."""


class ClientSettings(ProgramSettings):
    """Settings of this client program."""

    words: tuple[str, ...]
    """The command line of gtlsclient."""
    receive_buffer_bytes: int | None
    """None: the kernel's default."""
    duration_s: float | None
    """So long after it began to connect it is asked to end; None: it ends by itself."""
    user: int
    """Who it runs as, if this program is root: the kernel has a route for this user."""


def run(
    command: Sequence[str],
    receive_buffer_bytes: int | None,
    duration_s: float | None,
    user: int | None = None,
) -> tuple[int, dict[str, Any]]:
    """Run a program to its end; return its exit code, negative for a signal, and the report.

    With a duration it is sent SIGINT, at which gtlsclient closes its connection and its files. Of
    root only the right to write files remains to a user.

    Raises:
        OSError: it cannot be started, or its socket not be borrowed.
    """
    rights = "+dac_override"
    mine = ["--reuid", str(user), "--inh-caps", rights, "--ambient-caps", rights]
    # If this process is killed, its child must not go on.
    prepared = ["setpriv", "--pdeathsig", "KILL", *([] if user is None else mine)]
    child = subprocess.Popen([*prepared, *command])
    try:
        udp = _socket_of(child)
    except OSError:
        child.kill()
        raise
    if udp is None:
        return child.wait(), {"local_address": None}
    started_ns = time.monotonic_ns()  # connecting is what it does next
    with udp:
        if receive_buffer_bytes is not None:
            set_receive_buffer(udp, receive_buffer_bytes)
        stopped_s = None if duration_s is None else _stop(child, started_ns, duration_s)
        code = child.wait()
        return code, {
            "local_address": udp.getsockname()[0],
            "receive_buffer_bytes": udp.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
            "socket_drops": socket_drops(udp),
            "started_ns": started_ns,
            "stopped_s": stopped_s,
        }


def _stop(child: subprocess.Popen[bytes], started_ns: int, duration_s: float) -> float | None:
    """Ask a child to end so long after it started; return when that was (s), None if it had ended.

    To wait for a signal is exact, whereas select(2) may be late by a thousandth of the time, and
    `Popen.wait` would look 20 times a second, all of which a guest has to compute.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while child.poll() is None:
        lasted_s = (time.monotonic_ns() - started_ns) / NS_PER_S
        if lasted_s >= duration_s:
            child.send_signal(signal.SIGINT)
            return lasted_s
        signal.sigtimedwait({signal.SIGCHLD}, duration_s - lasted_s)
    return None


def _socket_of(child: subprocess.Popen[bytes]) -> socket.socket | None:
    """Return the child's UDP socket as soon as it has one, None if it ended without."""
    pidfd = os.pidfd_open(child.pid)
    try:
        while child.poll() is None:
            for number in _socket_numbers(child.pid):
                borrowed = _borrow(pidfd, number)
                if borrowed is not None:
                    return borrowed
            time.sleep(POLL_S)
        return None
    finally:
        os.close(pidfd)


def _socket_numbers(pid: int) -> Iterator[int]:
    for path in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            if path.readlink().name.startswith("socket:"):
                yield int(path.name)
        except (FileNotFoundError, ProcessLookupError):  # closed, or ended, in the meantime
            continue


def _borrow(pidfd: int, number: int) -> socket.socket | None:
    """Return a copy of another process' socket if it is a UDP socket, and leave its mode.

    It is None also when the socket was closed, or the process has ended, since its number was read.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(PIDFD_GETFD, pidfd, number, 0)
    if descriptor == -1:
        error = ctypes.get_errno()
        if error in (EBADF, ESRCH):
            return None
        raise OSError(error, f"pidfd_getfd (Linux 5.6 or newer): {os.strerror(error)}")
    borrowed = socket.socket(fileno=descriptor)
    if borrowed.type == socket.SOCK_DGRAM and borrowed.family in (socket.AF_INET, socket.AF_INET6):
        return borrowed
    borrowed.close()
    return None


def main() -> None:
    """Run the program, print the report, and end as the program did."""
    told = ClientSettings.given()
    wait_for_start()
    user = None if os.geteuid() else told.user
    code, report = run(told.words, told.receive_buffer_bytes, told.duration_s, user)
    print(json.dumps(report), flush=True)  # noqa: T201
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
