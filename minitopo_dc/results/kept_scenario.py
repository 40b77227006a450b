"""The scenario that a run's directory keeps, with copies of its traces, and its digest.

With them results can be read wherever they are moved. A run's directory has `scenario.yaml`, and,
where a handover rule or a trace offset made another scenario of it, `as-run.yaml`. `traces.json`
has for each path of a trace in the scenario the name of a copy, which begins with the first digits
of its SHA-256. The copy is in `traces/` of that directory, or, for the runs of a campaign, in the
one `traces/` that they share beside `runs/`.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from minitopo_dc import files
from minitopo_dc.fields import Settings, SettingsError, read_yaml
from minitopo_dc.fields.base import quoted
from minitopo_dc.scenario import Scenario, handovers_of
from minitopo_dc.trace.model import LONGEST_FILE

GIVEN, DERIVED, HANDOVERS = "scenario.yaml", "as-run.yaml", "handovers.csv"
RECORD, FOLDER = "traces.json", "traces"
TRACES = ("trace", "delay_trace")
"""The fields that name a trace."""
HOLDERS = ("legs", "real", "backhaul", "cells", "downlink", "uplink", "background")
"""The fields below which there are such."""
DIGITS = 16
"""Hexadecimal digits of a copy's SHA-256 in its name."""
MAX_BYTES = 1 << 20
"""The most bytes of `traces.json`: thousands of paths."""
MAX_NAME = 100
KEPT = 256
"""The number of runs whose scenarios are kept."""
_OTHER = re.compile(r"[^A-Za-z0-9_.-]")


def save_as_run(given: Scenario, resolved: Scenario, run: Path) -> None:
    """Write the scenario that is run, which can be run by itself, and the handovers of a rule."""
    resolved.save(run / DERIVED)
    if (handovers := handovers_of(given)) is not None:
        with files.CsvFile(run / HANDOVERS, ["time_s", "old_leg", "new_leg"]) as file:
            file.add_all(handovers)


def load_as_run(run: Path) -> Scenario:
    """Return the scenario that a run's numbers belong to, with the traces that the run kept.

    A trace without a copy stays at its path, and whatever needs it names it.

    Raises:
        SettingsError: see `load_recorded`, or the record of the kept traces is damaged.
    """
    scenario = _load_once(run / (DERIVED if (run / DERIVED).exists() else GIVEN))
    places = {path: Path(_place(path, run)) for path in dict.fromkeys(trace_paths(scenario))}
    return _moved(scenario, places) if places else scenario


@files.once_a_version(KEPT)
def _load_once(path: Path) -> Scenario:
    """Read a run's scenario once, as each of its measures asks for it."""
    return load_recorded(path.parent, path.name)


def load_to_run(path: Path) -> Scenario:
    """Read a scenario's file, to be run: one's own, or one that a run kept.

    Raises:
        SettingsError: the file is missing or wrong.
        DataModelError: the run has a version of the data model that this program does not read.
    """
    if (path.parent / "result.json").exists():
        files.check_version(path.parent)
    return Scenario.check(read_yaml(path), str(path))


def load_recorded(run: Path, name: str = GIVEN) -> Scenario:
    """Read a scenario that a run kept, as data: what it names as plugins is not imported.

    Whoever made the run may have named any file there. Only plugins that the reader has registered
    before can be used.

    Raises:
        SettingsError: the file is missing or wrong, or needs a plugin that is not registered.
        DataModelError: the run has a version of the data model that this program does not read.
    """
    files.check_version(run)
    values, plugins = read_yaml(run / name, within=run), ()
    if isinstance(values, dict):
        plugins = values.pop("plugins", ())
    try:
        return Scenario.check(values, str(run / name))
    except SettingsError as error:
        if not plugins:
            raise
        raise SettingsError(
            f"{error}\n{run / name}: its plugins are not imported; "
            f"if they are yours, give --plugin (in Python import them first): {quoted(plugins)}"
        ) from None


def keep_traces(paths: Iterable[str], run: Path) -> None:
    """Copy the traces of a scenario (`trace_paths`) into its run's directory, with `traces.json`.

    Raises:
        SettingsError: a trace cannot be read.
        OSError: the directory cannot be written.
    """
    names = {}
    for path in dict.fromkeys(paths):
        try:
            digest = _digest(Path(path))
        except OSError as error:
            raise SettingsError(f"trace {quoted(path)}: {error.strerror}") from None
        names[path] = f"{digest[:DIGITS]}-{_OTHER.sub('_', Path(path).name)[-MAX_NAME:]}"
    if not names:
        return
    (run / FOLDER).mkdir(exist_ok=True)
    for path, name in names.items():
        with files.replacing(run / FOLDER / name) as partial:
            shutil.copyfile(path, partial)
    files.write_json(run / RECORD, names)


