"""The version of the data model of results directories.

Each directory of results (a run's, a comparison's, a campaign's) says in `data-model.json` which
version it has. What says none (an element's series, say) is read as this program's own.
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from minitopo_dc.errors import InputError
from minitopo_dc.files import parse_json, read_text, write_whole

FILE: Final = "data-model.json"
VERSION: Final = 3
"""The version that this program writes and reads."""
MAX_BYTES: Final = 4096
KEPT: Final = 10_000
"""The number of directories that are known to have the version."""


class DataModelError(InputError):
    """A results directory that this program does not read; the message says what to do."""


class NoVersionError(DataModelError):
    """A damaged `data-model.json`, which therefore tells no version."""


def write_version(directory: Path) -> None:
    """Write into a directory which version its results have, and which release made them.

    Raises:
        OSError: the file cannot be written.
    """
    made = {"data_model": VERSION, "minitopo_dc": _program()}
    write_whole(directory / FILE, json.dumps(made, indent=1))


def check_version(directory: Path) -> None:
    """Refuse a directory whose results have another version.

    Raises:
        DataModelError: they have, or the file that says so is damaged.
    """
    path = directory / FILE
    try:
        status = path.stat()
    except (OSError, ValueError):  # the reading says why
        _check(directory, path, ())
    else:
        _check(directory, path, (status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(KEPT)
def _check(directory: Path, path: Path, _version: tuple[int, ...]) -> None:
    """Check a version through a cache, as each file of a directory asks for it."""
    try:
        made = parse_json(read_text(path, MAX_BYTES, within=directory))
        number = made["data_model"]
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise ValueError(f"data_model: {number!r:.40}; allowed: {VERSION}")
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise DataModelError(f"{path}: leads to no file") from None
        return
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = getattr(error, "strerror", None) or error
        raise NoVersionError(f"{path}: says no version of the data model: {why}") from None
    if number != VERSION:
        raise DataModelError(
            f"{directory}: version {number} of the data model; this program reads {VERSION}. "
            f"Read it with the minitopo-dc that made it "
            f"({made.get('minitopo_dc', 'unknown')!s:.40})"
        )


@cache
def _program() -> str:
    try:
        return version("minitopo-dc")
    except PackageNotFoundError:  # a checkout that is not installed
        return "not installed"
