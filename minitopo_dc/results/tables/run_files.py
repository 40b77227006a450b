"""Reading of a run's files, which may be damaged, or made by somebody else.

A file is opened if it is a regular one of a bounded size below the run's directory: a pipe may wait
for ever, a device has no end, a link may lead anywhere. Whatever is wrong with a file is a
ResultError that names it.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from minitopo_dc.results.errors import ResultError
from minitopo_dc.data_model import RENAMED, UNVERSIONED, check_version
from minitopo_dc.files import UnreadableError, opened, parse_json
from minitopo_dc.runs.results import MAX_BYTES

MAX_SERIES = 256 << 20
"""The most bytes of a CSV file: four legs over an hour at 10 ms are 1.4 million rows of some 150
bytes."""
WHOLE = b"0123456789-,\n"
"""The characters of rows of whole numbers."""
MAX_QLOG = 1 << 30
"""The most bytes of a qlog: some 1 kB a packet and end, for a download of 1 GB; in memory it is ten
times as much."""


@contextmanager
def opened_in(run: Path, path: Path, max_bytes: int) -> Iterator[BufferedReader]:
    """Open a file of a run, whose version of the data model this program reads.

    Args:
        run: the directory that the file must be in.
        path: the file's path, the directory's included.
        max_bytes: the most bytes that the file may have.

    Raises:
        ResultError: it is missing, or may not be read.
        DataModelError: the run has another version.
    """
    check_version(run)
    try:
        with opened(path, max_bytes, within=run) as file:
            yield file
    except UnreadableError as error:
        raise ResultError(f"{path}: {error}") from None
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror or error}") from None


def read_text_in(run: Path, path: Path, max_bytes: int) -> str:
    """Return the text of a file of a run; arguments and errors are those of `opened_in`."""
    with opened_in(run, path, max_bytes) as file:
        content = file.read(max_bytes)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ResultError(f"{path}: not UTF-8 text") from None


def read_mapping(run: Path, path: Path) -> dict[str, Any]:
    """Return a mapping that a file of a run holds as JSON.

    Raises:
        ResultError: it is missing or broken, or holds something else.
    """
    try:
        found = parse_json(read_text_in(run, path, MAX_BYTES))
    except ResultError:
        raise
    except ValueError as error:
        raise ResultError(f"{path}: malformed: {error}") from None
    if not isinstance(found, dict):
        raise ResultError(f"{path}: malformed: no mapping of names to values")
    return found


def read_numbers(run: Path, name: str | Path, columns: Iterable[str]) -> pd.DataFrame:
    """Read a CSV file of a run, of which these columns are numbers, NaN where one is not known.

    Args:
        run: the run's directory.
        name: the file's name in it.
        columns: the columns that are numbers; there may be others.

    Raises:
        ResultError: the file is missing or broken, lacks a column, or has an infinite number.
    """
    return to_numbers(run / name, read_csv(run, run / name), columns)


def to_numbers(path: Path, table: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Convert these columns of a table to numbers, NaN where one is not known.

    Raises:
        ResultError: the table lacks a column, or has something else, or an infinite number; the
            message names the file.
    """
    wanted = list(columns)
    if set(wanted) <= set(table.columns) and all(_are_numbers(table[name]) for name in wanted):
        return table
    try:
        for column in wanted:
            table[column] = pd.to_numeric(table[column])
            if np.isinf(table[column].to_numpy(dtype=float)).any():
                raise ResultError(f"{path}: {column}: an infinite number")
    except KeyError as error:
        raise ResultError(f"{path}: no column {error.args[0]}") from None
    except (ValueError, TypeError, OverflowError) as error:
        known = isinstance(error, ResultError)
        raise error if known else ResultError(f"{path}: {column}: {error}") from None
    return table


def _are_numbers(column: pd.Series[Any]) -> bool:
    """Return whether a column holds nothing but numbers and NaN."""
    values = column.to_numpy()
    return values.dtype.kind in "iuf" and not bool(np.isinf(values).any())


def is_finite(table: pd.DataFrame) -> bool:
    """Return whether a table holds nothing but finite numbers."""
    values = table.to_numpy()
    return values.dtype.kind in "iuf" and bool(np.isfinite(values).all())


def read_csv(run: Path, path: Path) -> pd.DataFrame:
    """Read a CSV file of a run, with the present names of its columns.

    Raises:
        ResultError: it is missing, or no table.
    """
    with opened_in(run, path, MAX_SERIES) as file:
        content = file.read(MAX_SERIES)
    table = _whole_numbers(content)
    if table is None:
        table = _any_table(path, content)
    return table if check_version(run) > UNVERSIONED else table.rename(columns=RENAMED)


def _whole_numbers(content: bytes) -> pd.DataFrame | None:
    """Return a table of whole numbers in a third of the time of `_any_table`; None for any other.

    Most series have nothing else, and a report reads hundreds of them.
    """
    header, _, rows = content.replace(b"\r\n", b"\n").partition(b"\n")
    names = header.decode("ascii", "replace").split(",")
    known = len(set(names)) == len(names) and all(map(str.isidentifier, names))
    if not known or not rows or rows.translate(None, WHOLE):
        return None
    try:
        values = np.loadtxt(io.BytesIO(rows), dtype=np.int64, delimiter=",", ndmin=2)
    except (ValueError, OverflowError):
        return None
    return pd.DataFrame(values, columns=names) if values.shape[1] == len(names) else None


def _any_table(path: Path, content: bytes) -> pd.DataFrame:
    """Return the table of a CSV file, or raise the ResultError that says why there is none."""
    try:
        with warnings.catch_warnings():
            # Where all rows are longer than the header, pandas would drop their first fields.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(io.BytesIO(content), index_col=False)
    except pd.errors.ParserWarning:
        raise ResultError(f"{path}: its rows are longer than its header") from None
    except (ValueError, OverflowError) as error:  # no header, rows of different lengths, no UTF-8
        raise ResultError(f"{path}: {' '.join(str(error).split())}") from None
