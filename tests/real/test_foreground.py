"""A program in the foreground: its exit status, and what it is told of signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from minitopo_dc.real.user_program import (
    ENDING,
    KEYBOARD_SIGNALS,
    run_in_foreground,
)
from minitopo_dc.runners.processes.process import KILL_AFTER_S
from tests import REPOSITORY
from tests.real.local_host import LocalHost
from tests.real.registry import wait_until

ONE_PROGRAM = """
import sys
from contextlib import ExitStack
import numpy  # starts a thread that would take signals which the main thread blocks
from minitopo_dc.real.user_program import run_in_foreground
from tests.real.local_host import LocalHost

with ExitStack() as held:
    command = ["sh", "-c", sys.argv[1]]
    raise SystemExit(run_in_foreground(LocalHost(), command, held=held, watch=lambda: None))
"""
SAY_WHICH = (
    "trap 'exit 3' TERM; trap 'exit 4' INT; trap 'exit 5' HUP; {}while :; do sleep 0.05; done"
)
IN_A_TERMINAL = ("script", "-qec")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
"""The program imports from the tests, wherever it lies."""


def run(script: str, watch: Callable[[], None] = lambda: None) -> int:
    with ExitStack() as held:
        command = ["sh", "-c", script]
        return run_in_foreground(LocalHost(), command, held=held, watch=watch)


@pytest.mark.parametrize(
    ("script", "status"),
    [("true", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)],
)
def test_the_exit_status_is_the_program_s_as_shells_say_it(script: str, status: int) -> None:
    assert run(script) == status


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 3), (signal.SIGINT, 4), (signal.SIGHUP, 5)]
)
def test_a_signal_to_who_waits_is_passed_on(number: int, status: int, tmp_path: Path) -> None:
    process = waiting(SAY_WHICH.format(f"touch {tmp_path}/ready; "), tmp_path)
    process.send_signal(number)
    assert process.wait(20) == status


def test_a_program_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    process = waiting(
        f"trap '' TERM; touch {tmp_path}/ready; while :; do sleep 0.05; done", tmp_path
    )
    process.send_signal(signal.SIGTERM)
    begin = time.monotonic()
    assert process.wait(20) == 128 + signal.SIGKILL
    assert time.monotonic() - begin >= KILL_AFTER_S


def test_ctrl_c_reaches_the_program_once_and_does_not_end_who_waits(tmp_path: Path) -> None:
    script = (
        f"n=0; trap 'n=$((n+1))' INT; touch {tmp_path}/ready; i=0; "
        "while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; exit $n"
    )
    (tmp_path / "program.py").write_text(ONE_PROGRAM)
    command = f'exec {sys.executable} {tmp_path}/program.py "{script.replace("$", chr(92) + "$")}"'
    with subprocess.Popen(
        [*IN_A_TERMINAL, command, "/dev/null"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=ENVIRONMENT,
    ) as process:
        wait_until((tmp_path / "ready").exists, process)
        time.sleep(0.1)  # until it is waited for
        assert process.stdin is not None
        process.stdin.write(b"\x03")
        process.stdin.flush()
        assert process.wait(20) == 1


def test_what_the_watch_raises_ends_the_program(tmp_path: Path) -> None:
    def watch() -> None:
        if (tmp_path / "pid").exists():
            raise RuntimeError("the element died")

    with pytest.raises(RuntimeError, match="the element died"):
        run(f"echo $$ > {tmp_path}/p; mv {tmp_path}/p {tmp_path}/pid; exec sleep 60", watch)
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_signals_mean_again_what_they_meant() -> None:
    before = [signal.getsignal(number) for number in (*KEYBOARD_SIGNALS, *ENDING)]
    run("true")
    assert [signal.getsignal(number) for number in (*KEYBOARD_SIGNALS, *ENDING)] == before
    assert signal.set_wakeup_fd(-1) == -1


def waiting(script: str, directory: Path) -> subprocess.Popen[bytes]:
    """Who waits for a program, which makes `ready` in the directory."""
    process = subprocess.Popen([sys.executable, "-c", ONE_PROGRAM, script], env=ENVIRONMENT)
    wait_until((directory / "ready").exists, process)
    time.sleep(0.1)  # until it is waited for
    return process
