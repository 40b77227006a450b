"""Ctrl-C and other signals: the first one ends a command in order, later ones change nothing.

This module imports little, as it is imported before all else: a command can be interrupted in its
first second, too.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ClassVar, Self

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""A terminal sends the last one for Ctrl-\\."""
PATIENCE_S = 10.0
"""The most time for removing what was begun; `minitopo-dc clean` removes the rest. Processes get
SIGKILL 2 s after SIGTERM (`runners.process`), of which a run has a few in a row."""


def heed(
    handler: Callable[[int, FrameType | None], object], *numbers: signal.Signals
) -> dict[signal.Signals, signal._HANDLER]:
    """Install a handler for these signals, except those that the parent process has made ignored.

    nohup(1) and a shell's background jobs start programs with signals ignored: a signal that does
    not end the command must not end its parts either.

    Returns:
        The former handler of each signal that the handler was installed for.
    """
    return {
        number: signal.signal(number, handler)
        for number in numbers
        if signal.getsignal(number) != signal.SIG_IGN
    }


class Interruption:
    """A block in which a signal raises KeyboardInterrupt once, so that the clean-up is complete."""

    has_arrived: ClassVar[bool] = False
    """Whether a signal has arrived in the present block of this process."""

    def __init__(self, *, ends_process: bool) -> None:
        """Prepare the block; with `ends_process`, the process ends behind it and drops signals."""
        self._ends_process = ends_process
        self._status: int | None = None
        self._late: threading.Timer | None = None
        self._is_idle = True
        self._is_done = False
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    @property
    def status(self) -> int:
        """Return the exit status of an interrupted process: 128 plus the signal's number.

        Shells use the same number.
        """
        return 128 + signal.SIGINT if self._status is None else self._status

    def __enter__(self) -> Self:
        Interruption.has_arrived = False
        self._before = heed(self._handle, *NUMBERS)
        if self._ends_process:
            atexit.register(self._ignore)
        return self

    def __exit__(self, *_: object) -> None:
        if self._ends_process:
            self._ignore()
            return
        if self._late is not None:
            self._late.cancel()
        for number, before in self._before.items():
            signal.signal(number, before)

    def working(self) -> None:
        """Mark that there is something to clean up; before this, a signal ends the process."""
        self._is_idle = False

    def done(self) -> None:
        """Mark that the work is complete: a signal after this does not change the outcome."""
        self._is_done = True

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._status is not None or self._is_done:
            return
        self._status = 128 + number
        Interruption.has_arrived = True
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


@contextmanager
def interruptible(kept: str) -> Iterator[None]:
    """Let a signal end a program with one line: the block has all that it does.

    Args:
        kept: says what an interrupted program leaves.

    Raises:
        SystemExit: a signal came; the status is 128 plus its number.
    """
    with Interruption(ends_process=True) as interruption:
        interruption.working()
        try:
            yield
        except KeyboardInterrupt:
            say_interrupted(kept)
            sys.exit(interruption.status)


@contextmanager
def heeded() -> Iterator[None]:
    """Let Ctrl-C end the block of a script, also where a library makes another error of it.

    A command has its own handler, and only the main thread of a program may have one.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def interrupt(*_: object) -> None:
        Interruption.has_arrived = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception:
        raise_if_interrupted()
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        Interruption.has_arrived = False


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt where an error may be what a library has made of an earlier one.

    Pydantic does so, and assertions of an interrupted Mininet fail.
    """
    if Interruption.has_arrived:
        raise KeyboardInterrupt


def say_interrupted(more: str = "") -> None:
    """Print the one line of an interrupted command, with `more` on what it has done, if known."""
    print(f"minitopo-dc: interrupted{more and f'; {more}'}", file=sys.stderr)  # noqa: T201
