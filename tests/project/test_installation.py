"""Where the package is, what comes with it, and how its modules are run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from minitopo_dc import installation as module
from minitopo_dc.installation import Kind, checkout, module_command, safe_path, shipped
from tests import REPOSITORY


@pytest.mark.parametrize("kind", get_args(Kind))
def test_in_a_checkout_the_data_are_the_top_level_folders(kind: Kind) -> None:
    own = kind == "videos"  # another project's files, with their notice
    assert shipped(kind) == (REPOSITORY / "minitopo_dc" / "data" if own else REPOSITORY) / kind
    assert any(shipped(kind).iterdir())


def test_this_is_a_checkout() -> None:
    assert checkout() == REPOSITORY


def test_an_installed_copy_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGE", tmp_path / "site-packages" / "minitopo_dc")
    assert checkout() is None


@pytest.mark.parametrize("before", [None, "", "1"])
def test_spawned_processes_do_not_look_in_the_user_s_directory_either(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    if before is not None:
        monkeypatch.setenv("PYTHONSAFEPATH", before)
    with safe_path():
        flags = subprocess.check_output([sys.executable, "-c", "import sys; print(sys.flags)"])
    assert b"safe_path=True" in flags
    assert os.environ.get("PYTHONSAFEPATH") == before


def test_a_module_runs_whatever_the_user_s_directory_holds(tmp_path: Path) -> None:
    for name in ("minitopo_dc", "dataclasses"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('of the user')")
    command = module_command("minitopo_dc.trace.embedded")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr.startswith("usage: ")
