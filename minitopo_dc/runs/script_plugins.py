"""What a script or a notebook registers itself, made known to the processes of its runs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from minitopo_dc.extension.place import build_directory
from minitopo_dc.files import write_whole
from minitopo_dc.plugin_source import DECORATORS, is_own, source_of
from minitopo_dc.registry import TABLES
from minitopo_dc.scenario import Scenario

FOLDER: Final = "plugins"
"""Of the cache: a file for each version of a plugin, which has the digest of its content."""
DIGITS: Final = 16


Registered = Mapping[tuple[str, str], Any]
"""What the user's program has registered, by kind and name."""


def registered_in_script() -> Registered:
    """Return what the user's program has registered up to now."""
    return {
        (kind, name): thing
        for kind in DECORATORS
        for name, thing in TABLES.get(kind, {}).items()
        if is_own(thing)
    }


def with_script_plugins(scenario: Scenario, own: Registered) -> Scenario:
    """Return a scenario that names a file for each thing of the user's program that it uses.

    Such a file counts by its content in the identity of a run, and other processes load it.

    Raises:
        SourceError: one of them cannot be made a file; the message says why.
    """
    if not own:
        return scenario
    used = set(_texts(scenario.model_dump(mode="json")))
    files = (
        str(plugin_file(name, source_of(kind, name, thing)))
        for (kind, name), thing in own.items()
        if name in used
    )
    more = [file for file in files if file not in scenario.plugins]
    # Without validation: this process has the things, and would load their files beside them.
    return scenario.model_copy(update={"plugins": (*scenario.plugins, *more)}) if more else scenario


def plugin_file(name: str, text: str) -> Path:
    """Return the path of the file in this machine's cache that has this content; write it."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
    path = build_directory(FOLDER) / f"{re.sub('[^A-Za-z0-9_]', '_', name)}_{digest}.py"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    return path


def plugin_files(scenario: Scenario) -> dict[str, str]:
    """Return the content of the cache's files that a scenario names, by their paths."""
    folder = build_directory(FOLDER)
    return {
        name: Path(name).read_text(encoding="utf-8")
        for name in scenario.plugins
        if Path(name).parent == folder
    }


def restored(values: Mapping[str, Any], files: Mapping[str, str]) -> Scenario:
    """Return a scenario of another process, maybe of another machine.

    Args:
        values: its fields.
        files: the content of the plugins' files that it brings along (`plugin_files`).
    """
    plugins = [_here(name, files) for name in values.get("plugins", ())]
    return Scenario.model_validate({**values, "plugins": plugins})


def _here(name: str, files: Mapping[str, str]) -> str:
    if name not in files:
        return name
    return str(plugin_file(Path(name).stem.rpartition("_")[0], files[name]))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else ():
        yield from _texts(part)
    for part in value if isinstance(value, list) else ():
        yield from _texts(part)
