"""Temporary directories that say whose they are, so that those of killed processes can be removed.

The name of each has the process' id, its start time, and the namespace in which the id counts.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from posix import geteuid, getpid
from tempfile import TemporaryDirectory, gettempdir

from minitopo_dc.files import TEMPORARY

ENDED = ("Z", "X", "x")
"""States of a process that has ended (proc(5), field 3)."""


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a temporary directory, which is removed at the block's end."""
    with TemporaryDirectory(prefix=scratch_prefix()) as name:
        yield Path(name)


def scratch_prefix() -> str:
    """Return what the names of this process' temporary directories begin with."""
    pid = getpid()
    return f"minitopo-dc-{_namespace()}-{pid}-{started(pid) or 0}-"


def remove_abandoned() -> list[Path]:
    """Remove the temporary directories of processes that have ended; return them.

    Those of other users are left to them, but not by root.
    """
    removed = []
    for place in sorted(Path(gettempdir()).glob("minitopo-dc-*")):
        name = TEMPORARY.match(place.name)
        if name is not None and _is_abandoned(place, name):
            shutil.rmtree(place, ignore_errors=True)
            if not place.exists():
                removed.append(place)
    return removed


def _is_abandoned(place: Path, name: re.Match[str]) -> bool:
    try:
        owner = place.lstat().st_uid
    except OSError:
        return False  # it has just been removed
    is_mine = geteuid() in (0, owner) and place.is_dir() and not place.is_symlink()
    has_ended = started(int(name["pid"])) != name["started"]
    return is_mine and int(name["namespace"]) == _namespace() and has_ended


def started(pid: int) -> str | None:
    """Return the start time of a process in clock ticks (proc(5), field 22), None if it has ended.

    It tells a reused pid apart. A process that has ended has none, also where nobody has waited for
    it.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in ENDED else fields[19]


def _namespace() -> int:
    """Return the number of the namespace in which processes have their ids; 0: no Linux."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0
