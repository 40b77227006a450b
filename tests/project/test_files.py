"""Text files, the data of an installation, and names that may be meant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from minitopo_dc import __version__
from minitopo_dc import installation as module
from minitopo_dc.errors import did_you_mean, similar
from minitopo_dc.files import PART_BYTES, UnreadableError, parts, read_bytes, read_text
from minitopo_dc.installation import Kind, checkout, module_command, safe_path, shipped
from tests import REPOSITORY
from tests.docs.test_docs_commands import check, commands

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").iterdir())


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_citation_and_changelog_are_of_this_version() -> None:
    citation = load(REPOSITORY / "CITATION.cff")
    assert str(citation["version"]) == __version__
    text = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    first = next(line for line in text.splitlines() if line.startswith("## "))
    assert first.startswith(f"## [{__version__}] - ")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_commands_of_a_workflow_exist(path: Path) -> None:
    steps = [step for job in load(path)["jobs"].values() for step in job["steps"]]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    checked = [words for step in steps for words in commands(step.get("run", ""))]
    for words in checked:
        check_command(words)
    if path.name == "tests.yml":
        assert [".ci/run"] in checked
        assert ["make", "unit"] in checked


def check_command(words: list[str]) -> None:
    """Fail when a command is of this project, and is not there or not to be run."""
    if "/" in words[0]:
        assert os.access(REPOSITORY / words[0], os.X_OK), words[0]
    else:
        check(words)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UnreadableError, match="no regular file"):
        read_text(pipe, 100)


def test_a_file_is_read_up_to_its_size(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("\ufeffa line\n", encoding="utf-8")
    assert read_text(tmp_path / "file", 100) == "a line\n"
    with pytest.raises(UnreadableError, match="longer than 3 bytes"):
        read_text(tmp_path / "file", 3)


def test_a_file_of_several_parts_is_read_to_its_end(tmp_path: Path) -> None:
    content = bytes(range(256)) * (PART_BYTES // 256) + b"end"
    path = tmp_path / "file"
    path.write_bytes(content)
    assert [len(part) for part in parts(path, len(content))] == [PART_BYTES, 3]
    assert read_bytes(path, len(content)) == content


def test_what_is_refused_is_not_kept_open(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("two")
    before = {*Path("/proc/self/fd").iterdir()}
    for refused in (path, tmp_path):
        with pytest.raises(UnreadableError, match=r"longer than 2 bytes|no regular file"):
            read_bytes(refused, 2)
    assert {*Path("/proc/self/fd").iterdir()} <= before


@pytest.mark.parametrize("kind", get_args(Kind))
def test_in_a_checkout_the_data_are_the_top_level_folders(kind: Kind) -> None:
    own = kind == "videos"  # another project's files, with their notice
    assert shipped(kind) == (REPOSITORY / "minitopo_dc" / "data" if own else REPOSITORY) / kind
    assert any(shipped(kind).iterdir())


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


@pytest.mark.parametrize(
    ("name", "known", "told"),
    [
        ("gian", ["gain", "level"], "did you mean gain?"),
        ("--Splitt", ["--split", "--legs"], "did you mean --split?"),
        ("rate", ["trace", "rate_mbps"], "did you mean rate_mbps?"),
        (
            "delay",
            ["delay_p50_ms", "delay_p95_ms", "delay_mean_ms"],
            "delay_p50_ms or delay_p95_ms?",
        ),
        ("level", ["gain"], ""),
        ("level", [], ""),
    ],
)
def test_a_similar_name_is_suggested(name: str, known: list[str], told: str) -> None:
    assert did_you_mean(name, known).endswith(told)
    assert bool(did_you_mean(name, known)) == bool(told)
    assert (similar("rate", ["trace", "rate_mbps"]), similar("rat", ["rate"])) == ([], ["rate"])
