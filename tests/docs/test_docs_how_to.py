"""Commands of the Start and How-to pages do what they say, and campaigns have the named runs."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from minitopo_dc.campaign.plan import studies
from tests import REPOSITORY
from tests.docs.pages import (
    DOCS,
    NOT_RUN,
    PAGES,
    RUN_AS_ROOT,
    RUN_WITH,
    Block,
    blocks,
    name,
    run_script,
    save_files,
    user_home,
)
from tests.docs.results import WITH

NAVIGATION = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
PLACES = [
    *re.findall(r"[\w/-]+\.md$", NAVIGATION.partition("- Explanation:")[0], re.MULTILINE),
    "docs/element.md",  # its captures
]
ELSEWHERE = ("docs/first-scenario.md", "docs/your-two-links.md", "docs/your-own.md")
"""Of tests below and `test_docs_your_own`, which also look at what the commands print."""
BLOCKS = {
    REPOSITORY / place: [
        block
        for block in blocks(REPOSITORY / place)
        if block.language == "sh" and not (block.mark or "").startswith(NOT_RUN)
    ]
    for place in PLACES
    if place not in ELSEWHERE
}
OPTIONS = {
    "advise": "--size 0.3 --time 60",
    "compare --set ip_version=6": "--transports tcp --modes dc --size 0.2 --repetitions 1",
    "compare --transports quic": "--size 0.2 --repetitions 1",
    "compare --clock real --plugin mytcp.py": "--repetitions 1",
    "compare": "--transports mpquic-picoquic --repetitions 1",
    "campaign run far.py": "--seeds 1",
    "campaign run thesis-throughput": "--experiments batch-size --size 0.2 --repetitions 1",
}
"""What is added to commands so that a page takes seconds, by their beginning."""
ALIKE = ("advise", "campaigns", "cellular", "minitopo", "paths", "plugins", "traces")
"""Pages whose commands only `make test-long` runs; their options are always checked."""
PATIENCE_S = 300


def of(*, root: bool) -> list[Path]:
    """Return the pages that have commands to run, as root or as anybody."""
    return [page for page in BLOCKS if of_page(page, root=root)]


def of_page(page: Path, *, root: bool) -> list[Block]:
    """Return the commands of a page that are run as root, or the others."""
    return [block for block in BLOCKS[page] if (block.mark == RUN_AS_ROOT) == root]


def run(page: Path, home: Path, *, root: bool) -> None:
    """Run a page's commands where the user is, with the files that the page names."""
    user_home(home, OPTIONS)
    save_files(page, home)
    for block in of_page(page, root=root):
        if block.code.startswith("tshark") and shutil.which("tshark") is None:
            pytest.skip("tshark is not installed")
        if (block.mark or "").startswith(RUN_WITH):
            WITH[(block.mark or "").removeprefix(RUN_WITH)](home)
        run_script(block.code, home, PATIENCE_S)


def test_a_command_of_any_other_page_says_why_it_is_not_run() -> None:
    run_here = {*BLOCKS, *(REPOSITORY / place for place in ELSEWHERE)}
    others = {*PAGES, *(REPOSITORY / "studies").rglob("*.md")} - run_here
    commands = [block for page in others for block in blocks(page) if block.language == "sh"]
    assert [str(block) for block in commands if not (block.mark or "").startswith(NOT_RUN)] == []


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.long] * (page.stem in ALIKE))
        for page in of(root=False)
    ],
    ids=name,
)
def test_the_commands_of_a_page_end_well(page: Path, tmp_path: Path) -> None:
    run(page, tmp_path, root=False)


@pytest.mark.long
@pytest.mark.root
@pytest.mark.parametrize("page", of(root=True), ids=name)
def test_the_commands_of_a_page_for_root_end_well(page: Path, tmp_path: Path) -> None:
    run(page, tmp_path, root=True)


SHOWN = ("first-scenario.md", "your-two-links.md")
SHORT = {"advise --legs mine.csv": "--time 60", "advise": "--time 600"}
"""Beside other work the time must not be up before the verdict, where the page shows one."""


def said(page: Path, home: Path) -> list[str]:
    user_home(home, SHORT)
    save_files(page, home)
    return [line for script in scripts(page) for line in printed(script, home)]


def shown(page: Path) -> Iterator[str]:
    """Yield the lines that the page says are printed."""
    for block in blocks(page):
        if block.language == "text" and block.file is None:
            yield from map(str.rstrip, block.code.splitlines())


def scripts(page: Path) -> Iterator[str]:
    return (block.code for block in blocks(page) if block.language == "sh")


def printed(script: str, home: Path) -> list[str]:
    done = run_script(script, home, 600, COLUMNS="80")
    return [line.rstrip() for line in done.stdout.splitlines()]


@pytest.mark.long
@pytest.mark.parametrize("name", SHOWN)
def test_the_commands_say_what_the_page_shows(name: str, tmp_path: Path) -> None:
    lines = said(DOCS / name, tmp_path)
    assert [line for line in shown(DOCS / name) if line not in lines] == []


ROW = re.compile(r"\| `(?P<name>[a-z_/.-]+)` \|.*\| (?P<full>\d+) \((?P<quick>\d+)\)[^|]*\|")
EXAMPLES = REPOSITORY / "examples" / "campaigns"


class Row(NamedTuple):
    """What is said of an example or a study."""

    name: str
    full: str
    quick: str

    @property
    def path(self) -> Path:
        return studies().get(self.name, EXAMPLES / self.name)


def rows() -> Iterator[Row]:
    for line in (DOCS / "campaigns.md").read_text(encoding="utf-8").splitlines():
        if (found := ROW.fullmatch(line)) is not None:
            yield Row(**found.groupdict())


def test_every_example_and_every_study_is_in_the_tables() -> None:
    files = {path.name for path in EXAMPLES.glob("*.py")}
    assert sorted(row.name for row in rows()) == sorted(files | studies().keys())


def test_the_rules_of_the_study_are_those_that_were_fixed() -> None:
    page = (DOCS / "study.md").read_text(encoding="utf-8")
    fixed = dict(re.findall(r"\| `(rule-[a-z_-]+\.json)` \|.*\| `([0-9a-f]{64})` \|", page))
    folder = DOCS.parent / "studies/which_is_better/reference"
    files = {each.name: each for each in folder.glob("rule-*.json")}
    assert set(fixed) == set(files)
    for rule, digest in fixed.items():
        assert hashlib.sha256(files[rule].read_bytes()).hexdigest() == digest, rule
