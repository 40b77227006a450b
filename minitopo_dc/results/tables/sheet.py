"""A table for a terminal of any width, in which nothing is cut.

Columns of text are broken at blanks, the widest first. Where the columns do not fit even so, each
row is a record: its name, then each number with its head and unit.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

GAPS = (2, 1)
"""Characters between two columns: the first number that fits into the terminal is taken."""
INDENT = 4
"""The indentation of the lines of a record below its name."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column.

    Attributes:
        name: the name of its content; a line break is one in a table, a blank in a record.
        unit: the unit of its cells; a cell that ends with a letter has its own.
        text: whether its cells are words, which are broken at blanks and aligned left.
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
    rows: list[tuple[str, ...]] = field(default_factory=list)
    title: str = ""
    notes: list[str] = field(default_factory=list)
    styles: Mapping[str, str] = field(default_factory=dict)
    """Styles (rich's names) of the texts in rows that match a regular expression."""

    def add(self, *cells: str) -> None:
        """Add a row below the others."""
        self.rows.append(cells)

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines for a terminal."""
        for line in self.lines(options.max_width):
            text = Text(line, no_wrap=True, overflow="ignore")
            for pattern, style in self.styles.items():
                text.highlight_regex(pattern, style)
            yield text

    def lines(self, width: int) -> Iterator[str]:
        """Yield lines of at most `width` characters; only a longer word makes a longer line."""
        yield from _wrapped(self.title, width) if self.title else ()
        fits = ((gap, found) for gap in GAPS if (found := self._widths(width, gap)) is not None)
        gap, widths = next(fits, (0, None))
        yield from self._records(width) if widths is None else self._table(widths, " " * gap)
        for note in self.notes:
            yield from _wrapped(note, width)

    def _widths(self, width: int, gap: int) -> list[int] | None:
        """Return the columns' widths; None when they do not fit."""
        columns = list(zip(*(map(str, row) for row in self.rows), strict=True)) or [
            () for _ in self.heads
        ]
        widest, least = [], []
        for head, cells in zip(self.heads, columns, strict=True):
            above = max(map(len, head.lines))
            widest.append(max([above, *map(len, cells)]))
            words = [
                len(word) for cell in cells for word in (cell.split() if head.text else [cell])
            ]
            least.append(max([above, *words]))
        room = width - gap * (len(self.heads) - 1)
        if sum(least) > room:
            return None
        while sum(widest) > room:
            spare = [have - must for have, must in zip(widest, least, strict=True)]
            widest[spare.index(max(spare))] -= 1
        return widest

    def _table(self, widths: Sequence[int], gap: str) -> Iterator[str]:
        heads = [each.lines for each in self.heads]
        most = max(map(len, heads))
        above = [[""] * (most - len(lines)) + lines for lines in heads]
        yield from self._across(above, widths, gap)
        yield "─" * (sum(widths) + len(gap) * (len(widths) - 1))
        for row in self.rows:
            yield from self._across(
                [
                    _wrapped(cell, wide) if head.text else [cell]
                    for head, cell, wide in zip(self.heads, row, widths, strict=True)
                ],
                widths,
                gap,
            )

    def _across(
        self, cells: Sequence[Sequence[str]], widths: Sequence[int], gap: str
    ) -> Iterator[str]:
        """Yield the lines of cells beside each other."""
        for parts in zip_longest(*cells, fillvalue=""):
            placed = (
                part.ljust(wide) if head.text else part.rjust(wide)
                for head, part, wide in zip(self.heads, parts, widths, strict=True)
            )
            yield gap.join(placed).rstrip()

    def _records(self, width: int) -> Iterator[str]:
        named = next((n for n, head in enumerate(self.heads) if not head.text), len(self.heads))
        for row in self.rows:
            yield from _wrapped(" ".join(filter(None, row[:named])), width)
            told = [
                head.record(cell)
                for head, cell in zip(self.heads[named:], row[named:], strict=True)
                if cell
            ]
            yield from _filled([f"{each}," for each in told[:-1]] + told[-1:], width)


def _wrapped(words: str, width: int) -> list[str]:
    """Return lines broken at blanks and nowhere else."""
    lines = textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False)
    return lines or [""]


def _filled(items: Sequence[str], width: int) -> Iterator[str]:
    """Yield indented lines of items, broken between them; longer items are broken at blanks."""
    line = ""
    for item in items:
        if line and INDENT + len(line) + 1 + len(item) > width:
            yield from _indented(line, width)
            line = ""
        line = f"{line} {item}".strip()
    if line:
        yield from _indented(line, width)


def _indented(line: str, width: int) -> Iterator[str]:
    return (f"{' ' * INDENT}{part}" for part in _wrapped(line, width - INDENT))


def status_styles(styles: Mapping[str, str]) -> dict[str, str]:
    """Return the styles of texts such as `2 failed`, from the style of each status."""
    return {rf"\b\d+ {re.escape(status)}\b": style for status, style in styles.items()}
