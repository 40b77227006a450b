"""Lines, columns and numbers of a trace file, with their units and their lines for messages."""

from __future__ import annotations

import csv
import io
import math
import re
from array import array
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NamedTuple, overload

from minitopo_dc.files import UnreadableError, read_text
from minitopo_dc.numbers import Unit
from minitopo_dc.trace.model import (
    LONGEST_FILE,
    LONGEST_LINE,
    LONGEST_S,
    MAX_BPS,
    MAX_LINES,
    TraceError,
)
from minitopo_dc.units import NS_PER_S

MAX_DIGITS = 40
"""Before or behind the decimal point; ns since 1970 have 19."""
_DECIMAL_COMMA = re.compile(r"^([-+]?[0-9]+),([0-9]+)$")
QUOTED = 60
"""Characters of a field in a message."""
MIN_DBM, MAX_DBM = -156, -31
"""What a terminal can report as RSRP: 3GPP TS 38.133 section 10.1.6; LTE's range lies within."""


class Row(NamedTuple):
    """A line of a file, and its fields, stripped of blanks.

    Its methods read texts of it, and raise errors that have its place.
    """

    path: Path
    line: int
    """The line's number from 1; 0 stands for the whole file."""
    fields: list[str]

    def error(self, what: str, allowed: str) -> TraceError:
        """Return the error that something is wrong here."""
        return TraceError(self.path, self.line, what, allowed)

    @property
    def is_numbered(self) -> bool:
        """Return whether this is no header of the file: its columns are called by number."""
        return self.fields == _numbered(len(self.fields))

    def place(self, name: str) -> int:
        """Return at which index this header has a column.

        Raises:
            TraceError: it has none of this name, or several.
        """
        if name not in self.fields:
            raise self.error(f"no column {name!r}", ", ".join(self.fields))
        if self.fields.count(name) > 1:
            raise self.error(f"{self.fields.count(name)} columns {name!r}", "different names")
        return self.fields.index(name)

    def check_width(self, width: int, allowed: str) -> None:
        """Refuse another number of columns.

        Raises:
            TraceError: it has so many.
        """
        if len(self.fields) != width:
            raise self.error(f"{len(self.fields)} columns", allowed)

    def number(self, text: str, name: str) -> Decimal:
        """Return a finite number of at least 0, exactly as written.

        Raises:
            TraceError: it is none.
        """
        return self._finite(text, f"a number >= 0 for {name}", 0, math.inf)

    def power_dbm(self, text: str, name: str) -> float:
        """Return a received power in dBm.

        Raises:
            TraceError: it is none that a terminal can report.
        """
        allowed = f"{MIN_DBM} to {MAX_DBM} dBm for {name}"
        return float(self._finite(text, allowed, MIN_DBM, MAX_DBM))

    def rate_bps(self, text: str, name: str, unit: Unit) -> Decimal:
        """Return a rate in bit/s, not rounded, of one written in a unit.

        Raises:
            TraceError: it is none, or above `MAX_BPS`.
        """
        if text.lower() == "nan":
            allowed = f"a number >= 0 for {name}; nothing, or -, where a table has no value"
            raise self.error(f"{text!r} is not a number", allowed)
        rate = self.number(text, name) * unit.size
        if rate > MAX_BPS:
            allowed = f"0 to {MAX_BPS // unit.size:,} {unit.name}; is it in bit/s?"
            raise self.error(f"{_cut(text)} {unit.name} for {name}", allowed)
        return rate

    def time_ns(self, text: str, name: str, unit: Unit) -> int:
        """Return a time in ns, of one written in a unit.

        Raises:
            TraceError: it is none.
        """
        return round(self.number(text, name) * unit.size)

    def _finite(self, text: str, allowed: str, least: float, most: float) -> Decimal:
        try:
            value = _decimal(text)
        except InvalidOperation as error:
            raise self.error(f"{_cut(text)!r} is not a number", allowed) from error
        # What is so far from 1 is no time, rate or power, and integers of so many digits take for
        # ever.
        is_far = not value.is_finite() or value.adjusted() > MAX_DIGITS
        if is_far or not least <= value <= most:
            raise self.error(f"{_cut(text)!r} is out of range", allowed)
        return value if value.adjusted() > -MAX_DIGITS else Decimal(0)


