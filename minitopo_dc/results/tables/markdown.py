"""Pages of Markdown from texts and tables, such as the findings of a study."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from textwrap import fill
from typing import Any

import pandas as pd

from minitopo_dc.numbers import significant
from minitopo_dc.results.tables.columns import value_name

WIDTH = 110
"""The letters of a line."""


def as_markdown(title: str, notes: str, sections: Iterable[tuple[str, Any]]) -> str:
    """Return a page with the texts and tables of sections; figures are left out.

    Args:
        title: of the page.
        notes: paragraphs below it, with an empty line between them.
        sections: (title, content) pairs; a content is a text, a DataFrame, a figure, or a list.
    """
    blocks = [f"# {title}", *_blocks(notes)]
    for name, content in sections:
        parts = [*_blocks(content)]
        blocks += [f"## {name}", *parts] if parts else []
    return "\n\n".join(blocks) + "\n"


def _blocks(content: Any) -> Iterator[str]:
    if isinstance(content, list | tuple):
        for part in content:
            yield from _blocks(part)
    elif isinstance(content, str):
        yield from (fill(" ".join(text.split()), WIDTH) for text in paragraphs(content))
    elif isinstance(content, pd.DataFrame):
        table = with_index(content)
        rows: list[Any] = [table.columns, ["---"] * table.shape[1], *table.itertuples(index=False)]
        cells = ([str(cell_text(cell)).replace("|", "\\|") for cell in row] for row in rows)
        yield "\n".join(f"| {' | '.join(row)} |" for row in cells)


def paragraphs(text: str) -> list[str]:
    """Return the parts of a text between empty lines."""
    return [part for part in re.split(r"\n\s*\n", text.strip("\n")) if part.strip()]


def with_index(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose index, if it tells rows apart, is its first columns."""
    return table if isinstance(table.index, pd.RangeIndex) else table.reset_index()


def cell_text(value: Any) -> str:
    """Return a value as the cells of pages have it: NaN is empty."""
    if isinstance(value, float):
        return "" if pd.isna(value) else significant(value)
    return value if isinstance(value, str) else value_name(value)
