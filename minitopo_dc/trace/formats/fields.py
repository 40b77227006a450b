"""Lines, columns and numbers of a trace file, each with its line number for error messages."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

from minitopo_dc.files import UnreadableError, read_text
from minitopo_dc.numbers import Unit
from minitopo_dc.trace.errors import TraceError
from minitopo_dc.trace.model import (
    LONGEST_FILE,
    LONGEST_LINE,
    LONGEST_S,
    MAX_BPS,
)
from minitopo_dc.units import NS_PER_S

Row = tuple[int, list[str]]
"""A line's number (from 1) and its fields, stripped of blanks."""

MAX_DIGITS = 40
"""Before or behind the decimal point; ns since 1970 have 19."""
_DECIMAL_COMMA = re.compile(r"^([-+]?[0-9]+),([0-9]+)$")
QUOTED = 60
"""Characters of a field in a message."""
MIN_DBM, MAX_DBM = -156, -31
"""What a terminal can report as RSRP: 3GPP TS 38.133 section 10.1.6; LTE's range lies within."""


def read_rows(path: Path) -> list[Row]:
    """Return all lines but the empty ones and the comments (first character `#`), as fields.

    Raises:
        TraceError: not UTF-8 text, or nothing in it.
        OSError: it cannot be opened.
    """
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


def rows_of(path: Path, text: str) -> list[Row]:
    """Return the rows of a text; what separates fields is seen in the first one.

    It is a semicolon, a tab, a comma or blanks. Numbers beside semicolons may have decimal commas.

    Raises:
        TraceError: nothing is in it, or a line is too long.
    """
    lines = [
        (number, line) for number, line in enumerate(text.splitlines(), start=1) if _is_data(line)
    ]
    if not lines:
        raise TraceError(path, 0, "has no data", "at least one line that is not a comment")
    separator = _separator([line[:LONGEST_LINE] for _, line in lines[:2]])
    return [(number, _fields(path, number, line, separator)) for number, line in lines]


def number(path: Path, line: int, text: str, name: str) -> Decimal:
    """Return a finite number of at least 0, exactly as written.

    Raises:
        TraceError: it is none.
    """
    return _finite(path, line, text, f"a number >= 0 for {name}", Decimal(0))


def power_dbm(path: Path, line: int, text: str, name: str) -> float:
    """Return a received power in dBm.

    Raises:
        TraceError: it is none that a terminal can report.
    """
    allowed = f"{MIN_DBM} to {MAX_DBM} dBm for {name}"
    value = _finite(path, line, text, allowed, Decimal(MIN_DBM))
    if value > MAX_DBM:
        raise TraceError(path, line, f"{text!r} is out of range", allowed)
    return float(value)


def is_number(text: str) -> bool:
    """Return whether the text is written like a number, which tells a header from data."""
    try:
        _decimal(text)
    except InvalidOperation:
        return False
    return True


def _decimal(text: str) -> Decimal:
    """Return what a text says as a number; 1_0, which Python takes for 10, is none."""
    return Decimal("nothing" if "_" in text else text)


def rate_bps(path: Path, line: int, text: str, name: str, unit: Unit) -> Decimal:
    """Return a rate in bit/s, not rounded, of one written in a unit.

    Raises:
        TraceError: it is none, or above `MAX_BPS`.
    """
    if text.lower() == "nan":
        allowed = f"a number >= 0 for {name}; nothing, or -, where a table has no value"
        raise TraceError(path, line, f"{text!r} is not a number", allowed)
    rate = number(path, line, text, name) * unit.size
    if rate > MAX_BPS:
        allowed = f"0 to {MAX_BPS // unit.size:,} {unit.name}; is it in bit/s?"
        raise TraceError(path, line, f"{_cut(text)} {unit.name} for {name}", allowed)
    return rate


def time_ns(path: Path, line: int, text: str, name: str, unit: Unit) -> int:
    """Return a time in ns, of one written in a unit.

    Raises:
        TraceError: it is none.
    """
    return round(number(path, line, text, name) * unit.size)


def check_length(path: Path, length_ns: int) -> None:
    """Refuse a trace that is longer than a week.

    Raises:
        TraceError: it is.
    """
    if length_ns > LONGEST_S * NS_PER_S:
        allowed = f"up to {LONGEST_S:,} s, a week"
        raise TraceError(path, 0, f"the trace lasts {length_ns / NS_PER_S:g} s", allowed)


def _finite(path: Path, line: int, text: str, allowed: str, least: Decimal) -> Decimal:
    try:
        value = _decimal(text)
    except InvalidOperation as error:
        raise TraceError(path, line, f"{_cut(text)!r} is not a number", allowed) from error
    # What is so far from 1 is no time, rate or power, and integers of so many digits take for ever.
    if not value.is_finite() or value < least or value.adjusted() > MAX_DIGITS:
        raise TraceError(path, line, f"{_cut(text)!r} is out of range", allowed)
    return value if value.adjusted() > -MAX_DIGITS else Decimal(0)


def _cut(text: str) -> str:
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def _is_data(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")


def _separator(lines: Sequence[str]) -> str:
    """Return what separates the fields of the first lines."""
    first = lines[0]
    for separator in (";", "\t"):
        counts = {len(_split(line, separator)) for line in lines}
        if (1 not in counts and len(counts) == 1) or (separator in first and "," not in first):
            return separator
    return " " if "," not in first and len(first.split()) > 1 else ","


def _split(line: str, separator: str) -> list[str]:
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
