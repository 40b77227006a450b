"""Temporary directories of processes that were killed are removed, no others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from minitopo_dc import cli, files
from minitopo_dc.real import run_registry
from minitopo_dc.scratch import remove_abandoned, scratch, scratch_prefix

HOLDER = """
import time
from minitopo_dc.scratch import scratch
with scratch() as place:
    print(place, flush=True)
    time.sleep(100)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of a test's own, here and in processes."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(run_registry, "REGISTRY", tmp_path / "registry")
    return tmp_path


def test_clean_removes_what_a_killed_process_left(capsys: pytest.CaptureFixture[str]) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        place = Path(process.stdout.readline().decode().strip())
        (place / "file").touch()
        assert remove_abandoned() == []
        process.send_signal(signal.SIGKILL)
    assert cli.main(["clean"]) == 0
    assert capsys.readouterr().out == f"removed {place}\n"
    assert not place.exists()


def test_a_living_process_keeps_its_own() -> None:
    with scratch() as place:
        assert remove_abandoned() == []
        assert place.is_dir()
    assert not place.exists()


@pytest.mark.parametrize("name", ["minitopo-dc-abc.traceback", "minitopo-dc-1-2", "other"])
def test_what_has_another_name_stays(name: str, temporary: Path) -> None:
    (temporary / name).mkdir()
    assert remove_abandoned() == []
    assert (temporary / name).exists()


def test_a_link_and_what_another_namespace_counts_stay(temporary: Path) -> None:
    namespace, pid, started = scratch_prefix().removeprefix("minitopo-dc-").split("-")[:3]
    (temporary / "content").mkdir()
    dead = f"{pid}-{int(started) + 1}-x"
    (temporary / f"minitopo-dc-{namespace}-{dead}").symlink_to(temporary / "content")
    (temporary / f"minitopo-dc-{int(namespace) + 1}-{dead}").mkdir()
    assert remove_abandoned() == []
    (temporary / f"minitopo-dc-{namespace}-{dead}y").mkdir()
    assert [path.name[-1] for path in remove_abandoned()] == ["y"]


def test_another_user_s_are_left_to_them(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = scratch_prefix().rsplit("-", 2)[0]
    (temporary / f"{prefix}-1-x").mkdir()
    mine = os.geteuid()
    monkeypatch.setattr("minitopo_dc.scratch.geteuid", lambda: mine + 1)
    assert remove_abandoned() == []


def test_what_is_scratch_is_not_waited_for_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    monkeypatch.setattr(files, "fsync", waited.append)
    with scratch() as place:
        files.write_whole(place / "a", "text")
        assert not waited
        files.write_whole(place.parent / "b", "text")
        assert len(waited) == 1
