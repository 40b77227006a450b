"""The version of the data model of results directories, and what changed between versions.

Each directory of results (a run's, a comparison's, a campaign's) says in `data-model.json` which
version it has. A directory without that file has version 1, which did not write the file.
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
VERSION: Final = 2
"""The version that this program writes."""
UNVERSIONED: Final = 1
"""The version of a directory without the file, and the oldest that this program reads."""
MAX_BYTES: Final = 4096
KEPT: Final = 10_000
"""The number of directories whose version is kept."""

RENAMED: Final = {
    "queue_max": "queue_max_packets",
}
"""New names of columns of version 1, which had no unit in their names."""


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


def check_version(directory: Path) -> int:
    """Return the version of a directory's results, which this program reads.

    Raises:
        DataModelError: this program does not read it, or the file that says so is damaged.
    """
    path = directory / FILE
    try:
        status = path.stat()
    except (OSError, ValueError):  # the reading says why
        return _checked(directory, path, ())
    return _checked(directory, path, (status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(KEPT)
def _checked(directory: Path, path: Path, _version: tuple[int, ...]) -> int:
    """Read a version through a cache, as each file of a directory asks for it."""
    try:
        version = parse_json(read_text(path, MAX_BYTES, within=directory))
        number = version["data_model"]
        if not isinstance(number, int) or isinstance(number, bool) or number < UNVERSIONED:
            raise ValueError(f"data_model: {number!r:.40}; allowed: {UNVERSIONED} or more")
    except (FileNotFoundError, NotADirectoryError):
        return _without_file(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = getattr(error, "strerror", None) or error
        raise NoVersionError(f"{path}: says no version of the data model: {why}") from None
    if number > VERSION:
        raise DataModelError(
            f"{directory}: version {number} of the data model; this program reads {UNVERSIONED} "
            f"to {VERSION}. Read it with the minitopo-dc that made it "
            f"({version.get('minitopo_dc', 'unknown')!s:.40}), or a newer one"
        )
    return number


def _without_file(path: Path) -> int:
    if path.is_symlink():
        raise DataModelError(f"{path}: leads to no file")
    return UNVERSIONED


@cache
def _program() -> str:
    try:
        return version("minitopo-dc")
    except PackageNotFoundError:  # a checkout that is not installed
        return "not installed"
