"""A limit of CPU time for the programs of a host: the kernel's CFS bandwidth, by a control group.

It uses version 2 (`cpu.max`) where its hierarchy has the controller `cpu`, else version 1
(`cpu.cfs_quota_us`); see cgroups(7) and the kernel's Documentation/scheduler/sched-bwc.rst.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
PERIOD_US = 10_000
"""Short, so that a program stands still for less than a round trip of the papers' legs (20 ms)."""
MIN_QUOTA_US = 1_000
"""The kernel's."""
PREFIX = "minitopo-dc-cpu-"
"""Of the groups' names, before the process that made them."""


@dataclass(frozen=True)
class Hierarchy:
    """The place where control groups with the controller `cpu` are made."""

    root: Path
    is_version_2: bool

    def limit(self, group: Path, percent: float) -> None:
        """Give a group its share of one CPU, in percent.

        Raises:
            OSError: the kernel does not allow it.
        """
        quota, period = quota_us(percent)
        if self.is_version_2:
            _write(group / "cpu.max", f"{quota} {period}")
            return
        _write(group / "cpu.cfs_period_us", str(period))
        _write(group / "cpu.cfs_quota_us", str(quota))


class CpuLimit:
    """A control group: the processes added to it, and their children, share its CPU time."""

    def __init__(self, group: Path) -> None:
        self._group = group

    def add(self, pid: int) -> None:
        """Add a process from now on; one that has ended is ignored."""
        with contextlib.suppress(ProcessLookupError):
            _write(self._group / "cgroup.procs", str(pid))


@contextmanager
def cpu_limit(percent: float) -> Iterator[CpuLimit]:
    """Limit processes to a share of one CPU in percent; they must have ended on leaving.

    Raises:
        OSError: the kernel does not allow it (`cpu_limit_obstacle` says so before).
    """
    hierarchy = _hierarchy()
    if hierarchy is None:
        raise OSError(_MISSING)
    _remove_stale(hierarchy.root)
    group = hierarchy.root / f"{PREFIX}{os.getpid()}"
    group.mkdir()
    try:
        hierarchy.limit(group, percent)
        yield CpuLimit(group)
    finally:
        group.rmdir()


def cpu_limit_obstacle() -> str | None:
    """Return why this machine cannot limit CPU time, None when it can."""
    try:
        with cpu_limit(100):
            return None
    except OSError as error:
        return str(error)


def quota_us(percent: float) -> tuple[int, int]:
    """Return the CPU time in each period, and the period, both in us."""
    quota = max(MIN_QUOTA_US, round(PERIOD_US * percent / 100))
    return quota, round(quota * 100 / percent)


_MISSING = "no control group has the controller cpu here (cgroups(7)): no CPU time can be limited"


def _hierarchy() -> Hierarchy | None:
    for root, kind, options in _mounts():
        if kind == "cgroup2" and "cpu" in (root / "cgroup.controllers").read_text().split():
            _enable(root)
            return Hierarchy(root, is_version_2=True)
        if kind == "cgroup" and "cpu" in options:
            return Hierarchy(root, is_version_2=False)
    return None


def _mounts() -> Iterator[tuple[Path, str, list[str]]]:
    """Yield the place of each file system, its type and its options (proc(5), mountinfo)."""
    for line in MOUNTS.read_text(encoding="utf-8").splitlines():
        place, _, system = line.partition(" - ")
        kind, _, options = system.split(" ", 2)
        yield Path(place.split()[4]), kind, options.split(",")


def _enable(root: Path) -> None:
    """Let groups below the root use the controller."""
    if "cpu" not in (root / "cgroup.subtree_control").read_text().split():
        _write(root / "cgroup.subtree_control", "+cpu")


def _remove_stale(root: Path) -> None:
    """Remove the groups that killed runs left; one with a process in it stays."""
    for group in root.glob(f"{PREFIX}*"):
        if not Path(f"/proc/{group.name.removeprefix(PREFIX)}").exists():
            with contextlib.suppress(OSError):
                group.rmdir()


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="ascii")
