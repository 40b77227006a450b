"""The commands of the Start and How-to pages are run, each page in its order."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests import REPOSITORY
from tests.docs.pages import (
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
"""Of `test_docs_start` and `test_docs_your_own`, which also look at what the commands print."""
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
    "advise": "--time 20",
    "compare --set ip_version=6": "--transports tcp --modes dc --size 0.2 --repetitions 1",
    "compare --transports quic": "--size 0.2 --repetitions 1",
    "compare": "--transports mpquic-picoquic quic-picoquic --size 0.5 --repetitions 1",
    "campaign run thesis-throughput": "--experiments batch-size --size 0.2 --repetitions 1",
}
"""What is added to commands so that all pages take less than a minute, by their beginning."""
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


@pytest.mark.parametrize("page", of(root=False), ids=name)
def test_the_commands_of_a_page_end_well(page: Path, tmp_path: Path) -> None:
    run(page, tmp_path, root=False)


@pytest.mark.root
@pytest.mark.parametrize("page", of(root=True), ids=name)
def test_the_commands_of_a_page_for_root_end_well(page: Path, tmp_path: Path) -> None:
    run(page, tmp_path, root=True)
