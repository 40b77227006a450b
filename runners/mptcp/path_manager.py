"""A program on the client's host that changes the paths of its MPTCP connection at their times.

It begins when the connection is established, and makes the changes that are due before then. For
each change it prints one line of JSON: the event, and when the kernel had been told (`done_s`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from minitopo_dc.fields import PathEvent, PathPlan
from minitopo_dc.runners.addresses import is_connected
from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.mptcp.endpoints import Endpoints
from minitopo_dc.runners.programs import ProgramSettings
from minitopo_dc.units import NS_PER_S

POLL_S = 0.005
"""How often to look whether the connection is there: short against its handshake."""


@dataclass(frozen=True)
class LocalHost:
    """The host on which this program runs."""

    name: str = "client"

    def popen(
        self,
        arguments: Sequence[str],
        *,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        stdout: int | IO[bytes],
        stderr: int | IO[bytes],
    ) -> subprocess.Popen[bytes]:
        """Start a process on this host."""
        return subprocess.Popen(arguments, stdin=stdin, stdout=stdout, stderr=stderr)


class PathsSettings(ProgramSettings):
    """Settings of this paths program."""

    paths: PathPlan
    begin_ns: int
    """Time zero of the paths, on the monotonic clock."""
    addresses: tuple[str, ...]
    """The client's addresses, one per leg."""
    server: str
    """The server's address."""
    port: int


def main() -> None:
    """Make the changes; a change that the kernel refuses ends the program, with its words."""
    settings = PathsSettings.given()
    client = settings.addresses[settings.paths.initial[0] - 1]
    while not is_connected("self", client, (settings.server, settings.port)):
        time.sleep(POLL_S)
    endpoints = Endpoints(LocalHost(), settings.addresses, settings.paths)
    try:
        for event in settings.paths.events:
            done_s = apply_on_time(event, settings.begin_ns, endpoints.change)
            print(json.dumps({**event._asdict(), "done_s": done_s}), flush=True)  # noqa: T201
    except TransferFailed as failure:
        sys.exit(str(failure))


def apply_on_time(event: PathEvent, begin_ns: int, change: Callable[[PathEvent], None]) -> float:
    """Wait for an event's time, and make the change; return when it was made.

    The time is in s since `begin_ns`.
    """
    time.sleep(max(0.0, event.at_s - (time.monotonic_ns() - begin_ns) / NS_PER_S))
    change(event)
    return (time.monotonic_ns() - begin_ns) / NS_PER_S


if __name__ == "__main__":
    main()
