"""What docs/security.md says, as far as it needs no root."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from minitopo_dc import cli
from minitopo_dc.commands.entry import unexpected
from minitopo_dc.commands.screen import new_directory
from minitopo_dc.emulation.machine.run_registry import VARIABLE

PACKAGE = Path(cli.__file__).resolve().parent
SOURCES = sorted(
    {
        *PACKAGE.rglob("*.py"),
        *(PACKAGE / "runners").glob("*.py"),
        *(PACKAGE / "topologies").glob("*.py"),
    }
)
GUESSED = re.compile(r"gettempdir|mktemp\(|[\"']/tmp|[\"']/var/tmp")


def test_no_name_in_a_shared_temporary_directory_can_be_guessed() -> None:
    """`tempfile` makes files and directories that are new (O_EXCL, mkdir) and nobody else's."""
    found = [path.name for path in SOURCES if GUESSED.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_a_kept_traceback_follows_no_link_and_is_the_user_s_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    victim = tmp_path / "victim"
    victim.write_text("mine")
    names = iter(["taken", "free"])
    monkeypatch.setattr(tempfile, "_get_candidate_names", lambda: names)
    (tmp_path / "minitopo-dc-taken.traceback").symlink_to(victim)
    unexpected(ValueError("x"))
    assert victim.read_text() == "mine"
    assert stat.S_IMODE((tmp_path / "minitopo-dc-free.traceback").stat().st_mode) == 0o600


def test_results_are_not_world_writable_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert cli.main(["campaign", "status", str(tmp_path)]) == 2
        made = new_directory(tmp_path / "out", "run")
    finally:
        os.umask(before)
    assert not made.stat().st_mode & 0o002


def test_an_output_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    files = ["--output", str(tmp_path / "out"), "--clock", "virtual", "--size", "0.1"]
    assert cli.main(["compare", *files]) == 2
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_programs_of_a_run_get_a_clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mininet", reason="needs Mininet")
    from minitopo_dc.emulation.network import hosts

    meddling = ["LD_PRELOAD", "BASH_ENV", "https_proxy", "ALL_PROXY", "SSLKEYLOGFILE", "PYTHONHOME"]
    for name in meddling:
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv(VARIABLE, "kept")
    clean = hosts.clean_environment()
    assert not set(meddling) & clean.keys()
    assert clean[VARIABLE] == "kept"
    assert clean["PATH"] == os.environ["PATH"]


def test_no_module_of_the_current_directory_is_imported(tmp_path: Path) -> None:
    """A file there may be anybody's: processes are started with -P (`shipped.module_command`)."""
    (tmp_path / "json.py").write_text("raise SystemExit('somebody else')")
    program = "import sys; from minitopo_dc.pool import in_processes; import os; "
    program += "print([list(each) for each in in_processes(os.path.basename, [('a/b',)], 1)])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout.replace("'", '"')) == [[0, "b"]]
