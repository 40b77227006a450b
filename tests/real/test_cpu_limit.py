"""Control groups that limit CPU time: what is written where, and what is said without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.real import hosts
from minitopo_dc.real.hosts import cpu_limit, cpu_limit_obstacle, quota_us


@pytest.fixture
def mounts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(hosts, "MOUNTS", tmp_path / "mountinfo")
    return tmp_path / "mountinfo"


def mounted(mounts: Path, root: Path, kind: str, options: str) -> None:
    """A hierarchy of control groups at a place, as proc(5) tells of it."""
    root.mkdir()
    mounts.write_text(f"30 20 0:1 / {root} rw,nosuid - {kind} cgroup {options}\n")


@pytest.mark.parametrize(
    ("percent", "quota", "period"),
    [(100, 10_000, 10_000), (25, 2_500, 10_000), (10, 1_000, 10_000), (1, 1_000, 100_000)],
)
def test_a_share_is_a_quota_of_a_short_period(percent: float, quota: int, period: int) -> None:
    assert quota_us(percent) == (quota, period)


def test_a_machine_without_the_controller_is_told_so(mounts: Path, tmp_path: Path) -> None:
    mounted(mounts, tmp_path / "unified", "cgroup2", "rw")
    (tmp_path / "unified" / "cgroup.controllers").write_text("memory io\n")
    reason = cpu_limit_obstacle()
    assert reason is not None
    assert "no control group has the controller cpu" in reason


def test_version_1_gets_a_quota_and_a_period(mounts: Path, tmp_path: Path) -> None:
    root = tmp_path / "cpu"
    mounted(mounts, root, "cgroup", "rw,cpu,cpuacct")
    stale = root / f"{hosts.CGROUP_PREFIX}{2**22 + 1}"  # above the kernel's greatest pid
    stale.mkdir()
    with pytest.raises(OSError, match="not empty"), cpu_limit(25) as limit:  # not the kernel's
        limit(4711)
        [group] = root.iterdir()  # what a killed run left is removed
        assert (group / "cpu.cfs_quota_us").read_text() == "2500"
        assert (group / "cpu.cfs_period_us").read_text() == "10000"
        assert (group / "cgroup.procs").read_text() == "4711"


def test_version_2_has_the_controller_enabled_first(mounts: Path, tmp_path: Path) -> None:
    root = tmp_path / "unified"
    mounted(mounts, root, "cgroup2", "rw")
    (root / "cgroup.controllers").write_text("cpu memory\n")
    (root / "cgroup.subtree_control").write_text("memory\n")
    with pytest.raises(OSError, match="not empty"), cpu_limit(50):
        [group] = [path for path in root.iterdir() if path.is_dir()]
        assert (group / "cpu.max").read_text() == "5000 10000"
    assert (root / "cgroup.subtree_control").read_text() == "+cpu"
