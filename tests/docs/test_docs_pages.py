"""The pages: lines that fit, whole tables, links that have a target, and paths that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests import REPOSITORY
from tests.docs.pages import DOCS, PAGES, README, anchors, code_spans, links, name, tokens

WIDTH = 110
"""Of lines of text; a row of a table is one line, however long."""
NAVIGATION = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
ELSEWHERE = re.compile(r"[a-z]+:")
A_PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)*/?")
PLACEHOLDER = re.compile(r"\b(?!README)[A-Z]{2,}\b")
"""A word in capital letters stands for something: templates/NAME.topo.j2."""
SUFFIXES = (".py", ".toml", ".sh", ".yaml", ".j2", ".ipynb", "/")
ARCHITECTURE = DOCS / "architecture.md"
PACKAGE = REPOSITORY / "minitopo_dc"

each_page = pytest.mark.parametrize("page", PAGES, ids=name)


@each_page
def test_a_page_has_one_title_and_lines_that_fit(page: Path) -> None:
    titles = [token for token in tokens(page) if token.type == "heading_open" and token.tag == "h1"]
    assert len(titles) == 1
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
    assert [n for n, line in lines if len(line) > WIDTH and not line.startswith("|")] == []


@each_page
def test_a_link_has_a_target(page: Path) -> None:
    missing = [
        link
        for link in relative_links(page)
        if not target(page, link).exists()
        or ("#" in link and link.partition("#")[2] not in anchors(target(page, link)))
    ]
    assert missing == []


@each_page
def test_a_path_of_the_repository_exists(page: Path) -> None:
    top = {path.name for path in REPOSITORY.iterdir()} - {"results"}
    named = [path for path in paths(page) if "/" in path and path.split("/")[0] in top]
    assert [path for path in named if not exists(path)] == []


def test_every_page_is_in_the_navigation_and_reached_from_the_readme() -> None:
    reached, ahead = {README}, [README]
    while ahead:
        page = ahead.pop()
        for link in relative_links(page):
            other = target(page, link)
            if other.suffix == ".md" and other not in reached:
                reached.add(other)
                ahead.append(other)
    assert set(PAGES) <= reached
    assert {name(page) for page in DOCS.rglob("*.md")} <= set(NAVIGATION.replace("\n", " ").split())


def test_the_architecture_has_every_folder_and_every_module_of_the_package() -> None:
    named = {path.rstrip("/") for path in paths(ARCHITECTURE)}
    assert [path for path in named if not exists(path)] == []
    children = {
        f"minitopo_dc/{path.name}"
        for path in PACKAGE.iterdir()
        if path.name[0] != "_" and path.suffix != ".pyi"  # a stub is its module's
    }
    assert children - {"minitopo_dc/py.typed"} - named == set()
    files = subprocess.run(
        ["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    folders = {line.split("/")[0] for line in files.stdout.splitlines() if "/" in line}
    tops = {path.split("/")[0] for path in named}
    assert {folder for folder in folders if folder[0] != "."} - tops == set()


def relative_links(page: Path) -> list[str]:
    return [link for link in links(page) if not ELSEWHERE.match(link)]


def target(page: Path, link: str) -> Path:
    """The file or folder that a link names; without a path the page itself."""
    path = link.partition("#")[0]
    return (page.parent / path).resolve() if path else page


def paths(page: Path) -> list[str]:
    """Code in a page's text that is a path by its looks."""
    spans = [span for span in code_spans(page) if A_PATH.fullmatch(span)]
    return [span for span in spans if span.endswith(SUFFIXES) and not PLACEHOLDER.search(span)]


def exists(path: str) -> bool:
    """Whether the repository has such a file, such a folder, or files of such a pattern."""
    folder = path.endswith("/")
    return any(match.is_dir() or not folder for match in REPOSITORY.glob(path.rstrip("/")))
