"""The files about the project agree with it: version, workflows, container."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from minitopo_dc import __version__
from tests import REPOSITORY
from tests.docs.test_docs_commands import check, commands

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").iterdir())
CONTAINERFILE = REPOSITORY / "Containerfile"


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def named(path: Path) -> str:
    return path.name


def test_citation_and_changelog_are_of_this_version() -> None:
    citation = load(REPOSITORY / "CITATION.cff")
    assert str(citation["version"]) == __version__
    text = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    first = next(line for line in text.splitlines() if line.startswith("## "))
    assert first.startswith(f"## [{__version__}] - ")


@pytest.mark.parametrize("path", WORKFLOWS, ids=named)
def test_the_commands_of_a_workflow_exist(path: Path) -> None:
    steps = [step for job in load(path)["jobs"].values() for step in job["steps"]]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    checked = [words for step in steps for words in commands(step.get("run", ""))]
    for words in checked:
        check_command(words)
    if path.name == "tests.yml":
        assert [".ci/run"] in checked
        assert ["make", "unit"] in checked


@pytest.mark.parametrize(
    "line", ["make no-such-target", ".ci/no-such-file", "sudo scripts/no_such.sh"]
)
def test_a_command_that_does_not_exist_is_found(line: str) -> None:
    (words,) = commands(line)
    with pytest.raises(AssertionError):
        check_command(words)


def check_command(words: list[str]) -> None:
    """Fail when a command is of this project, and is not there or not to be run."""
    if "/" in words[0]:
        assert os.access(REPOSITORY / words[0], os.X_OK), words[0]
    else:
        check(words)


def test_the_commands_of_the_containerfile_exist() -> None:
    text = CONTAINERFILE.read_text(encoding="utf-8").replace("\\\n", " ")
    runs = [line.removeprefix("RUN ") for line in text.splitlines() if line.startswith("RUN ")]
    found = [words for line in runs for words in commands(line)]
    found += [load_list(line) for line in text.splitlines() if line.startswith("CMD ")]
    for words in found:
        check(words)
    assert ["make", "setup"] in found
    assert ["make", "compare"] in found
    assert shlex.split("minitopo-dc compare --clock virtual") in found


def load_list(line: str) -> list[str]:
    """The words of a CMD, which is a list in JSON."""
    return [str(word) for word in yaml.safe_load(line.removeprefix("CMD "))]
