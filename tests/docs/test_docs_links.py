"""The pages are linked: every target exists, every page is reached from the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, README, anchors, links, name, plain_texts

ELSEWHERE = re.compile(r"[a-z]+:")
A_PAGE = re.compile(r"[\w./-]*\w\.md\b")

each_page = pytest.mark.parametrize("page", PAGES, ids=name)


@each_page
def test_every_relative_link_has_a_target(page: Path) -> None:
    missing = [link for link in relative_links(page) if not target(page, link).exists()]
    assert not missing


@each_page
def test_every_anchor_is_a_heading_of_its_page(page: Path) -> None:
    wrong = [
        link
        for link in relative_links(page)
        if "#" in link and link.partition("#")[2] not in anchors(target(page, link))
    ]
    assert not wrong


@each_page
def test_a_page_is_named_by_a_link(page: Path) -> None:
    named = [found for text in plain_texts(page) for found in A_PAGE.findall(text)]
    assert not named


def test_the_documentation_s_readme_lists_all_pages_beside_it() -> None:
    listed = {target(DOCS / "README.md", link) for link in relative_links(DOCS / "README.md")}
    assert {page for page in DOCS.glob("*.md") if page.name != "README.md"} <= listed


def test_every_page_is_reached_from_the_readme() -> None:
    reached, ahead = {README}, [README]
    while ahead:
        page = ahead.pop()
        for link in relative_links(page):
            other = target(page, link)
            if other.suffix == ".md" and other not in reached:
                reached.add(other)
                ahead.append(other)
    assert set(PAGES) <= reached
    assert set(DOCS.rglob("*.md")) <= reached


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("What a run's row is", "what-a-runs-row-is"),
        ("`quic`, with C++", "quic-with-c"),
        ("t-Reordering", "t-reordering"),
    ],
)
def test_an_anchor_is_the_heading_as_github_writes_it(
    tmp_path: Path, heading: str, anchor: str
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# {heading}\n\n## {heading}\n", encoding="utf-8")
    assert anchors(page) == {anchor, f"{anchor}-1"}


def relative_links(page: Path) -> list[str]:
    """The links of a page into the repository."""
    return [link for link in links(page) if not ELSEWHERE.match(link)]


def target(page: Path, link: str) -> Path:
    """The file or folder that a link names; without a path the page itself."""
    path = link.partition("#")[0]
    return (page.parent / path).resolve() if path else page
