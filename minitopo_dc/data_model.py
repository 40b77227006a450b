"""The version of the data model of results directories, and what changed between versions.

Each directory of results (a run's, a comparison's, a campaign's) says in `data-model.json` which
version it has. A directory without that file has version 1, which did not write the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from minitopo_dc.errors import InputError
from minitopo_dc.files import parse_json, read_text, write_whole

FILE: Final = "data-model.json"
VERSION: Final = 3
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
PICOQUIC: Final = ("quic-picoquic", "mpquic-picoquic")
"""Transports whose CUBIC has another name since version 3."""
CONTROLS: Final = {"cubic": "cubic-picoquic", "cubic-rfc9438": "cubic"}
"""New names of their congestion controls: until version 2 `cubic` was picoquic's own."""
FIRST_CONTROLS: Final = {new: old for old, new in CONTROLS.items()}
"""The names of then by those of today."""
RENAMED_CONTROLS: Final = 3
"""The version that has these names first."""
CONTROL: Final = "congestion_control"
"""The field that has such a name."""


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


def with_new_controls(values: Any, directory: Path) -> Any:
    """Return a scenario or a result that a directory has, with the controls' names of today.

    Args:
        values: its fields; what is no mapping is returned as it is.
        directory: has the version.

    Raises:
        DataModelError: this program does not read it.
    """
    is_old = check_version(directory) < RENAMED_CONTROLS
    return renamed_controls(values, CONTROLS) if is_old and isinstance(values, dict) else values


def renamed_controls(
    values: Mapping[str, Any], names: Mapping[str, str], transport: Any = None
) -> dict[str, Any]:
    """Return a scenario or a result with other names of picoquic's congestion controls.

    Args:
        values: its fields, maybe with those of `flows` and `details`.
        names: new names by the old ones.
        transport: what those use that name none.
    """
    transport = values.get("transport") or transport
    before = values.get(CONTROL)
    after = _renamed(before, names, transport)
    changed = {**values, **({CONTROL: after} if after != before else {})}
    flows, details = values.get("flows"), values.get("details")
    if isinstance(flows, list):
        changed["flows"] = [_flow(flow, names, transport, before, after) for flow in flows]
    if isinstance(details, dict):
        changed["details"] = renamed_controls(details, names, transport)
    return changed


def _flow(flow: Any, names: Mapping[str, str], transport: Any, before: Any, after: Any) -> Any:
    """Rename a flow's own congestion control, or give it the one that it inherited no longer."""
    if not isinstance(flow, dict):
        return flow
    own = flow.get(CONTROL)
    control = _renamed(own or before, names, flow.get("transport") or transport)
    return {**flow, CONTROL: control} if own or control != after else flow


def _renamed(control: Any, names: Mapping[str, str], transport: Any) -> Any:
    is_name = isinstance(control, str) and transport in PICOQUIC
    return names.get(control, control) if is_name else control


@lru_cache(KEPT)
def _checked(directory: Path, path: Path, _version: tuple[int, ...]) -> int:
    """Read a version through a cache, as each file of a directory asks for it."""
    try:
        version = parse_json(read_text(path, MAX_BYTES, within=directory))
        number = version["data_model"]
        if not isinstance(number, int) or isinstance(number, bool) or number < UNVERSIONED:
            raise ValueError(f"data_model: {number!r:.40}; allowed: {UNVERSIONED} or more")
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise DataModelError(f"{path}: leads to no file") from None
        return UNVERSIONED
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


@cache
def _program() -> str:
    try:
        return version("minitopo-dc")
    except PackageNotFoundError:  # a checkout that is not installed
        return "not installed"
