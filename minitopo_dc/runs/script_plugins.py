"""What a script or a notebook registers itself, made known to the processes of its runs.

Its definition and what it uses there (functions, classes, plain values, imports) make a file that
can be imported anywhere, and whose content says which version of it a run had.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import hashlib
import linecache
import re
import site
import symtable
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from minitopo_dc.errors import InputError
from minitopo_dc.extension import build_directory
from minitopo_dc.files import write_whole
from minitopo_dc.registry import PACKAGES, TABLES
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
        InputError: one of them cannot be made a file; the message says why.
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
    here = {
        name: str(plugin_file(Path(name).stem.rpartition("_")[0], text))
        for name, text in files.items()
    }
    plugins = [here.get(name, name) for name in values.get("plugins", ())]
    return Scenario.model_validate({**values, "plugins": plugins})


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts among a document's values; a field's name is none."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else ():
        yield from _texts(part)
    for part in value if isinstance(value, list) else ():
        yield from _texts(part)


DECORATORS: Final = {
    "split policy": "split_policy",
    "queue discipline": "queue_discipline",
    "runner": "runner",
    "workload": "workload",
    "ABR algorithm": "abr_algorithm",
    "MP-QUIC scheduler": "path_scheduler",
}
"""The function of `minitopo_dc.plugins` that registers a thing of each kind."""
INSTEAD = "write it into a file and name that under `plugins` of the scenario"
_INSTALLED = tuple(
    Path(place).resolve()
    for place in (
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *(*site.getsitepackages(), site.getusersitepackages()),
    )
)


def is_own(thing: Any) -> bool:
    """Return whether a thing is defined in a script, a notebook or another file of the user's.

    What is installed, built in or loaded as a plugin's file is not: other processes find it.
    """
    module = sys.modules.get(str(getattr(thing, "__module__", "")))
    return module is not None and _is_own_module(module)


def _is_own_module(module: ModuleType) -> bool:
    name = module.__name__
    if name == "__main__":
        return True
    file, package = getattr(module, "__file__", None), name.split(".")[0]
    if file is None or package.startswith("minitopo_dc") or package in PACKAGES:
        return False
    return not any(Path(file).resolve().is_relative_to(place) for place in _INSTALLED)


def source_of(kind: str, name: str, thing: Any) -> str:
    """Return the text of a Python file that registers a thing as the user's program has done.

    Args:
        kind: a key of `DECORATORS`.
        name: the name under which it is registered.
        thing: a class or function for which `is_own` is true.

    Raises:
        InputError: its source cannot be read, or it uses what cannot be written into a file.
    """
    slice_of = _Slice(f"{kind} {name!r}")
    slice_of.add(thing.__name__, thing)
    parts = [*slice_of.parts.values()]
    if thing.__name__ not in slice_of.decorated:
        parts += [f"from minitopo_dc.plugins import {DECORATORS[kind]}"]
        parts += [f"{DECORATORS[kind]}({name!r})({thing.__name__})"]
    head = ["from __future__ import annotations"] if slice_of.has_late_annotations else []
    return "\n\n".join([*head, *parts]) + "\n"


class _Slice:
    """The statements that a thing needs, by the name that each of them binds, needed ones first."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._values: dict[str, Any] = {}
        self.decorated: set[str] = set()
        """The names of what has a decorator, which registers it."""
        self.parts: dict[str, str] = {}
        self.has_late_annotations = False

    def add(self, name: str, value: Any) -> None:
        """Add what binds a name to a value, and before it what that needs."""
        if name in self._values:
            if self._values[name] is not value:
                raise self._refused(name, "two things of this name")
            return
        self._values[name] = value
        self.parts[name] = self._statement(name, value)

    def _statement(self, name: str, value: Any) -> str:
        if isinstance(value, ModuleType):
            if _is_own_module(value):
                raise self._refused(name, "a module of your own")
            other = "" if value.__name__ == name else f" as {name}"
            return f"import {value.__name__}{other}"
        if isinstance(value, type | FunctionType) and is_own(value):
            text = self._definition(value)
            return text if value.__name__ == name else f"{text}\n\n{name} = {value.__name__}"
        if (place := _place(value)) is not None:
            other = "" if place[1] == name else f" as {name}"
            return f"from {place[0]} import {place[1]}{other}"
        try:
            if ast.literal_eval(repr(value)) == value:
                return f"{name} = {value!r}"
        except (ValueError, SyntaxError):
            pass
        raise self._refused(name, f"of the kind {type(value).__name__}")

    def _definition(self, thing: type | FunctionType) -> str:
        """Return the text of a class or function, after adding what it needs."""
        node, text = self._found(thing)
        if node.decorator_list:
            self.decorated.add(thing.__name__)
        known = vars(sys.modules[thing.__module__])
        free = _free(symtable.symtable(text, "<definition>", "exec"), top=True)
        for name in sorted({*free} - {thing.__name__}):
            if name in known:
                self.add(name, known[name])
        return text

    def _found(self, thing: type | FunctionType) -> tuple[ast.ClassDef | ast.FunctionDef, str]:
        """Return the definition of a thing, and its text in the file or cell that it stands in."""
        if "<locals>" in thing.__qualname__:
            raise self._refused(thing.__qualname__, "defined inside a function")
        code = next(_codes(thing), None)
        lines = [] if code is None else linecache.getlines(code.co_filename)
        if code is None or not lines:
            raise self._refused(thing.__qualname__, "whose source cannot be read")
        self.has_late_annotations |= bool(code.co_flags & __future__.annotations.compiler_flag)
        for node in ast.parse("".join(lines)).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == thing.__name__:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                if first <= code.co_firstlineno <= (node.end_lineno or 0):
                    return node, "".join(lines[first - 1 : node.end_lineno]).rstrip()
        raise self._refused(thing.__qualname__, "whose source has changed or is indented")

    def _refused(self, name: str, why: str) -> InputError:
        return InputError(
            f"{self._what}: other processes cannot know it, as it uses {name}, {why}; {INSTEAD}"
        )


def _codes(thing: type | FunctionType) -> Iterator[CodeType]:
    """Yield the code of a function, or of the methods that a class has itself."""
    parts = [thing] if isinstance(thing, FunctionType) else vars(thing).values()
    for part in parts:
        function = getattr(part, "__func__", getattr(part, "fget", part))
        if isinstance(function, FunctionType) and function.__module__ == thing.__module__:
            yield function.__code__


def _place(value: Any) -> tuple[str, str] | None:
    """Return the module and the name by which a thing can be imported; None if by none."""
    if isinstance(value, type | FunctionType) or hasattr(value, "__module__"):
        module = sys.modules.get(str(value.__module__))
        names = (getattr(value, field, None) for field in ("__qualname__", "__name__", "_name"))
        for name in (name for name in names if isinstance(name, str)):
            if module is not None and getattr(module, name, None) is value:
                return None if _is_own_module(module) else (module.__name__, name)
    return None


def _free(table: symtable.SymbolTable, *, top: bool) -> Iterator[str]:
    for symbol in table.get_symbols():
        used = symbol.is_referenced() if top else symbol.is_global() and symbol.is_referenced()
        if used and not hasattr(builtins, symbol.get_name()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _free(child, top=False)
