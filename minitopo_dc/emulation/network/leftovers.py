"""What a user's program leaves on hosts: found by their network namespaces, ended by id."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from minitopo_dc.emulation.network.hosts import EmulatedHost

PATIENCE_S = {signal.SIGTERM: 1.0, signal.SIGKILL: 2.0}
"""How long processes may take to disappear after each signal."""
POLL_S = 0.02


@contextmanager
def no_leftovers(hosts: Sequence[EmulatedHost]) -> Iterator[None]:
    """At the end, end what has been started on these hosts meanwhile and is still there.

    A process may have given up what else shows whose it is: its parents, session and environment.
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
    """Send a signal once to each process until none is left, or for so long (s)."""
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
    """A process's network namespace (namespaces(7)); None of one that has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return None