def share_traces(run: Path, root: Path) -> None:
    """Move the copies of a run's traces to the one folder that all runs of a campaign share."""
    if not (run / FOLDER).is_dir():
        return
    (root / FOLDER).mkdir(exist_ok=True)
    for path in (run / FOLDER).iterdir():
        path.replace(root / FOLDER / path.name)
    (run / FOLDER).rmdir()


def _place(path: str, run: Path) -> str:
    name = _recorded(run).get(path)
    if name is None:
        return path
    for copy in (folder / name for folder in _folders(run)):
        if not copy.is_symlink() and _is_same(str(copy), name):
            return str(copy)
    return path if _is_same(path, name) else str(_folders(run)[-1] / name)


def _folders(run: Path) -> tuple[Path, Path]:
    """Return where the copies may be: the run's own folder, and that of its campaign."""
    run = run.absolute()
    return run / FOLDER, run.parent.parent / FOLDER


def _recorded(run: Path) -> dict[str, str]:
    """Return the names of the copies by the traces' paths; empty where none were kept."""
    path = run / RECORD
    try:
        names = files.parse_json(files.read_text(path, MAX_BYTES, within=run))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(names, dict) or not all(
        isinstance(name, str) and not _OTHER.search(name) and name[:DIGITS].isalnum()
        for name in names.values()
    ):
        raise SettingsError(f"{path}: malformed; allowed: names of files by the traces' paths")
    return names


def _is_same(path: str, name: str) -> bool:
    """Return whether a file has the digest that a copy's name begins with."""
    try:
        return _digest(Path(path))[:DIGITS] == name[:DIGITS]
    except (OSError, ValueError):
        return False


@files.once_a_version(256)
def _digest(path: Path) -> str:
    """Return the SHA-256 of a file; the runs of a campaign have the same traces."""
    return hashlib.sha256(files.read_bytes(path, LONGEST_FILE)).hexdigest()


def _moved(part: Any, places: Mapping[str, Path]) -> Any:
    """Return a part of a scenario with other places of traces; without checks, as it is valid."""
    if isinstance(part, tuple | list):
        return type(part)(_moved(one, places) for one in part)
    if not isinstance(part, Settings):
        return part
    moved = {name: _moved(value, places) for name, value in part if name in HOLDERS}
    moved |= {name: places[str(path)] for name, path in part if name in TRACES and path is not None}
    return part.model_copy(update=moved)


def trace_paths(part: Any) -> Iterator[str]:
    """Yield the path of each trace of a scenario, or a part of it, once for each place."""
    if isinstance(part, tuple | list):
        for one in part:
            yield from trace_paths(one)
    elif isinstance(part, Settings):
        yield from (str(path) for name, path in part if name in TRACES and path is not None)
        yield from trace_paths([value for name, value in part if name in HOLDERS])


ID_DIGITS = 16
"""Hexadecimal digits of SHA-256: two of 10^6 runs agree with probability 3e-8."""


def run_id(scenario: Scenario) -> str:
    """Return the digest of a scenario; traces and files of plugins count by their content.

    What only the other clock has does not count. Versions are in each run's `environment.json`,
    not in its identity.

    Raises:
        SettingsError: a trace or a plugin's file cannot be read.
    """
    document = scenario.of_its_clock().model_dump(mode="json", exclude_defaults=True)
    for part in {"legs", "real", "cells"} & document.keys():
        document[part] = _with_contents(document[part], part)
    plugins = document.get("plugins", [])
    plugins[:] = [_content(it, "plugins") if it.endswith(".py") else it for it in plugins]
    text = json.dumps(document, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]


def _with_contents(value: Any, place: str) -> Any:
    """Return a part of a document with what each of its traces counts as."""
    if isinstance(value, list):
        return [_with_contents(part, f"{place}.{number}") for number, part in enumerate(value)]
    if not isinstance(value, dict):
        return value
    return {
        name: (_content if name in TRACES else _with_contents)(part, f"{place}.{name}")
        for name, part in value.items()
    }


def _content(path: str, place: str) -> str:
    """Return what a file counts as; SettingsError names the place where it cannot be read."""
    try:
        return _digest(Path(path))
    except OSError as error:
        raise SettingsError(f"{place}: {quoted(path)}: {error.strerror}") from None
