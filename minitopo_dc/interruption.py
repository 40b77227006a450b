"""Ctrl-C, SIGTERM and SIGHUP: the first ends a command in order, what follows changes nothing.

Light, as it is imported before all else: a command is interrupted in its first second, too.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Self

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_S = 10.0
"""How long what was begun may take to be removed; `minitopo-dc clean` removes the rest. Processes
get SIGKILL 2 s after SIGTERM (`runners.process`), of which a run has a few in a row."""


def heed(
    handler: Callable[[int, FrameType | None], object], *numbers: signal.Signals
) -> dict[signal.Signals, signal._HANDLER]:
    """Let a handler have these signals, but for those that whoever started the process ignores.

    nohup(1) and a shell's background jobs start programs so: what does not end the command must
    not end its parts.

    Returns:
        Of each signal that it has now, what had it before.
    """
    return {
        number: signal.signal(number, handler)
        for number in numbers
        if signal.getsignal(number) != signal.SIG_IGN
    }


class Interruption:
    """While the block runs, a signal raises KeyboardInterrupt: once, so that the end is whole."""

    def __init__(self, *, own_process: bool) -> None:
        """`own_process`: it ends with the block, so that signals behind it are dropped as well."""
        self._own_process = own_process
        self._status: int | None = None
        self._late: threading.Timer | None = None
        self._is_idle = True
        self._is_done = False
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    @property
    def status(self) -> int:
        """The exit status of who was interrupted: 128 plus the signal's number, as in shells."""
        return 128 + signal.SIGINT if self._status is None else self._status

    def __enter__(self) -> Self:
        self._before = heed(self._handle, *NUMBERS)
        if self._own_process:
            atexit.register(self._ignore)
        return self

    def __exit__(self, *_: object) -> None:
        if self._own_process:
            self._ignore()
            return
        if self._late is not None:
            self._late.cancel()
        for number, before in self._before.items():
            signal.signal(number, before)

    def working(self) -> None:
        """From now on there is something to be ended in order; before, the process just ends."""
        self._is_idle = False

    def done(self) -> None:
        """What comes from now on is too late to change the end."""
        self._is_done = True

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._status is not None or self._is_done:
            return
        self._status = 128 + number
        if self._is_idle:
            self._give_up("interrupted; nothing had begun")
        words = "the end took too long; minitopo-dc clean removes what is left"
        self._late = threading.Timer(PATIENCE_S, self._give_up, (words,))
        self._late.daemon = True
        self._late.start()
        raise KeyboardInterrupt

    def _give_up(self, words: str) -> None:
        os.write(2, f"minitopo-dc: {words}\n".encode())
        os._exit(self.status)

    def _ignore(self) -> None:
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)


def say_interrupted(more: str = "") -> None:
    """The one line of an interrupted command, with what is to be said of what it has done."""
    words = more or "what the run had made is removed"
    print(f"minitopo-dc: interrupted; {words}", file=sys.stderr)  # noqa: T201
