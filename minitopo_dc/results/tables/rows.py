"""Rows of a run's workload: one per request, per echo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.results.files import read_numbers
from minitopo_dc.workloads import RowsFigure


def read_rows(run: Path, kind: str, wanted: RowsFigure) -> pd.DataFrame:
    """Return the rows of a run's workload, as its file has them, with what a figure needs of them.

    Raises:
        ResultError: the file is missing or broken, or lacks a column of the figure.
    """
    return read_numbers(run, f"{kind}.csv", (wanted.x, wanted.y, *wanted.lines))


def lines_of(rows: pd.DataFrame, wanted: RowsFigure) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each line of a figure, with what tells it from the others: `leg 1, ...`."""
    if not wanted.lines:
        yield "", rows
        return
    for values, line in rows.groupby(list(wanted.lines)):
        named = zip(wanted.lines, values, strict=True)
        yield ", ".join(_name(wanted, *each) for each in named), line


def _name(wanted: RowsFigure, column: str, value: Any) -> str:
    return wanted.words.get(column, {}).get(value) or f"{column} {value}"
