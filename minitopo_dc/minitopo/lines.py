"""The lines of a Minitopo parameter file: `key:value`, `#` comments, repeated keys for a list.

What Minitopo logs and skips is an error here: a line without a colon, an unknown key, a key given
twice that has one value. A value may hold colons; the key ends at the first one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minitopo_dc.errors import did_you_mean
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import text_of

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")
BOOLEANS = {"yes": True, "no": False, "1": True, "0": False, "true": True, "false": False}
MAX_BYTES = 1_000_000
"""The most bytes of a file: Minitopo's have some tens of lines."""


@dataclass(frozen=True, slots=True)
class Line:
    """One `key:value` of a file, with its place there."""

    file: Path
    number: int
    key: str
    value: str

    def says(self, words: str) -> str:
        """Return a message about this line: `file:line: key: words`."""
        return f"{self.file}:{self.number}: {self.key}: {words}"

    def error(self, words: str) -> SettingsError:
        """Return an error that says what is wrong with this line."""
        return SettingsError(self.says(words))


Reader = Callable[[Line, str, str], Any]
"""Returns what a text of a line stands for, the whole value or a part of it; SettingsError: it is
no such text. The last argument is the part's name with a space behind it, for messages; empty: the
text is the whole value."""


def number(least: float, most: float) -> Reader:
    """Return what reads a decimal number within two limits."""
    return _limited(_NUMBER, float, "number", least, most)


def whole(least: int, most: int) -> Reader:
    """Return what reads a whole number within two limits."""
    return _limited(_WHOLE, int, "whole number", least, most)


def _limited(
    form: re.Pattern[str], make: Callable[[str], float], kind: str, least: float, most: float
) -> Reader:
    def read(line: Line, text: str, name: str) -> float:
        allowed = f"allowed: {least:.15g} to {most:.15g}"
        if not form.fullmatch(text):
            raise line.error(f"{name}{text!r} is not a {kind}; {allowed}")
        if not least <= (value := make(text)) <= most:
            raise line.error(f"{name}{text} is out of range; {allowed}")
        return value

    return read


def word(*allowed: str) -> Reader:
    """Return what reads a text that is one of some words."""

    def read(line: Line, text: str, name: str) -> str:
        if text not in allowed:
            raise line.error(f"{name}{text!r}; allowed: {', '.join(allowed)}")
        return text

    return read


def boolean(line: Line, text: str, name: str) -> bool:
    """Return the truth of `yes` or `no`, or of what Minitopo's files write for it."""
    return BOOLEANS[word(*BOOLEANS)(line, text.lower(), name)]


def plain(_line: Line, text: str, _name: str) -> str:
    """Return the text as it is."""
    return text


def fields(line: Line, readers: Mapping[str, Reader], least: int) -> dict[str, Any]:
    """Return the comma-separated parts of a value by name, in this order: at least `least`."""
    parts, names = [part.strip() for part in line.value.split(",")], list(readers)
    form = ",".join(names[:least]) + "".join(f"[,{name}" for name in names[least:])
    form += "]" * (len(names) - least)
    if not least <= len(parts) <= len(names):
        raise line.error(f"{len(parts)} fields; write {form}")
    given = dict(zip(names, parts, strict=False))
    for name, part in given.items():
        if not part:
            raise line.error(f"{name} is empty; write {form}")
    return {name: readers[name](line, part, f"{name} ") for name, part in given.items()}


@dataclass(frozen=True, slots=True)
class ParameterFile:
    """A parameter file as a list of its lines."""

    path: Path
    lines: Sequence[Line]

    @classmethod
    def read(cls, path: Path) -> ParameterFile:
        """Read a file; SettingsError if it cannot be read, or a line has no key or no value."""
        return cls(path, list(_lines(path, text_of(path, MAX_BYTES))))

    def all(self, *beginnings: str) -> list[Line]:
        """Return all lines whose key begins so."""
        return [line for line in self.lines if line.key.startswith(beginnings)]

    def one(self, key: str) -> Line | None:
        """Return the line with this key, or None; raise SettingsError when there are two."""
        lines = [line for line in self.lines if line.key == key]
        if len(lines) > 1:
            raise lines[1].error(f"given twice, first in line {lines[0].number}")
        return lines[0] if lines else None

    def values(
        self, readers: Mapping[str, Reader], lists: Collection[str], kind: str, kinds: Sequence[str]
    ) -> dict[str, Any]:
        """Return the values of the keys that are given and have one each.

        Args:
            readers: what reads each of them.
            lists: keys that may stand several times, or how they begin (`path_`).
            kind: the key that is needed, and tells which others there are.
            kinds: its values.

        Raises:
            SettingsError: a key is unknown or given twice, or its value is wrong.
        """
        beginnings = tuple(name for name in lists if name.endswith("_"))
        for line in self.lines:
            if line.key not in (*readers, *lists) and not line.key.startswith(beginnings):
                known = sorted([*readers, *lists])
                hint = did_you_mean(line.key, known) or f"known: {', '.join(known)}"
                raise line.error(f"unknown key; {hint}")
        given = {key: one for key in readers if (one := self.one(key)) is not None}
        if kind not in given:
            raise SettingsError(f"{self.path}: no {kind}; allowed: {', '.join(kinds)}")
        return {key: readers[key](line, line.value, "") for key, line in given.items()}


def _lines(path: Path, text: str) -> Iterator[Line]:
    for number, content in enumerate(text.split("\n"), start=1):
        stripped = content.strip()
        if not stripped or stripped.startswith("#"):
            continue
        key, colon, value = (part.strip() for part in stripped.partition(":"))
        if not colon:
            raise SettingsError(f"{path}:{number}: {_short(stripped)}: no colon; write key:value")
        if not key:
            raise SettingsError(f"{path}:{number}: no key before the colon; write key:value")
        line = Line(path, number, _short(key), value)
        if not value:
            raise line.error("no value behind the colon; leave the line out for the default")
        yield line


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
