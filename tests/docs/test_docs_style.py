"""The pages look the same: one way to write code, lines that fit, whole tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import REPOSITORY
from tests.docs.pages import PAGES, name, tokens

WIDTH = 110
"""Of lines of text; a row of a table is one line, however long."""
MAX_WORDS = 2500
"""Of a page that is read from its beginning to its end."""
NAVIGATION = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
REFERENCE = re.findall(
    r"[\w/-]+\.md$",
    NAVIGATION.partition("- Reference:")[2].partition("- Results:")[0],
    re.MULTILINE,
)
LOOKED_UP = {*REFERENCE, "CHANGELOG.md"}
"""Pages in which a reader looks something up, and which he does not read."""

each_page = pytest.mark.parametrize("page", PAGES, ids=name)


@each_page
def test_lines_of_text_fit(page: Path) -> None:
    long = [number for number, line in text_lines(page) if len(line) > WIDTH]
    assert not long


@each_page
def test_code_in_text_has_single_backticks(page: Path) -> None:
    spans = (child for token in tokens(page) for child in token.children or ())
    odd = [span.content for span in spans if span.type == "code_inline" and span.markup != "`"]
    assert not odd


@each_page
def test_a_page_has_one_title(page: Path) -> None:
    titles = [token for token in tokens(page) if token.type == "heading_open" and token.tag == "h1"]
    assert len(titles) == 1


@pytest.mark.parametrize("page", [page for page in PAGES if name(page) not in LOOKED_UP], ids=name)
def test_a_page_to_be_read_is_short(page: Path) -> None:
    assert words(page.read_text(encoding="utf-8")) <= MAX_WORDS


def test_a_row_of_a_table_has_the_words_of_its_cells() -> None:
    assert words("| `a` | - | 1.5 Mbit/s |\n| --- | --- | --- |") == 3


@pytest.mark.parametrize("place", REFERENCE)
def test_a_reference_has_no_measurements(place: str) -> None:
    """Measurements stand below a box with their conditions."""
    page = (REPOSITORY / place).read_text(encoding="utf-8")
    assert not re.search(r"^> Conditions", page, re.MULTILINE)


def words(text: str) -> int:
    """Count the words of a page's source; a table's lines are none."""
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def test_the_rows_of_a_table_have_as_many_cells_as_its_head() -> None:
    """Markdown drops what is too much and leaves empty what is too little, without a word."""
    uneven = [
        f"{name(page)}:{number}: {line[:60]}"
        for page in PAGES
        for number, line, columns in table_lines(page)
        if cells(line) != columns
    ]
    assert not uneven


def table_lines(page: Path) -> Iterator[tuple[int, str, int]]:
    """Number and text of each line of a page's tables, and the columns of its head."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for token in tokens(page):
        if token.type == "table_open" and token.map is not None:
            begin, end = token.map
            for number in range(begin, end):
                yield number + 1, lines[number], cells(lines[begin])


def cells(line: str) -> int:
    """The cells of a table's row."""
    return line.replace(r"\|", "").strip().strip("|").count("|") + 1


def text_lines(page: Path) -> Iterator[tuple[int, str]]:
    """Numbers and text of the lines that are no row of a table."""
    rows = {number for number, _, _ in table_lines(page)}
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if number not in rows:
            yield number, line
