"""A program in the user's terminal: waited for, sent signals, ended at the latest on leaving.

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
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Self

from minitopo_dc.interruption import heed
from minitopo_dc.real.network.hosts import EmulatedHost

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
    with _ControllingTerminal() as terminal, ExitStack() as stack:
        process = host.popen(command, environment=environment, stdin=None, in_terminal=True)
        stack.callback(_end, process)
        pidfd = os.pidfd_open(process.pid)  # readable when the process ends
        stack.callback(os.close, pidfd)
        deadline = float("inf")
        while (code := process.poll()) is None:
            watch()
            for number in signals.wait(pidfd, WATCH_S):
                if number in ENDING or not terminal.is_ours():  # else the program has it already
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


class _ControllingTerminal:
    """The controlling terminal; if this process had it, it has it again at the end.

    A shell takes the terminal for each of its jobs, and one that is killed does not return it.
    """

    def __enter__(self) -> Self:
        try:
            self._file = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
        except OSError:  # there is none
            self._file = -1
        self._ours = self.is_ours()
        return self

    def __exit__(self, *_: object) -> None:
        if self._ours:  # taking it from a background process would stop this one (tcsetpgrp(3))
            before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            with suppress(OSError):  # the terminal has gone
                os.tcsetpgrp(self._file, os.getpgrp())
            signal.signal(signal.SIGTTOU, before)
        if self._file >= 0:
            os.close(self._file)

    def is_ours(self) -> bool:
        """Return whether what is typed reaches this process' group and so the program."""
        try:
            return os.tcgetpgrp(self._file) == os.getpgrp()
        except OSError:
            return False
