"""Registries of what is known by a name (runners, workloads, ...), and plugins that add to them.

A plugin is found in one of three ways:

* an installed package names its modules as entry points of `minitopo_dc.runners`,
  `minitopo_dc.split_policies`, `minitopo_dc.queue_disciplines`, `minitopo_dc.cell_schedulers`,
  `minitopo_dc.path_schedulers`, `minitopo_dc.abr_algorithms` or `minitopo_dc.workloads`;
* a scenario lists modules or Python files under `plugins`;
* `--plugin` of the command line does the same.

To import such a module is enough: decorators register what is in it. What a script or a notebook
registers itself replaces what it registered before under that name (`script_plugins` of
`minitopo_dc.runs` makes other processes know it).
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from minitopo_dc.errors import InputError

T = TypeVar("T")
Added = TypeVar("Added")


class UnknownNameError(InputError):
    """A name under which nothing is registered; the message lists the names that are."""


PACKAGES: set[str] = set()
"""Installed packages with entry points, which other processes load, too."""
TABLES: dict[str, dict[str, Any]] = {}
"""Everything that is registered, by its kind and its name."""


def enter(what: str, table: dict[str, Any], name: str, thing: Any) -> None:
    """Register a thing of a kind in place of an earlier one that is the same, or the user's.

    A built-in one may come twice: as a module and as the program that runs it; the first stays. A
    cell of a notebook that is run again, and another version of a script's plugin, take the place
    of the earlier one.

    Raises:
        ValueError: the name is taken by another thing.
    """
    before = table.setdefault(name, thing)
    if before is thing:
        return
    places = _module(before), _module(thing)
    same = _qualified(before) == _qualified(thing)
    if any(place.startswith(BUILT_IN) for place in places) and same:
        return
    if any(place.startswith(BUILT_IN) for place in places) or not (same or {*places} == {MAIN}):
        raise ValueError(f"there is a {what} {name!r} already")
    table[name] = thing
    if places[0] != places[1]:
        _load.cache_clear()  # a file that is named again then takes its place again


BUILT_IN, MAIN = "minitopo_dc.", "__main__"


@contextmanager
def registrations_kept() -> Iterator[None]:
    """Undo what is registered inside the block, in which runs load their plugins.

    What comes with this package stays: its modules are imported once, and would not register again.
    """
    before = {what: dict(table) for what, table in TABLES.items()}
    try:
        yield
    finally:
        if before != TABLES:
            for what, table in before.items():
                ours = {
                    name: thing
                    for name, thing in TABLES[what].items()
                    if _module(thing).startswith("minitopo_dc.")
                }
                TABLES[what].clear()
                TABLES[what].update(ours | table)
            _load.cache_clear()


class Registry(Generic[T]):
    """A table of things of one kind by name: the built-in ones, then a user's in order of arrival.

    Args:
        what: the kind, for messages.
        group: of the entry points that may add to it.
        built_in: the modules that register what comes with this package.
        attribute: in which a thing has its name, if it is to have it.
    """

    def __init__(
        self, what: str, group: str, built_in: Sequence[str], *, attribute: str | None = None
    ) -> None:
        self._what = what
        self._attribute = attribute
        self._group = group
        self._built_in = built_in
        self._found: dict[str, T] = {}
        TABLES[what] = self._found
        self._complete = False

    def add(self, name: str, thing: T) -> None:
        """Register a thing under a name.

        Raises:
            ValueError: the name is taken by another thing.
        """
        enter(self._what, self._found, name, thing)

    def adding(self, name: str) -> Callable[[Added], Added]:
        """Return a decorator that registers what it gets, also a user's, under a name.

        Raises:
            ValueError: the name is taken by another thing.
        """

        def register(thing: Any) -> Any:
            self.add(name, thing)
            if self._attribute is not None:
                setattr(thing, self._attribute, name)
            return thing

        return register

    def names(self) -> tuple[str, ...]:
        """Return all registered names, the built-in ones first.

        Raises:
            InputError: an entry point of this kind is broken.
        """
        if not self._complete:
            self._complete = True  # at once, as a plugin may ask for names while it is imported
            try:
                for module in self._built_in:
                    importlib.import_module(module)
                load_entry_points(self._group)
            except BaseException:
                self._complete = False
                raise
        places = {module: place for place, module in enumerate(self._built_in)}
        order = {name: places.get(_module(it), len(places)) for name, it in self._found.items()}
        return tuple(sorted(order, key=order.__getitem__))

    def get(self, name: str) -> T:
        """Return the thing that is registered under a name.

        Raises:
            UnknownNameError: nothing has this name.
            InputError: an entry point of this kind is broken.
        """
        known = self.names()
        if name not in known:
            raise UnknownNameError(f"no {self._what} {name!r} (known: {', '.join(known)})")
        return self._found[name]

    def make(self, name: str, parameters: Mapping[str, Any]) -> Any:
        """Return what the callable of a name makes of parameters, by keyword.

        Raises:
            UnknownNameError: nothing has this name.
            InputError: a parameter is not the callable's, or is refused by it; or an entry point of
                this kind is broken.
        """
        factory: Any = self.get(name)
        try:
            inspect.signature(factory).bind(**parameters)
            return factory(**parameters)
        except (TypeError, ValueError) as error:
            known = ", ".join(inspect.signature(factory).parameters) or "none"
            raise InputError(f"{self._what} {name!r}: {error}; its parameters: {known}") from None


def load_plugins(names: Iterable[str]) -> list[str]:
    """Import modules, or Python files (names that end in `.py`), once each.

    Returns:
        The names; those of files are absolute, so that they hold in any directory.

    Raises:
        InputError: one of them does not exist or cannot be imported.
    """
    absolute = [str(Path(name).resolve()) if name.endswith(".py") else name for name in names]
    for name in absolute:
        _load(name)
    return absolute


def with_loaded_plugins(fields: Any) -> Any:
    """Return what would be fields of settings, once their `plugins` are loaded; InputError."""
    names = fields.get("plugins", ()) if isinstance(fields, dict) else None
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        return {**fields, "plugins": load_plugins(names)}
    return fields


@functools.cache
def _all_entry_points() -> Any:  # another type before Python 3.12
    """Return what all installed packages name; their files are read once, not for each group."""
    return entry_points()


@functools.cache
def load_entry_points(group: str) -> None:
    """Import what installed packages name as entry points of a group, once.

    Raises:
        InputError: one of them cannot be imported.
    """
    for point in _all_entry_points().select(group=group):
        package = point.dist.name if point.dist is not None else "unknown package"
        with _explaining(f"entry point {point.name} of group {group} ({package})"):
            PACKAGES.add(point.module.partition(".")[0])
            point.load()


@functools.cache
def _load(name: str) -> None:
    with _explaining(f"plugin {name}"):
        if not name.endswith(".py"):
            importlib.import_module(name)
            return
        # Under a name of its own, so that it hides no module.
        own = (
            f"minitopo_dc_plugin_{Path(name).stem}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        )
        spec = importlib.util.spec_from_file_location(own, name)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[own] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[own]
            raise


@contextmanager
def _explaining(what: str) -> Iterator[None]:
    """Turn whatever a plugin raises into one line that says what, and in which line of it."""
    try:
        yield
    except Exception as error:
        raise InputError(f"{what}: {failure_words(error)}") from error


def failure_words(error: Exception, limit: int | None = None) -> str:
    """Return an error of a user's code in one line: its type, its words and where it was raised.

    Args:
        error: as caught.
        limit: of the characters of its words, which may hold a value; None: none.
    """
    words = " ".join(str(error).split())[:limit] or "no words"
    hidden = (__file__, importlib.__file__)  # and frozen parts of Python's import machinery
    place = _place(error, lambda file: not file.startswith("<") and file not in hidden)
    return f"{type(error).__name__}: {words}{place}"


def place_in_plugins(error: Exception, plugins: Iterable[str]) -> str:
    """Return the innermost line of a user's file that an error came from; empty if from none."""
    return _place(error, {name for name in plugins if name.endswith(".py")}.__contains__)


def _place(error: Exception, is_shown: Callable[[str], bool]) -> str:
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_shown(frame.filename):
            return f" ({frame.filename}:{frame.lineno})"
    return ""


def _module(thing: Any) -> str:
    return str(getattr(thing, "__module__", ""))


def _qualified(thing: Any) -> str:
    return str(getattr(thing, "__qualname__", thing))
