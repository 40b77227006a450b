"""Who owns what: every run is registered, so that what a killed run left can be found and removed.

Every process of a run carries the run's id in its environment, and its children inherit it. Hosts
are unnamed network namespaces that live as long as a process in them, with their interfaces, routes
and firewall rules. So to end a run's processes is to remove everything.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from minitopo_dc.whole_files import write_whole

REGISTRY = Path("/run/minitopo-dc")
VARIABLE = "MINITOPO_DC_RUN"
GRACE_S = 2.0
"""How long a process may take to disappear after SIGKILL."""


class Removed(NamedTuple):
    """What `clean` ended: the run's id and its processes."""

    run: str
    processes: list[int]


@contextlib.contextmanager
def registered() -> Iterator[str]:
    """Register a run of this process, and mark every process it starts meanwhile."""
    run = uuid.uuid4().hex[:12]
    REGISTRY.mkdir(mode=0o755, parents=True, exist_ok=True)
    entry = REGISTRY / f"{run}.json"
    # Half of it would be a run without an owner, which another's `clean` ends.
    write_whole(entry, json.dumps({"pid": os.getpid(), "started": _started(os.getpid())}))
    os.environ[VARIABLE] = run
    try:
        yield run
    finally:
        del os.environ[VARIABLE]
        _end(run)
        entry.unlink(missing_ok=True)


def clean() -> list[Removed]:
    """End every process of runs whose owner is gone; a run whose owner lives is left alone."""
    removed = []
    for entry in sorted(REGISTRY.glob("*.json")):
        if not _owner_lives(entry):
            removed.append(Removed(entry.stem, _end(entry.stem)))
            shutil.rmtree(entry.with_suffix(""), ignore_errors=True)  # a Mininet script's files
            entry.unlink(missing_ok=True)
    return removed


def processes_of(run: str) -> list[int]:
    """Return the processes, other than this one, that carry this run's id."""
    mark = f"{VARIABLE}={run}".encode()
    return [
        int(process.name)
        for process in Path("/proc").glob("[0-9]*")
        if int(process.name) != os.getpid() and mark in _environment(process)
    ]


def _end(run: str) -> list[int]:
    """SIGKILL the run's processes, and what they start meanwhile, until none is left."""
    ended: set[int] = set()
    deadline = time.monotonic() + GRACE_S
    while (left := processes_of(run)) and time.monotonic() < deadline:
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        ended.update(left)
        time.sleep(0.02)
    return sorted(ended)


def _environment(process: Path) -> list[bytes]:
    """The process's environment; empty for one that has ended or is not ours to read."""
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _owner_lives(entry: Path) -> bool:
    try:
        owner = json.loads(entry.read_text())
        return bool(_started(owner["pid"]) == owner["started"])
    except (OSError, ValueError, KeyError, TypeError):
        return False  # no entry of a run


def _started(pid: int) -> str | None:
    """Start time of a process in clock ticks (proc(5), field 22): tells a reused pid apart."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text.rpartition(")")[2].split()[19]
