"""Processes that a user's program leaves on hosts: found by network namespace, ended by id."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from minitopo_dc.real.network.hosts import EmulatedHost

PATIENCE_S = {signal.SIGTERM: 1.0, signal.SIGKILL: 2.0}
"""How long processes may take to disappear after each signal."""
POLL_S = 0.02


@contextmanager
def ending_leftovers(hosts: Sequence[EmulatedHost]) -> Iterator[None]:
    """End, after the block, the processes that were started on these hosts and still run.

    A process may have given up all else that shows whose it is: its parents, session and
    environment.
    """
    namespaces = {found for host in hosts if (found := _namespace(host.pid)) is not None}
    before = set(_processes_in(namespaces))
    try:
        yield
    finally:
        for number, patience in PATIENCE_S.items():
            _tell(number, patience, namespaces, before)


def _tell(
    number: signal.Signals, patience: float, namespaces: Collection[str], others: set[int]
) -> None:
    """Send a signal once to each process until none is left, or for `patience` s."""
    told: set[int] = set()
    deadline = time.monotonic() + patience
    while (left := set(_processes_in(namespaces)) - others) and time.monotonic() < deadline:
        for process in left - told:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)
        told |= left
        time.sleep(POLL_S)


def _processes_in(namespaces: Collection[str]) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        if _namespace(int(process.name)) in namespaces:
            yield int(process.name)


def _namespace(pid: int) -> str | None:
    """Return a process' network namespace (namespaces(7)), None if it has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return None
