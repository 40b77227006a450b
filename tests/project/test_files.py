"""The files about the project agree with it: citation, changelog, workflows, forms, containers."""

from __future__ import annotations

import os
import re
import shlex
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from minitopo_dc import __version__
from minitopo_dc.cli.entry import COMMANDS
from tests import REPOSITORY
from tests.docs.test_docs_commands import check, commands

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").iterdir())
FORMS = sorted((REPOSITORY / ".github" / "ISSUE_TEMPLATE").iterdir())
CONTAINERFILE = REPOSITORY / "Containerfile"
OF_A_RELEASE = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
"""The headings of Keep a Changelog 1.1.0."""
RELEASE = re.compile(r"## \[(?P<version>\d+\.\d+\.\d+)\] - (?P<date>\S+)")
REFERENCES = {"article", "conference-paper", "thesis"}
"""Of the types of CFF 1.2.0 those that are used."""


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def named(path: Path) -> str:
    return path.name


def test_the_citation_is_of_this_version_and_licence() -> None:
    found = load(REPOSITORY / "CITATION.cff")
    assert found["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(found)
    assert str(found["version"]) == __version__
    assert found["license"] == "BSD-3-Clause"


def test_each_paper_in_the_citation_has_title_authors_and_year() -> None:
    papers = load(REPOSITORY / "CITATION.cff")["references"]
    assert len(papers) == 4
    for paper in papers:
        assert paper["type"] in REFERENCES
        assert paper["title"]
        assert all({"family-names", "given-names"} == set(each) for each in paper["authors"])
        # YAML takes an N for a word, and another YAML takes it for "no".
        assert all(isinstance(name, str) for each in paper["authors"] for name in each.values())
        assert 2015 < paper["year"] < 2030


def test_each_paper_is_named_where_its_numbers_are() -> None:
    pages = REPOSITORY.glob("studies/*/reference/README.md")
    text = " ".join(word for page in pages for word in page.read_text(encoding="utf-8").split())
    for paper in load(REPOSITORY / "CITATION.cff")["references"]:
        assert paper["title"] in text
        assert all(author["family-names"] in text for author in paper["authors"])


def test_the_changelog_begins_with_this_version_and_goes_back_in_order() -> None:
    text = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("## ")]
    found = [match for line in lines if (match := RELEASE.fullmatch(line))]
    assert len(found) == len(lines)
    versions = [match["version"] for match in found]
    assert versions[0] == __version__
    numbers = [tuple(map(int, version.split("."))) for version in versions]
    assert numbers == sorted(numbers, reverse=True)
    dates = [match["date"] for match in found]
    days = [date.fromisoformat(day) for day in dates[dates[0] == "Unreleased" :]]
    assert days == sorted(days, reverse=True)


def test_the_changelog_has_the_headings_of_keep_a_changelog() -> None:
    text = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    kinds = {line.removeprefix("### ") for line in text.splitlines() if line.startswith("### ")}
    assert kinds
    assert kinds <= set(OF_A_RELEASE)


@pytest.mark.parametrize("path", WORKFLOWS, ids=named)
def test_the_commands_of_a_workflow_exist(path: Path) -> None:
    found = load(path)
    assert True in found  # what YAML makes of the key `on`
    steps = [step for job in found["jobs"].values() for step in job["steps"]]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    checked = [words for step in steps for words in commands(step.get("run", ""))]
    for words in checked:
        check_command(words)
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


@pytest.mark.parametrize("path", FORMS, ids=named)
def test_a_form_for_issues_asks_for_what_is_needed(path: Path) -> None:
    form = load(path)
    assert form["name"] and form["description"]
    assert all(each["type"] in ("input", "textarea") for each in form["body"])
    names = [each["id"] for each in form["body"]]
    assert len(names) == len(set(names))
    assert all(each["attributes"]["label"] for each in form["body"])
    assert any(each.get("validations", {}).get("required") for each in form["body"])


def test_the_form_for_bugs_asks_for_check_scenario_and_result() -> None:
    text = (REPOSITORY / ".github" / "ISSUE_TEMPLATE" / "bug.yml").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in ("scenario.yaml", "result.json"))
    asked = re.findall(r"`(?:sudo )?minitopo-dc ([^`]+)`", text)
    assert "check" in asked
    assert all(word in (*COMMANDS, "--version") for word in asked)


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
