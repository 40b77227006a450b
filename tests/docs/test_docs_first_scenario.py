"""The page on a first scenario: its files and commands, in their order."""

from __future__ import annotations

import sys

import pytest

from tests.docs.pages import DOCS, blocks, minitopo_dc, run_script

FILES = ("first.yaml", "shortest.py", "sweep.yaml", "read.py")
PAGE = [block for block in blocks(DOCS / "first-scenario.md") if block.language != "text"]
SAID = [block.code for block in blocks(DOCS / "first-scenario.md") if block.language == "text"]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the page's commands say, one after the other, in a directory with the page's files."""
    home = tmp_path_factory.mktemp("home")
    minitopo_dc(home)
    for name, block in zip(FILES, [b for b in PAGE if b.language != "sh"], strict=True):
        (home / name).write_text(block.code)
    scripts = [block.code for block in PAGE if block.language == "sh"]
    scripts.append(f"{sys.executable} read.py")
    return "".join(run_script(each, home, home, 300, COLUMNS="80").stdout for each in scripts)


@pytest.mark.parametrize("wanted", SAID, ids=lambda text: text.split()[0])
def test_the_commands_say_what_the_page_shows(wanted: str, said: str) -> None:
    lines = [line.rstrip() for line in said.splitlines()]
    assert [line for line in wanted.splitlines() if line.rstrip() not in lines] == []
