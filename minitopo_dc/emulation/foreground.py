"""A program in the user's terminal: waited for, told of signals, ended at the latest on leaving.

The program is in this process's session and process group, so that the terminal's keys (Ctrl-C
and the like) reach it as they would without minitopo-dc. A signal that somebody sends to this
process by its id is passed on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from minitopo_dc.emulation.hosts import EmulatedHost

BY_KEY = frozenset({signal.SIGINT, signal.SIGQUIT})
"""What a terminal sends to all processes of its foreground process group (termios(3))."""
ENDING = frozenset({signal.SIGTERM, signal.SIGHUP})
HELD = BY_KEY | ENDING | {signal.SIGCHLD}
GRACE_S = 2.0
"""How long a program may take to end when it was asked to; then it gets SIGKILL."""
WATCH_S = 0.2
"""How often what else may fail is looked at; the program's own end is seen at once."""

Hold = Callable[[], None]


@contextmanager
def holding_signals() -> Iterator[Hold]:
    """Give a function that makes signals wait for `in_foreground`, until the block ends.

    So nothing interrupts the clean-up behind the program's end. What comes then is dropped.
    """
    held = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    def hold() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, HELD)

    try:
        yield hold
    finally:
        while HELD & signal.sigpending():
            signal.sigtimedwait(HELD, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def in_foreground(
    host: EmulatedHost,
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    hold: Hold,
    watch: Callable[[], None],
) -> int:
    """Run a program with this process's standard input, output and error; return its exit status.

    Args:
        host: where it runs.
        command: the program and its arguments.
        environment: beside this process's own.
        hold: of `holding_signals`.
        watch: called now and then; what it raises ends the program and is passed on.

    Returns:
        Its exit status, or 128 and the number of the signal that ended it, as shells say it.
    """
    with _terminal_given_back():
        process = host.popen(command, environment=environment, stdin=None, in_terminal=True)
        try:
            hold()  # not before: the program would inherit it
            code = _follow(process, watch)
        finally:
            _end(process)
    return code if code >= 0 else 128 - code


def _follow(process: subprocess.Popen[bytes], watch: Callable[[], None]) -> int:
    """Wait for the program's end, and pass on what this process is told."""
    deadline = float("inf")
    while (code := process.poll()) is None:
        watch()
        told = signal.sigtimedwait(HELD, WATCH_S)
        if told is not None and _is_to_be_passed_on(told):
            process.send_signal(told.si_signo)
            if told.si_signo in ENDING:
                deadline = min(deadline, time.monotonic() + GRACE_S)
        if time.monotonic() > deadline:
            process.kill()
    return code


def _is_to_be_passed_on(told: signal.struct_siginfo) -> bool:
    """Not the end of a child, nor a key: the terminal has told the program too.

    What a process sent has a code of 0 or below, what the kernel did another (sigaction(2)).
    """
    return told.si_signo in ENDING or (told.si_signo in BY_KEY and told.si_code <= 0)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it if it still runs, by force if need be."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def _terminal_given_back() -> Iterator[None]:
    """If this process has the terminal, it has it again at the end.

    A shell takes the terminal for each of its jobs, and one that is killed does not return it.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # there is none
        yield
        return
    try:
        ours = os.tcgetpgrp(terminal) == os.getpgrp()
        yield
        if ours:
            _take(terminal)
    finally:
        os.close(terminal)


def _take(terminal: int) -> None:
    """Who does so from the background would be stopped by SIGTTOU (tcsetpgrp(3))."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        os.tcsetpgrp(terminal, os.getpgrp())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
