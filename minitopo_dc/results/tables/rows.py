"""Rows of a run's workload: one per request, per echo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.results.files import read_numbers
from minitopo_dc.workloads import RowsFigure


def read_rows(run: Path, kind: str, figure: RowsFigure) -> pd.DataFrame:
    """Return the rows of a run's workload, as its file has them, with what a figure needs of them.

    Raises:
        ResultError: the file is missing or broken, or lacks a column of the figure.
    """
    return read_numbers(run, f"{kind}.csv", (figure.x, figure.y, *figure.lines))


def lines_of(rows: pd.DataFrame, figure: RowsFigure) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each line of a figure, with what tells it from the others: `leg 1, ...`."""
    if not figure.lines:
        yield "", rows
        return
    for values, line in rows.groupby(list(figure.lines)):
        named = zip(figure.lines, values, strict=True)
        yield ", ".join(_name(figure, *pair) for pair in named), line


def _name(figure: RowsFigure, column: str, value: Any) -> str:
    return figure.words.get(column, {}).get(value) or f"{column} {value}"
