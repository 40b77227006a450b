"""The pages that show what their commands say: run in their order, with the pages' files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.docs.pages import DOCS, Block, blocks, run_script, save_files, user_home

SHOWN = [
    block
    for page in ("first-scenario.md", "your-two-links.md")
    for block in blocks(DOCS / page)
    if block.language == "text" and block.file is None
]
OPTIONS = {"advise": "--time 600"}
"""Beside other work the time must not be up before the verdict."""


@cache
def said(page: Path) -> list[str]:
    """Return the lines that the page's commands print, one command after the other."""
    with TemporaryDirectory(prefix="minitopo-dc-docs-") as directory:
        home = Path(directory)
        user_home(home, OPTIONS)
        save_files(page, home)
        return [line for script in scripts(page) for line in printed(script, home)]


def scripts(page: Path) -> Iterator[str]:
    """Yield the commands of a page."""
    return (block.code for block in blocks(page) if block.language == "sh")


def printed(script: str, home: Path) -> list[str]:
    """Return what a script prints on a screen of 80 columns."""
    done = run_script(script, home, 600, COLUMNS="80")
    return [line.rstrip() for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shown", SHOWN, ids=str)
def test_the_commands_say_what_the_page_shows(shown: Block) -> None:
    missing = [line for line in shown.code.splitlines() if line.rstrip() not in said(shown.page)]
    assert missing == []
