"""The traces of a run, kept with its results, so that these can be read wherever they are moved.

A run's directory has `traces.json`: for each path of a trace in its scenario, the name of a copy,
which begins with the first digits of its SHA-256. The copy is in `traces/` of that directory, or,
for the runs of a campaign, in the one `traces/` that they share beside `runs/`.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from minitopo_dc.files import parse_json, read_bytes, read_text, replacing, write_whole
from minitopo_dc.scenario import Leg, Scenario
from minitopo_dc.scenario.identity import file_digest, trace_paths
from minitopo_dc.settings import Direction, LegSettings, SettingsError
from minitopo_dc.settings.base import quoted
from minitopo_dc.trace.model import LONGEST_FILE

RECORD, FOLDER = "traces.json", "traces"
DIGITS = 16
"""Hexadecimal digits of a copy's SHA-256 in its name."""
MAX_BYTES = 1 << 20
"""The most bytes of `traces.json`: thousands of paths."""
MAX_NAME = 100
_OTHER = re.compile(r"[^A-Za-z0-9_.-]")


def keep_traces(scenario: Scenario, run: Path) -> None:
    """Copy the traces of a scenario into its run's directory, and write `traces.json`.

    Raises:
        SettingsError: a trace cannot be read.
        OSError: the directory cannot be written.
    """
    names = {path: _name(path) for path in dict.fromkeys(trace_paths(scenario))}
    if not names:
        return
    (run / FOLDER).mkdir(exist_ok=True)
    for path, name in names.items():
        with replacing(run / FOLDER / name) as partial:
            shutil.copyfile(path, partial)
    write_whole(run / RECORD, json.dumps(names, indent=1))


def share_traces(run: Path, root: Path) -> None:
    """Move the copies of a run's traces to the one folder that all runs of a campaign share."""
    if not (run / FOLDER).is_dir():
        return
    (root / FOLDER).mkdir(exist_ok=True)
    for path in (run / FOLDER).iterdir():
        path.replace(root / FOLDER / path.name)
    (run / FOLDER).rmdir()


def with_kept_traces(scenario: Scenario, run: Path) -> Scenario:
    """Return a recorded scenario with the traces that were kept with its results.

    Results of versions that kept none have the traces at the recorded paths, or, where there are
    none, in a folder `traces/` that somebody has put there, by their names. A path that is nowhere
    stays, and whatever needs the trace names it.
    """
    if next(trace_paths(scenario), None) is None:
        return scenario
    places = {path: _place(path, run) for path in dict.fromkeys(trace_paths(scenario))}
    legs = tuple(_moved(leg, places) for leg in scenario.legs)
    links = tuple(_moved(link, places) for link in scenario.real.backhaul)
    # Copies without validation, as all else is valid.
    real = scenario.real.model_copy(update={"backhaul": links})
    return scenario.model_copy(update={"legs": legs, "real": real})


def _name(path: str) -> str:
    try:
        digest = file_digest(path)
    except OSError as error:
        raise SettingsError(f"trace {quoted(path)}: {error.strerror}") from None
    return f"{digest[:DIGITS]}-{_OTHER.sub('_', Path(path).name)[-MAX_NAME:]}"


def _place(path: str, run: Path) -> str:
    """Return where a trace of a recorded scenario is now."""
    name = _recorded(run).get(path)
    if name is None:  # of a version that kept none
        there = (folder / Path(path).name for folder in _folders(run))
        return next((str(each) for each in there if each.is_file()), path)
    for folder in _folders(run):
        if _holds(folder, name):
            return str(folder / name)
    return path if _is_same(path, name) else str(_folders(run)[-1] / name)


def _folders(run: Path) -> tuple[Path, Path]:
    """Return where the copies may be: the run's own folder, and that of its campaign."""
    run = run.absolute()
    return run / FOLDER, run.parent.parent / FOLDER


def _recorded(run: Path) -> dict[str, str]:
    """Return the names of the copies by the traces' paths; empty where none were kept.

    Raises:
        SettingsError: the file is damaged.
    """
    path = run / RECORD
    try:
        found = parse_json(read_text(path, MAX_BYTES, within=run))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(found, dict) or not all(map(_is_name, found.values())):
        raise SettingsError(f"{path}: malformed; allowed: names of files by the traces' paths")
    return found


def _is_name(value: Any) -> bool:
    """Return whether a value is the name of a file, which leads to no other folder."""
    return isinstance(value, str) and not _OTHER.search(value) and value[:DIGITS].isalnum()


def _holds(folder: Path, name: str) -> bool:
    """Return whether a folder has an undamaged copy, which is no link to elsewhere."""
    return not (folder / name).is_symlink() and _is_same(str(folder / name), name)


def _is_same(path: str, name: str) -> bool:
    """Return whether a file has the digest that a copy's name begins with."""
    try:
        found = Path(path).stat()
        return _digest(path, found.st_ino, found.st_mtime_ns) == name[:DIGITS]
    except (OSError, ValueError):
        return False


@lru_cache(maxsize=256)
def _digest(path: str, _inode: int, _changed: int) -> str:
    """Digest a file through a cache, as the runs of a campaign have the same traces."""
    return hashlib.sha256(read_bytes(Path(path), LONGEST_FILE)).hexdigest()[:DIGITS]


def _moved(link: Leg, places: dict[str, str]) -> Leg:
    return link.model_copy(update=dict(_directions(link, places)))


def _directions(link: Leg, places: dict[str, str]) -> Iterator[tuple[str, LegSettings]]:
    for name in get_args(Direction):
        radio: LegSettings = getattr(link, name)
        if radio.trace is not None:
            place = Path(places[str(radio.trace)])
            yield name, radio.model_copy(update={"trace": place})
