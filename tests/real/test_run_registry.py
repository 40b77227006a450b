"""Who owns a run: what `clean` removes, and what it leaves alone, however many are at it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from minitopo_dc import cli
from minitopo_dc.real import run_registry
from minitopo_dc.real.run_registry import VARIABLE, clean, registered
from minitopo_dc.scratch import started


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A registry of a test's own."""
    directory = tmp_path / "registry"
    monkeypatch.setattr(run_registry, "REGISTRY", directory)
    yield directory
    os.environ.pop(VARIABLE, None)


def entry(registry: Path, pid: int, started: str | None) -> Path:
    """That of a run of another process."""
    registry.mkdir(exist_ok=True)
    path = registry / f"{pid}.json"
    path.write_text(json.dumps({"pid": pid, "started": started}))
    return path


def test_a_zombie_is_no_owner(registry: Path) -> None:
    program = [sys.executable, "-c", "input()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        path = entry(registry, process.pid, started(process.pid))
        assert clean() == {}
        process.stdin.close()
        while started(process.pid) is not None:
            time.sleep(0.005)
        assert Path(f"/proc/{process.pid}").exists()  # nobody has waited for it yet
        assert list(clean()) == [path.stem]
        assert not path.exists()


def test_another_user_s_entry_is_one_line(
    registry: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = entry(registry, 2**22 + 1, "1")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert cli.main(["clean"]) == 2
    assert capsys.readouterr().err == (
        f"minitopo-dc: {path}: left by another user; use sudo minitopo-dc clean\n"
    )


@pytest.mark.parametrize("text", ["", "{", "5", "[]", '{"pid": 1}', '{"pid": "x", "started": 1}'])
def test_a_damaged_entry_is_removed(text: str, registry: Path) -> None:
    registry.mkdir()
    (registry / "abc.json").write_text(text)
    assert list(clean()) == ["abc"]
    assert list(registry.iterdir()) == []


def test_an_entry_that_goes_meanwhile_is_none(registry: Path) -> None:
    assert not run_registry._owner_is_gone(registry / "gone.json")


def test_several_cleaners_leave_living_runs_alone(registry: Path) -> None:
    registry.mkdir()
    ended = threading.Event()
    removed: list[str] = []

    def clean_on() -> None:
        while not ended.is_set():
            removed.extend(clean())

    cleaners = [threading.Thread(target=clean_on) for _ in range(3)]
    for cleaner in cleaners:
        cleaner.start()
    try:
        for _ in range(30):
            with registered() as run:
                assert (registry / f"{run}.json").exists()
                time.sleep(0.001)
                assert (registry / f"{run}.json").exists()
    finally:
        ended.set()
        for cleaner in cleaners:
            cleaner.join()
    assert removed == []
    assert list(registry.iterdir()) == []
