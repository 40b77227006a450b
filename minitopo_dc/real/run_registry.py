"""A register of all runs, so that what a killed run left can be found and removed.

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
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from minitopo_dc.fields import SettingsError
from minitopo_dc.files import write_whole
from minitopo_dc.scratch import started

REGISTRY = Path("/run/minitopo-dc")
VARIABLE = "MINITOPO_DC_RUN"
GRACE_S = 2.0
"""How long a process may take to disappear after SIGKILL."""
POLL_S = 0.02


@contextlib.contextmanager
def registered() -> Iterator[str]:
    """Register a run of this process, and mark every process it starts meanwhile."""
    run = uuid.uuid4().hex[:12]
    REGISTRY.mkdir(mode=0o755, parents=True, exist_ok=True)
    entry = REGISTRY / f"{run}.json"
    try:
        write_whole(entry, json.dumps({"pid": os.getpid(), "started": started(os.getpid())}))
        os.environ[VARIABLE] = run
        yield run
    finally:
        os.environ.pop(VARIABLE, None)
        _end(run)
        entry.unlink(missing_ok=True)


def clean() -> dict[str, list[int]]:
    """End every process of runs whose owner is gone; leave runs alone whose owner lives.

    Several of these may work at once, beside runs that begin and end.

    Returns:
        The processes that it ended, by the run's id.

    Raises:
        SettingsError: what is left is another user's.
    """
    removed = {}
    for entry in sorted(REGISTRY.glob("*.json")):
        if _owner_is_gone(entry):
            if not os.access(REGISTRY, os.W_OK):
                raise SettingsError(f"{entry}: left by another user; use sudo minitopo-dc clean")
            removed[entry.stem] = _end(entry.stem)
            shutil.rmtree(entry.with_suffix(""), ignore_errors=True)  # a Mininet script's files
            entry.unlink(missing_ok=True)
    return removed


def processes_of(run: str) -> list[int]:
    """Return the processes, other than this one, that carry this run's id."""
    mark, processes = f"{VARIABLE}={run}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or belongs to another user
            if mark in (process / "environ").read_bytes().split(b"\0"):
                processes.append(int(process.name))
    return [process for process in processes if process != os.getpid()]


def _end(run: str) -> list[int]:
    return sorted(signal_all(lambda: processes_of(run), signal.SIGKILL, GRACE_S))


def signal_all(
    find: Callable[[], Iterable[int]], number: signal.Signals, patience_s: float
) -> set[int]:
    """Send a signal once to each process, also to those that they start meanwhile.

    Args:
        find: says which are left.
        number: the signal.
        patience_s: how long (s) to wait until none is left.

    Returns:
        The processes that got it.
    """
    signalled: set[int] = set()
    deadline = time.monotonic() + patience_s
    while (left := set(find())) and time.monotonic() < deadline:
        for process in left - signalled:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)
        signalled |= left
        time.sleep(POLL_S)
    return signalled


def _owner_is_gone(entry: Path) -> bool:
    try:
        owner = json.loads(entry.read_text(encoding="utf-8"))
        return bool(started(owner["pid"]) != owner["started"])
    except FileNotFoundError:
        return False  # the run has ended, or another `clean` was faster
    except (OSError, ValueError, KeyError, TypeError):
        return True  # damaged: entries are written whole
