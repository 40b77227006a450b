"""A headless Chromium with an empty profile, which leaves nothing behind."""

from __future__ import annotations

import itertools
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from minitopo_dc.errors import MinitopoDcError

Reply = dict[str, Any]
READ_BYTES = 65_536


class DevToolsError(MinitopoDcError):
    """Error: the browser did not answer, or answered with an error."""


class DevTools:
    """Commands to a browser and its answers; all of them are to be done by a deadline."""

    def __init__(self, send: int, receive: int, deadline: float) -> None:
        """Take file descriptors, which the caller closes, and a deadline (monotonic time in s)."""
        self._send = send
        self._receive = receive
        self._deadline = deadline
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._events: list[Reply] = []

    def call(self, method: str, session: str | None = None, **parameters: Any) -> Reply:
        """Return the result of a command.

        Raises:
            DevToolsError: there is none.
        """
        number = next(self._numbers)
        message: Reply = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        try:
            os.write(self._send, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise DevToolsError(f"the browser ended before {method}") from None
        while (reply := self._next(method)).get("id") != number:
            self._events.append(reply)
        if "error" in reply:
            raise DevToolsError(f"{method}: {reply['error'].get('message', reply['error'])}")
        return dict(reply["result"])

    def wait_for(self, event: str) -> None:
        """Return when an event has come, be it before this call.

        Raises:
            DevToolsError: it has not come.
        """
        while all(message.get("method") != event for message in self._events):
            self._events.append(self._next(event))

    def _next(self, cause: str) -> Reply:
        while b"\0" not in self._buffer:
            patience = max(0.0, self._deadline - time.monotonic())
            if not select.select([self._receive], [], [], patience)[0]:
                raise DevToolsError(f"no {cause} in time")
            data = os.read(self._receive, READ_BYTES)
            if not data:
                raise DevToolsError(f"the browser ended before {cause}")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))


PROGRAMS = ("chromium", "google-chrome")
"""As Debian and Google call it; the first that there is."""
MISSING = "no chromium on this machine (Debian: apt-get install chromium)"
OPTIONS = (
    "--headless",
    "--no-sandbox",  # which root may not use
    "--disable-gpu",
    "--no-first-run",
    # The hosts have no internet: requests to the browser's maker would only take time.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--remote-debugging-pipe",
)
DEBUGGING_READ, DEBUGGING_WRITE = 3, 4
"""The file descriptors of `--remote-debugging-pipe`."""
END_S = 5.0
"""How long the browser may take to end when asked to."""
LAST_LINES = 5


class BrowserError(MinitopoDcError):
    """Error: there is no browser, or it did not do what it was told; the text says why."""


@contextmanager
def chromium(
    options: Sequence[str], timeout_s: float, before: Sequence[str] = ()
) -> Iterator[DevTools]:
    """Run a browser with a new, empty profile for a block; then it ends and its files are removed.

    Args:
        options: beside `OPTIONS`.
        timeout_s: from now until all is done.
        before: words before the command, of a program that runs it.

    Raises:
        BrowserError: there is none; it ended or did not answer, with its last words.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise BrowserError(MISSING)
    if before and shutil.which(before[0]) is None:
        raise BrowserError(f"no {before[0]} on this machine (Debian's package of this name)")
    with TemporaryDirectory(prefix="minitopo-dc-", ignore_cleanup_errors=True) as home:
        # A short name: the browser has a Unix socket there, whose path has 107 octets at most.
        command = [*before, program, *OPTIONS, f"--user-data-dir={home}/profile", *options]
        log = Path(home, "log")
        try:
            with _running(command, home, log, time.monotonic() + timeout_s) as devtools:
                yield devtools
        except DevToolsError as error:
            raise BrowserError(f"{error}{_last_words(log)}") from None


@contextmanager
def _running(command: Sequence[str], home: str, log: Path, deadline: float) -> Iterator[DevTools]:
    (its_read, our_write), (our_read, its_write) = os.pipe(), os.pipe()
    process = _start(command, home, log, (its_read, its_write))
    os.close(its_read)
    os.close(its_write)
    try:
        yield DevTools(send=our_write, receive=our_read, deadline=deadline)
    finally:
        os.close(our_write)  # the browser ends with its pipe
        os.close(our_read)
        _end(process)


def _start(command: Sequence[str], home: str, log: Path, pipes: Sequence[int]) -> int:
    """Start the process, which leads a group and reads and writes these pipes; return its id."""
    environment = {name: value for name, value in os.environ.items() if name[:4] != "XDG_"}
    log_flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    return os.posix_spawnp(
        command[0],
        list(command),
        {**environment, "HOME": home, "TMPDIR": home},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, pipes[0], DEBUGGING_READ),
            (os.POSIX_SPAWN_DUP2, pipes[1], DEBUGGING_WRITE),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), log_flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setpgroup=0,
    )


def _end(process: int) -> None:
    deadline = time.monotonic() + END_S
    while os.waitpid(process, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
            break
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # what it has left


def _last_words(log: Path) -> str:
    """Return the last lines it printed, without what a machine without a desktop lacks (D-Bus)."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    said = [line for line in lines if "dbus" not in line.lower()][-LAST_LINES:]
    return "".join(f"\n  {line}" for line in said)
