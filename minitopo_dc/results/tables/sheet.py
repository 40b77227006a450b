"""Tables: for a terminal of any width, in which nothing is cut, and as pages of Markdown.

The widest column of text is broken at blanks; where that is not enough, the next one, too. Where
the columns do not fit even so, each row is a record: its name, then each number with its head and
unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import fill
from typing import Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from minitopo_dc.numbers import significant
from minitopo_dc.results.tables.runs import value_name

GAPS = (1, 0)
"""Blanks behind a column, beside the one between two: the first with which all fits is taken."""
INDENT = 4
"""The indentation of a record below its name."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column.

    Attributes:
        name: the name of its content; a line break is one in a table, a blank in a record.
        unit: the unit of its cells; a cell that ends with a letter has its own.
        text: whether its cells are words, which are aligned left.
    """

    name: str
    unit: str = ""
    text: bool = False

    @property
    def lines(self) -> list[str]:
        """Return the head's lines in a table: the unit has its own line."""
        return [*self.name.split("\n"), *([self.unit] if self.unit else [])]

    def record(self, cell: str) -> str:
        """Return a cell with its name and unit, as in a record."""
        unit = f" {self.unit}" if self.unit and not cell[-1:].isalpha() and cell != "-" else ""
        return f"{' '.join(self.name.split())} {cell}{unit}"


@dataclass
class Sheet:
    """Rows under heads, with a title above and notes below.

    The first columns, as long as they are text, are a row's name.
    """

    heads: Sequence[Head]
    rows: list[tuple[str | Text, ...]] = field(default_factory=list)
    title: str = ""
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: str | Text) -> None:
        """Add a row below the others."""
        self.rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield what a terminal shows."""
        if self.title:
            yield Text(self.title)
        ample = options.update(width=10_000)
        for table in map(self._table, GAPS):
            if Measurement.get(console, ample, table).minimum <= options.max_width:
                yield table
                break
        else:
            yield from self._records()
        yield from map(Text, self.notes)

    def _table(self, gap: int) -> Table:
        table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, gap, 0, 0), pad_edge=False)
        above = max(len(head.lines) for head in self.heads)
        for place, head in enumerate(self.heads):
            lines = [*head.lines, *(str(row[place]) for row in self.rows)]
            parts = " ".join(lines).split() if head.text else lines  # that stay in one piece
            table.add_column(
                "\n".join([""] * (above - len(head.lines)) + head.lines),
                justify="left" if head.text else "right",
                header_style="",
                no_wrap=not head.text,
                min_width=max(map(len, parts)),
            )
        for row in self.rows:
            table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
        return table

    def _records(self) -> Iterator[RenderableType]:
        named = next((n for n, head in enumerate(self.heads) if not head.text), len(self.heads))
        for row in self.rows:
            yield Text(" ").join(Text(str(cell)) for cell in row[:named] if cell)
            cells = zip(self.heads[named:], map(str, row[named:]), strict=True)
            line = ", ".join(head.record(cell) for head, cell in cells if cell)
            yield Padding(Text(line), (0, 0, 0, INDENT))


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
