"""A report's sections as a page of text, for findings that are kept beside a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import fill
from typing import Any

import pandas as pd

from minitopo_dc.numbers import significant
from minitopo_dc.plots.labels import value_name

WIDTH = 110


def as_markdown(title: str, notes: str, sections: Iterable[tuple[str, Any]]) -> str:
    """Return a page of Markdown with the texts and tables of sections; figures are left out.

    Args:
        title: of the page.
        notes: paragraphs below it.
        sections: as `write_report` takes them.
    """
    parts = [f"# {title}", *_paragraphs(notes)]
    for name, content in sections:
        shown = list(_shown(content))
        parts += [f"## {name}", *shown] if shown else []
    return "\n\n".join(parts) + "\n"


def _shown(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield from _paragraphs(content)
    elif isinstance(content, pd.DataFrame):
        yield _table(content)
    elif isinstance(content, list | tuple):
        for part in content:
            yield from _shown(part)


def _paragraphs(text: str) -> list[str]:
    return [fill(" ".join(part.split()), WIDTH) for part in text.split("\n\n") if part.strip()]


def _table(table: pd.DataFrame) -> str:
    """Return a table; an index that tells rows apart becomes its first columns."""
    if not isinstance(table.index, pd.RangeIndex):
        table = table.reset_index()
    rows = [list(map(str, table)), ["---"] * len(table.columns)]
    rows += [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else significant(value)
    return str(value_name(value)).replace("|", "\\|")
