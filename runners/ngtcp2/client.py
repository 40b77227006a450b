"""Run gtlsclient and do to its socket what it has no option for; print one line of JSON about it.

While it runs, its UDP socket is borrowed (pidfd_getfd(2), Linux 5.6), which needs to be root or, as
here, its parent. It is there before the first answer can be, so that a receive buffer is in effect
from the beginning.
"""

from __future__ import annotations

import ctypes
import json
import os
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


def run(command: Sequence[str], receive_buffer_bytes: int | None) -> tuple[int, dict[str, Any]]:
    """Run a program to its end; return its exit code, negative for a signal, and the report.

    Raises:
        OSError: it cannot be started, or its socket not be borrowed.
    """
    # If this process is killed, its child must not go on.
    child = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command])
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
        code = child.wait()
        return code, {
            "local_address": udp.getsockname()[0],
            "receive_buffer_bytes": udp.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
            "socket_drops": socket_drops(udp),
            "started_ns": started_ns,
        }


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
    code, report = run(told.words, told.receive_buffer_bytes)
    print(json.dumps(report), flush=True)  # noqa: T201
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
