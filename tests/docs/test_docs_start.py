"""The pages that show what their commands say: run in their order, with the pages' files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks, run_script, save_files, user_home

PAGES = ("first-scenario.md", "your-two-links.md")
OPTIONS = {"advise --legs mine.csv": "--time 60", "advise": "--time 600"}
"""Beside other work the time must not be up before the verdict, where the page shows one."""


def said(page: Path, home: Path) -> list[str]:
    """Return the lines that the page's commands print, one command after the other."""
    user_home(home, OPTIONS)
    save_files(page, home)
    return [line for script in scripts(page) for line in printed(script, home)]


def shown(page: Path) -> Iterator[str]:
    """Yield the lines that the page says are printed."""
    for block in blocks(page):
        if block.language == "text" and block.file is None:
            yield from map(str.rstrip, block.code.splitlines())


def scripts(page: Path) -> Iterator[str]:
    """Yield the commands of a page."""
    return (block.code for block in blocks(page) if block.language == "sh")


def printed(script: str, home: Path) -> list[str]:
    """Return what a script prints on a screen of 80 columns."""
    done = run_script(script, home, 600, COLUMNS="80")
    return [line.rstrip() for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_say_what_the_page_shows(name: str, tmp_path: Path) -> None:
    lines = said(DOCS / name, tmp_path)
    assert [line for line in shown(DOCS / name) if line not in lines] == []
