"""A limit of CPU time for the programs of a host: the kernel's CFS bandwidth, by a control group.

It uses version 2 (`cpu.max`) where its hierarchy has the controller `cpu`, else version 1
(`cpu.cfs_quota_us`); see cgroups(7) and the kernel's Documentation/scheduler/sched-bwc.rst.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
PERIOD_US = 10_000
"""Short, so that a program stands still for less than a round trip of the papers' legs (20 ms)."""
MIN_QUOTA_US = 1_000
"""The kernel's."""
PREFIX = "minitopo-dc-cpu-"
"""Of the groups' names, before the process that made them."""


CpuLimit = Callable[[int], None]
"""Adds a process to a limit, by its identity."""
Hierarchy = tuple[Path, int]
"""The place where control groups with the controller `cpu` are made, and the version, 1 or 2."""
_MISSING = "no control group has the controller cpu here (cgroups(7)): no CPU time can be limited"


@contextmanager
def cpu_limit(percent: float) -> Iterator[CpuLimit]:
    """Limit processes, which must have ended on leaving, to a share of one CPU in percent.

    Yields what adds a process, whose children share its CPU time; one that has ended is ignored.

    Raises:
        OSError: the kernel does not allow it (`cpu_limit_obstacle` says so before).
    """
    root, version = _hierarchy()
    for stale in root.glob(f"{PREFIX}*"):  # of a killed run; one with a process in it stays
        if not Path(f"/proc/{stale.name.removeprefix(PREFIX)}").exists():
            with contextlib.suppress(OSError):
                stale.rmdir()
    group = root / f"{PREFIX}{os.getpid()}"

    def add(pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(str(pid))

    group.mkdir()
    try:
        quota, period = quota_us(percent)
        if version == 2:
            (group / "cpu.max").write_text(f"{quota} {period}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(period))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        yield add
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


def _hierarchy() -> Hierarchy:
    """Find the hierarchy in the table of mounts (proc(5), mountinfo), with the controller enabled.

    Raises:
        OSError: there is none, or this user may not enable its controller.
    """
    for line in MOUNTS.read_text(encoding="utf-8").splitlines():
        place, _, system = line.partition(" - ")
        root, (kind, _, options) = Path(place.split()[4]), system.split(" ", 2)
        if kind == "cgroup2" and "cpu" in (root / "cgroup.controllers").read_text().split():
            if "cpu" not in (root / "cgroup.subtree_control").read_text().split():
                (root / "cgroup.subtree_control").write_text("+cpu")
            return root, 2
        if kind == "cgroup" and "cpu" in options.split(","):
            return root, 1
    raise OSError(_MISSING)
