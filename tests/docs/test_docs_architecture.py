"""The pages name the tree as it is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests import REPOSITORY
from tests.docs.pages import DOCS, PAGES, code_spans, name

ARCHITECTURE = DOCS / "architecture.md"
PACKAGE = REPOSITORY / "minitopo_dc"
WITHOUT_A_WORD = {"minitopo_dc/py.typed"}
A_PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)*/?")
PLACEHOLDER = re.compile(r"\b(?!README)[A-Z]{2,}\b")
"""A word in capital letters stands for something: templates/NAME.topo.j2."""
SUFFIXES = (".py", ".toml", ".sh", ".yaml", ".j2", ".ipynb", "/")


def test_every_file_and_folder_in_the_architecture_exists() -> None:
    named = paths(ARCHITECTURE)
    assert len(named) > 20
    assert not [path for path in named if not exists(path)]


def test_every_folder_and_module_of_the_package_has_its_place_in_the_architecture() -> None:
    children = {f"minitopo_dc/{path.name}" for path in PACKAGE.iterdir() if path.name[0] != "_"}
    named = {path.rstrip("/") for path in paths(ARCHITECTURE)}
    assert children - WITHOUT_A_WORD - named == set()


def test_every_folder_of_the_repository_is_in_the_architecture() -> None:
    files = subprocess.run(
        ["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if files.returncode:
        pytest.skip("not a git checkout")
    folders = {line.split("/")[0] for line in files.stdout.splitlines() if "/" in line}
    named = {path.split("/")[0] for path in paths(ARCHITECTURE)}
    assert {folder for folder in folders if folder[0] != "."} - named == set()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_path_of_the_repository_in_a_page_exists(page: Path) -> None:
    top = {path.name for path in REPOSITORY.iterdir()} - {"results"}
    named = [path for path in paths(page) if "/" in path and path.split("/")[0] in top]
    assert not [path for path in named if not exists(path)]


def paths(page: Path) -> list[str]:
    """Code in a page's text that is a path by its looks."""
    spans = [span for span in code_spans(page) if A_PATH.fullmatch(span)]
    return [span for span in spans if span.endswith(SUFFIXES) and not PLACEHOLDER.search(span)]


def exists(path: str) -> bool:
    """Whether the repository has such a file, such a folder, or files of such a pattern."""
    folder = path.endswith("/")
    return any(each.is_dir() or not folder for each in REPOSITORY.glob(path.rstrip("/")))
