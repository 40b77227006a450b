"""Programs of runners: the machine's tools, and the start of this project's clients.

A Python client takes some tenths of a second to import what it needs. If that passed behind time
zero of the legs, their traces and changes would be so much further than on the virtual clock. So
the session starts such a client before time zero, with a socket as standard input; the client says
on it that it is ready, and is told time zero on it, at which it begins to connect.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

SYSTEM_PLACES = ("/usr/sbin", "/sbin")
"""Where Debian puts root's programs and some servers; an ordinary user's PATH may lack them."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One program that a transport runs."""

    name: str
    version_option: str | None = None
    """What makes it print its version; None: nothing does."""
    package: str | None = None
    """Debian's package that holds it; None: there is none."""

    def find(self) -> str | None:
        """Return its path, None when it is nowhere."""
        places = [os.environ.get("PATH", os.defpath), *SYSTEM_PLACES]
        return shutil.which(self.name, path=os.pathsep.join(places))

    def not_found(self) -> str:
        """Say where it has been looked for."""
        return f"{self.name} is not on PATH"


def not_installed(tools: Iterable[Tool], system: str = "Debian and Ubuntu") -> str | None:
    """Return which of these programs of Debian are not here and how to get them, or None."""
    missing = [tool for tool in tools if tool.find() is None]
    if not missing:
        return None
    names = " and ".join(tool.name for tool in missing)
    packages = " ".join(tool.package or tool.name for tool in missing)
    verb = "is" if len(missing) == 1 else "are"
    return f"{names} {verb} not installed ({system}: apt-get install {packages})"


READY = b"ready\n"
_STANDARD_INPUT = 0


class StartSignal:
    """The session's end: it learns that the client is ready, and tells it to start."""

    def __init__(self) -> None:
        """Make a pair of sockets, of which `client_end` becomes the client's standard input."""
        self._session_end, self.client_end = socket.socketpair()

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait until the client is ready; return whether it is, and False if it has ended before.

        Raises:
            TimeoutError: it is neither after `timeout_s`.
        """
        self.client_end.close()  # from now on the client has the only one
        self._session_end.settimeout(timeout_s)
        return self._session_end.recv(len(READY), socket.MSG_WAITALL) == READY

    def give(self, begin_ns: int) -> None:
        """Tell the client to start, and time zero of the legs (ns of the monotonic clock)."""
        self._session_end.sendall(b"%d\n" % begin_ns)

    def close(self) -> None:
        """Close both ends; a client that still waits ends."""
        self._session_end.close()
        self.client_end.close()


def wait_for_start() -> int:
    """Say that this client is ready, and return time zero of the legs when the session tells it.

    A client that no session started has no socket as standard input: its time zero is now. A
    client whose session has gone ends.

    Returns:
        Time zero in ns of the monotonic clock.
    """
    try:
        session = socket.socket(fileno=os.dup(_STANDARD_INPUT))
    except OSError:
        return time.monotonic_ns()
    with session, session.makefile("rb") as told:
        session.sendall(READY)
        line = told.readline()
    if not line:
        sys.exit("the session has ended before the start")
    return int(line)
