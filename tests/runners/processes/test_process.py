"""Processes of runners, and what the kernel says of their sockets."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from minitopo_dc.runners.processes import kernel_socket
from minitopo_dc.runners.processes.kernel_socket import congestion_control_obstacle
from minitopo_dc.runners.processes.process import Process


@pytest.fixture
def started(tmp_path: Path) -> Callable[[str], Process]:
    def start(script: str) -> Process:
        popen = subprocess.Popen([sys.executable, "-Sc", script])
        return Process("client", popen, tmp_path / "log")

    return start


def wait_for_end(process: Process) -> None:
    """Wait until a process is a zombie."""
    stat = Path(f"/proc/{process.pid}/stat")
    while stat.read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)


def test_a_process_that_ends_before_it_is_asked_to_keeps_its_times(
    started: Callable[[str], Process],
) -> None:
    process = started("import time\nwhile time.process_time() < 0.1: pass\nraise SystemExit(3)")
    wait_for_end(process)
    process.send(signal.SIGTERM)
    process.reap()
    assert process.exit_code == 3
    assert process.cpu_s >= 0.1
    process.close()


def test_a_process_that_is_ended_has_its_signal_as_exit_code(
    started: Callable[[str], Process],
) -> None:
    process = started("import time; time.sleep(60)")
    process.close()
    assert process.exit_code == -signal.SIGTERM


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOENT, "modprobe tcp_bbr"), (errno.EPERM, "tcp_allowed_congestion_control")],
)
def test_the_advice_for_a_congestion_control_is_that_of_the_error(
    number: int, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_connection: socket.socket, _name: str) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(kernel_socket, "set_congestion_control", refuse)
    said = congestion_control_obstacle("bbr")
    assert said is not None
    assert said.startswith(f"the kernel refuses bbr: {os.strerror(number)} (")
    assert advice in said
