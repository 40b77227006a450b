"""A program on the client's host that changes the paths of its MPTCP connection at their times.

It begins when the connection is there: what is due before is done then. For each change it prints
one line of JSON: the event, and when the kernel had been told (`done_s`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.mptcp.endpoints import Endpoints
from minitopo_dc.runners.ports import is_connected
from minitopo_dc.settings import PathEvent, PathPlan
from minitopo_dc.units import NS_PER_S

POLL_S = 0.005
"""How often to look whether the connection is there: short against its handshake."""


@dataclass(frozen=True)
class ThisHost:
    """The host that this program runs on."""

    name: str = "client"

    def popen(
        self, arguments: Sequence[str], *, stdout: int | IO[bytes], stderr: int | IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a process here."""
        return subprocess.Popen(arguments, stdout=stdout, stderr=stderr)


def main() -> None:
    """Make the changes; a change that the kernel refuses ends the program, with its words."""
    options = _options()
    plan = PathPlan.from_json(options.paths)
    client = options.addresses[plan.initial[0] - 1]
    while not is_connected("self", client, (options.server, options.port)):
        time.sleep(POLL_S)
    endpoints = Endpoints(ThisHost(), options.addresses, plan)
    try:
        for event in plan.events:
            done_s = at_its_time(event, options.begin_ns, endpoints.change)
            print(json.dumps({**event._asdict(), "done_s": done_s}), flush=True)  # noqa: T201
    except TransferFailed as failure:
        sys.exit(str(failure))


def at_its_time(event: PathEvent, begin_ns: int, change: Callable[[PathEvent], None]) -> float:
    """Wait for an event's time, and make the change; when it was made, in s since `begin_ns`."""
    time.sleep(max(0.0, event.at_s - (time.monotonic_ns() - begin_ns) / NS_PER_S))
    change(event)
    return (time.monotonic_ns() - begin_ns) / NS_PER_S


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", required=True, help="the plan, as JSON")
    parser.add_argument("--begin-ns", type=int, required=True, help="time zero, monotonic")
    parser.add_argument("--addresses", nargs="+", required=True, help="the client's, one per leg")
    parser.add_argument("--server", required=True, help="the server's address")
    parser.add_argument("--port", type=int, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
