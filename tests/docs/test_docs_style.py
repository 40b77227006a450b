"""The pages look the same: one way to write code, lines that fit, whole tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, name, tokens

WIDTH = 110
"""Of lines of text; a row of a table is one line, however long."""

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
