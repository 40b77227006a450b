"""Mininet's own command line on a network that is not its own to take down."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import IO, Any

from mininet.cli import CLI
from mininet.log import setLogLevel
from mininet.net import Mininet


def command_line(net: Mininet) -> None:
    """Read and do commands from standard input until it ends, or `exit`."""
    setLogLevel("output")  # the command line writes what commands say through the log
    try:
        if sys.stdin.isatty():
            with _ctrl_c_for_commands():
                CLI(net)
            return
        with _silent() as stdin:
            _Batch(net, stdin=stdin)
    finally:
        setLogLevel("error")


@contextlib.contextmanager
def _ctrl_c_for_commands() -> Iterator[None]:
    """Ctrl-C ends a host's command, as often as it is typed, and not this one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Batch(CLI):  # type: ignore[misc]
    """Commands one after the other: Mininet's would feed those that wait to the one that runs."""

    readlineInited = True  # noqa: N815 - Mininet's name
    """No history of what nobody typed."""

    def run(self) -> None:
        """Do each line of standard input."""
        for line in sys.stdin:
            if self.onecmd(self.precmd(line.strip())):
                return

    def emptyline(self) -> Any:
        """Nothing; `cmd.Cmd` would repeat the last command."""


@contextlib.contextmanager
def _silent() -> Iterator[IO[str]]:
    """An input on which nothing ever arrives, nor ends."""
    reading, writing = os.pipe()
    try:
        with os.fdopen(reading) as stdin:
            yield stdin
    finally:
        os.close(writing)