class Rows(Sequence[Row]):
    """The rows of a text, each of which is parsed when it is asked for.

    So a row takes the bytes of its text, and not some hundreds.

    Attributes:
        path: the file.
        separator: what is between fields.
        numbers: of each row, the number of its line, from 1.
        lines: of each row, its text.
    """

    def __init__(
        self, path: Path, separator: str, numbers: array[int], lines: Sequence[str]
    ) -> None:
        self.path, self.separator, self.numbers, self.lines = path, separator, numbers, lines

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.lines)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Rows: ...
    def __getitem__(self, place: int | slice) -> Row | Rows:
        """Return a row or some of them; TraceError if its line is too long."""
        if isinstance(place, slice):
            return Rows(self.path, self.separator, self.numbers[place], self.lines[place])
        number = self.numbers[place]
        return Row(self.path, number, _fields(self.path, number, self.lines[place], self.separator))

    def with_header(self) -> tuple[Row, Rows]:
        """Return the header and the rows below; where there is none, columns are called by number.

        A first row that begins with a number or a date is none.
        """
        first = self[0]
        if not (is_number(first.fields[0]) or is_date(first.fields[0])):
            return first, self[1:]
        return Row(self.path, first.line, _numbered(len(first.fields))), self


def _numbered(columns: int) -> list[str]:
    return [f"column {number}" for number in range(1, columns + 1)]


def read_rows(path: Path) -> Rows:
    """Return the rows of a file; arguments and errors are those of `text_of` and `rows_of`."""
    return rows_of(path, text_of(path))


def text_of(path: Path) -> str:
    """Return the text of a file.

    Raises:
        TraceError: not UTF-8 text.
        OSError: it cannot be opened.
    """
    try:
        return read_text(path, LONGEST_FILE)
    except UnreadableError as error:
        raise TraceError(
            path, 0, f"is {error}", f"UTF-8 text, up to {LONGEST_FILE:,} bytes"
        ) from None


def rows_of(path: Path, text: str) -> Rows:
    """Return the rows of a text; what separates fields is seen in the first one.

    It is a semicolon, a tab, a comma or blanks. Numbers beside semicolons may have decimal commas.

    Raises:
        TraceError: nothing is in it, or too many lines.
    """
    numbers, lines = array("I"), []
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        if (data := line.lstrip()) and data[0] != "#":
            numbers.append(number)
            lines.append(line.rstrip("\n"))
    check_lines(path, len(lines))
    if not lines:
        raise TraceError(path, 0, "has no data", "at least one line that is not a comment")
    return Rows(path, _separator([line[:LONGEST_LINE] for line in lines[:2]]), numbers, lines)


def check_lines(path: Path, count: int, what: str = "lines") -> None:
    """Refuse so many lines or entries that they take too much memory.

    Raises:
        TraceError: there are.
    """
    if count > MAX_LINES:
        raise TraceError(path, 0, f"{count:,} {what}", f"up to {MAX_LINES:,}; take a part of them")


def write_lines(path: str | Path, comment: str, lines: Iterable[str]) -> None:
    """Write lines into a file, below those of a comment, which readers skip."""
    head = (f"# {line}".rstrip() for line in comment.splitlines())
    Path(path).write_text("\n".join([*head, *lines, ""]), encoding="utf-8")


def is_number(text: str) -> bool:
    """Return whether the text is written like a number, which tells a header from data."""
    try:
        _decimal(text)
    except InvalidOperation:
        return False
    return True


def is_date(text: str) -> bool:
    """Return whether a value is a date and time of ISO 8601, and no number."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return not is_number(text)


def _decimal(text: str) -> Decimal:
    """Return what a text says as a number; 1_0, which Python takes for 10, is none."""
    return Decimal("nothing" if "_" in text else text)


def check_length(path: Path, length_ns: int) -> None:
    """Refuse a trace that is longer than a week.

    Raises:
        TraceError: it is.
    """
    if length_ns > LONGEST_S * NS_PER_S:
        allowed = f"up to {LONGEST_S:,} s, a week"
        raise TraceError(path, 0, f"the trace lasts {length_ns / NS_PER_S:g} s", allowed)


def _cut(text: str) -> str:
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def _separator(lines: Sequence[str]) -> str:
    first = lines[0]
    for separator in (";", "\t"):
        counts = {len(_split(line, separator)) for line in lines}
        if (1 not in counts and len(counts) == 1) or (separator in first and "," not in first):
            return separator
    return " " if "," not in first and len(first.split()) > 1 else ","


def _split(line: str, separator: str) -> list[str]:
    if '"' not in line:  # what a reader of CSV does, several times as fast
        parts = line.split() if separator == " " else line.strip(" ").split(separator)
        return [part.strip() for part in parts]
    reader = csv.reader([line.strip(" ")], delimiter=separator, skipinitialspace=True)
    return [field.strip() for field in next(reader)]


def _fields(path: Path, number: int, line: str, separator: str) -> list[str]:
    if len(line) > LONGEST_LINE:
        allowed = f"{LONGEST_LINE:,} characters a line"
        raise TraceError(path, number, f"{len(line):,} characters", allowed)
    fields = _split(line, separator)
    if separator == ";":
        return [_DECIMAL_COMMA.sub(r"\1.\2", field) for field in fields]
    return fields
