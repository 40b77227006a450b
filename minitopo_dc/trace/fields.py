"""Lines, columns and numbers of a trace file, each with its line number for the error message."""

from __future__ import annotations

import csv
from decimal import Decimal, InvalidOperation
from pathlib import Path

from minitopo_dc.trace.errors import TraceError

Row = tuple[int, list[str]]
"""A line's number (from 1) and its comma-separated fields, stripped of blanks."""

LEAST_DBM, MOST_DBM = -156, -31
"""What a terminal can report as RSRP: 3GPP TS 38.133 section 10.1.6; LTE's range lies within."""


def read_rows(path: Path) -> list[Row]:
    """All lines but the empty ones and the comments (first character `#`).

    Raises:
        TraceError: not UTF-8 text, or nothing in it.
        OSError: it cannot be opened.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets write a byte order mark
    except UnicodeDecodeError as error:
        raise TraceError(path, 0, "is not a text file", "UTF-8 text") from error
    lines = enumerate(text.splitlines(), start=1)
    rows = [(number, _fields(line)) for number, line in lines if _is_data(line)]
    if not rows:
        raise TraceError(path, 0, "has no data", "at least one line that is not a comment")
    return rows


def number(path: Path, line: int, text: str, name: str) -> Decimal:
    """A finite number >= 0, exactly as written.

    Raises:
        TraceError: it is none.
    """
    return _finite(path, line, text, f"a number >= 0 for {name}", Decimal(0))


def power_dbm(path: Path, line: int, text: str, name: str) -> float:
    """A received power in dBm.

    Raises:
        TraceError: it is none that a terminal can report.
    """
    allowed = f"{LEAST_DBM} to {MOST_DBM} dBm for {name}"
    value = _finite(path, line, text, allowed, Decimal(LEAST_DBM))
    if value > MOST_DBM:
        raise TraceError(path, line, f"{text!r} is out of range", allowed)
    return float(value)


def is_number(text: str) -> bool:
    """Whether the text is written like a number (so that a header can be told from data)."""
    try:
        Decimal(text)
    except InvalidOperation:
        return False
    return True


def _finite(path: Path, line: int, text: str, allowed: str, least: Decimal) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise TraceError(path, line, f"{text!r} is not a number", allowed) from error
    if not value.is_finite() or value < least:
        raise TraceError(path, line, f"{text!r} is out of range", allowed)
    return value


def _is_data(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")


def _fields(line: str) -> list[str]:
    return [field.strip() for field in next(csv.reader([line]))]
