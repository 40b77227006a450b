"""Points of a design that were drawn elsewhere: a CSV with a header, and a row for each point."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from minitopo_dc.campaign.wsp import Points
from minitopo_dc.files import read_text
from minitopo_dc.numbers import real

MAX_BYTES = 100_000_000
"""Of a file: far above 10,000 points of a thousand factors."""


class Column(NamedTuple):
    """Where a factor's numbers stand, and which are allowed."""

    name: str
    low: float
    high: float


Row = tuple[int, dict[str, str]]
"""The number of the line that it ends on, and its values by the names of their columns."""


def read_points(path: Path, columns: Sequence[Column], where: Mapping[str, str]) -> Points:
    """Read points, a row of the result each, in the columns' order.

    Args:
        path: the file's.
        columns: of the file, one for each factor.
        where: only rows whose column is this text.

    Raises:
        ValueError: it has no header or not these columns, no such row, or a value is outside of its
            column's range. The message has file, line and column.
    """
    try:
        rows = list(_rows(path, [*(column.name for column in columns), *where]))
        kept = _kept(rows, where)
        points = [[_number(row, column) for column in columns] for row in kept]
    except (OSError, ValueError, csv.Error) as error:
        raise ValueError(f"points_file: {path}: {error}") from None
    return np.array(points)


def _rows(path: Path, names: Sequence[str]) -> Iterator[Row]:
    reader = csv.reader(read_text(path, MAX_BYTES).splitlines())
    lines = ((reader.line_num, line) for line in reader if line)
    first, header = next(lines, (1, []))
    header = [name.strip() for name in header]
    _check_header(first, header, names)
    for number, line in lines:
        if len(line) != len(header):
            raise ValueError(
                f"line {number}: {len(line)} values; allowed: {len(header)}, as line 1"
            )
        yield number, dict(zip(header, map(str.strip, line), strict=True))


def _check_header(number: int, header: Sequence[str], names: Sequence[str]) -> None:
    missing = [name for name in names if name not in header]
    numbers = [text for text in header if _is_number(text)]
    if missing and numbers:
        raise ValueError(
            f"line {number}: no header, but {numbers[0]}; allowed: names of columns, with "
            f"{', '.join(names)} among them"
        )
    if missing:
        raise ValueError(f"line {number}: no column {missing[0]}; has {', '.join(header)}")
    twice = [name for name in names if header.count(name) > 1]
    if twice:
        raise ValueError(f"line {number}: column {twice[0]} stands twice")


def _kept(rows: Sequence[Row], where: Mapping[str, str]) -> list[Row]:
    if not rows:
        raise ValueError("no points")
    kept = list(rows)
    for column, wanted in where.items():
        found = dict.fromkeys(values[column] for _, values in kept)
        kept = [row for row in kept if row[1][column] == wanted]
        if not kept:
            raise ValueError(f"column {column}: no {wanted}; has {', '.join(found)}")
    return kept


def _number(row: Row, column: Column) -> float:
    line, values = row
    text = values[column.name]
    if not _is_number(text) or not column.low <= real(text) <= column.high:
        raise ValueError(
            f"line {line}, column {column.name}: {text or 'nothing'}; allowed: numbers from "
            f"{column.low:g} to {column.high:g}"
        )
    return real(text)


def _is_number(text: str) -> bool:
    try:
        real(text)
    except ValueError:
        return False
    return True
