"""A run's files: their digests, and how they are read, as they may be damaged or somebody else's.

A file is opened if it is a regular one of a bounded size below the run's directory: a pipe may wait
for ever, a device has no end, a link may lead anywhere. Whatever is wrong with a file is a
ResultError that names it.
"""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from minitopo_dc.errors import InputError
from minitopo_dc.files import (
    UnreadableError,
    check_version,
    opened,
    parse_json,
    parts,
    read_text,
    write_json,
)
from minitopo_dc.results.run_result import MAX_BYTES

DATA_ERRORS = (OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError)
"""The errors that numbers and names that do not fit each other raise in a computation."""
CHECKSUMS = "checksums.json"
"""SHA-256 of each other file of a run's directory, in hexadecimal, by its path there; of those
that are no longer than a capture may be."""
MAX_CAPTURE = 4 << 30
"""The most bytes of a capture: 4 GB that were carried; it is read packet by packet, and what
analysis keeps is in memory. A longer file has no digest."""
MAX_SERIES = 256 << 20
"""The most bytes of a CSV file: four legs over an hour at 10 ms are 1.4 million rows of some 150
bytes."""
MAX_QLOG = 1 << 30
"""The most bytes of a qlog: some 1 kB a packet and end, for a download of 1 GB; in memory it is ten
times as much."""


class ResultError(InputError):
    """A file of a run that lacks something or is not what it should be; the message names it."""


@contextmanager
def naming(run: Path) -> Iterator[None]:
    """Turn an error in a computation from a run's files into a ResultError that names the run.

    Each file may be as it should be, and yet not fit the others.
    """
    try:
        yield
    except InputError as error:
        raise ResultError(str(error)) from error
    except (*DATA_ERRORS, RecursionError, MemoryError) as error:
        raise ResultError(f"{run}: its files do not fit together: {error!r}") from error


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
    except (UnreadableError, OSError) as error:
        raise ResultError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


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
    text = read_text_in(run, path, MAX_BYTES)
    try:
        values = parse_json(text)
    except ValueError as error:
        raise ResultError(f"{path}: malformed: {error}") from None
    if not isinstance(values, dict):
        raise ResultError(f"{path}: malformed: no mapping of names to values")
    return values


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


def to_numbers(
    path: Path, table: pd.DataFrame, columns: Iterable[str], *, gaps: bool = True
) -> pd.DataFrame:
    """Convert these columns of a table to numbers, NaN where one is not known.

    Args:
        path: that of the table's file.
        table: is changed.
        columns: their names.
        gaps: whether a number may be unknown.

    Raises:
        ResultError: the table lacks a column, or has something else, or an infinite number; the
            message names the file.
    """
    for column in columns:
        if column not in table:
            raise ResultError(f"{path}: no column {column}; has: {', '.join(map(str, table))}")
        given = table[column]
        if given.dtype.kind not in "iuf":
            try:
                table[column] = pd.to_numeric(given, errors="coerce")
            except (TypeError, OverflowError):
                raise ResultError(f"{path}: {column}: a number out of range") from None
        values = table[column].to_numpy(dtype=float, na_value=np.nan)
        if not np.isfinite(values).all():
            wrong = np.isinf(values) | (np.isnan(values) & (given.notna() if gaps else True))
            if wrong.any():
                row = int(wrong.argmax())
                words = f"{given.iloc[row]} is no number"
                raise ResultError(f"{path}: line {row + 2}: {column}: {words}")
    return table


def read_csv(run: Path, path: Path) -> pd.DataFrame:
    """Read a CSV file of a run.

    Raises:
        ResultError: it is missing, or no table.
    """
    with opened_in(run, path, MAX_SERIES) as file:
        content = file.read(MAX_SERIES)
    try:
        with warnings.catch_warnings():
            # Where all rows are longer than the header, pandas would drop their first fields.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(io.BytesIO(content), index_col=False)
    except pd.errors.ParserWarning:
        raise ResultError(f"{path}: its rows are longer than its header") from None
    except (ValueError, OverflowError) as error:  # no header, rows of different lengths, no UTF-8
        raise ResultError(f"{path}: {' '.join(str(error).split())}") from None
    return table


def seal(directory: Path) -> None:
    """Write the digests of a run's regular files of limited length into its directory.

    Opening what else a program left may take for ever.
    """
    write_json(directory / CHECKSUMS, dict(sorted(_digests(directory, directory))))


def _digests(directory: Path, folder: str | Path) -> Iterator[tuple[str, str]]:
    """Yield the path in a run's directory and the digest of each file of a folder of it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _digests(directory, entry.path)
            elif entry.is_file(follow_symlinks=False) and entry.name != CHECKSUMS:
                name = entry.path.removeprefix(f"{directory}/")
                if entry.stat().st_size <= MAX_CAPTURE:
                    yield name, _digest(parts(entry.path, MAX_CAPTURE))


def damage(directory: Path, only: str | None = None) -> str | None:
    """Return the first file that was changed since the run was recorded, and why; None without one.

    Args:
        directory: that of a run; one that was recorded without digests counts as whole.
        only: look at this file alone.
    """
    try:
        digests = parse_json(read_text(directory / CHECKSUMS, MAX_BYTES, within=directory))
        named = [(str(name), str(digest)) for name, digest in digests.items()]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        return f"{CHECKSUMS}: {error}"
    for name, digest in named:
        if only is not None and name != only:
            continue
        try:
            # Paths as objects would take most of the time of this.
            if _digest(parts(f"{directory}/{name}", MAX_CAPTURE, within=directory)) != digest:
                return f"{name}: changed since the run was recorded"
        except (OSError, ValueError) as error:
            return f"{name}: {getattr(error, 'strerror', None) or error}"
    return None


def _digest(content: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in content:
        digest.update(part)
    return digest.hexdigest()
