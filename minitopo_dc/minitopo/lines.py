"""The lines of a Minitopo parameter file: `key:value`, `#` comments, repeated keys for a list.

What Minitopo logs and skips is an error here: a line without a colon, an unknown key, a key given
twice that has one value. A value may hold colons; the key ends at the first one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from minitopo_dc.errors import did_you_mean
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.files import read_text

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")
BOOLEANS = {"yes": True, "no": False, "1": True, "0": False, "true": True, "false": False}


def fields(line: Line, names: Sequence[str], least: int) -> list[str]:
    """Return the comma-separated parts of a value: at least `least` of `names`, in their order."""
    parts = [part.strip() for part in line.value.split(",")]
    form = ",".join(names[:least]) + "".join(f"[,{name}" for name in names[least:])
    form += "]" * (len(names) - least)
    if not least <= len(parts) <= len(names):
        raise line.error(f"{len(parts)} fields; write {form}")
    for name, part in zip(names, parts, strict=False):
        if not part:
            raise line.error(f"{name} is empty; write {form}")
    return parts


def number(line: Line, text: str, name: str, least: float, most: float) -> float:
    """Return the decimal number of a text; SettingsError if it is none, or outside the limits."""
    if not _NUMBER.fullmatch(text):
        raise line.error(f"{name} {text!r} is not a number; allowed: {least:g} to {most:g}")
    value = float(text)
    if not math.isfinite(value) or not least <= value <= most:
        raise line.error(f"{name} {text} is out of range; allowed: {least:g} to {most:g}")
    return value


def whole(line: Line, text: str, name: str, least: int, most: int) -> int:
    """Return the whole number of a text; SettingsError if it is none, or outside the limits."""
    if not _WHOLE.fullmatch(text):
        raise line.error(f"{name} {text!r} is not a whole number; allowed: {least} to {most}")
    value = int(text)
    if not least <= value <= most:
        raise line.error(f"{name} {text} is out of range; allowed: {least} to {most}")
    return value


def word(line: Line, text: str, name: str, allowed: Sequence[str]) -> str:
    """Return a text that is one of a list of words; SettingsError if it is none."""
    if text not in allowed:
        raise line.error(f"{name} {text!r}; allowed: {', '.join(allowed)}")
    return text


def boolean(line: Line) -> bool:
    """Return the value of `yes` or `no`, or of what Minitopo's files write for it."""
    return BOOLEANS[word(line, line.value.lower(), "value", tuple(BOOLEANS))]


def file(line: Line, text: str) -> Path:
    """Return the absolute path of a file that is named relative to the parameter file."""
    if "\0" in text:
        raise line.error("a file name has no NUL character")
    return (line.file.parent / text).resolve()


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


@dataclass(frozen=True, slots=True)
class ParameterFile:
    """A parameter file as a list of its lines."""

    path: Path
    lines: Sequence[Line]

    @classmethod
    def read(cls, path: Path) -> ParameterFile:
        """Read a file; SettingsError if it cannot be read, or a line has no key or no value."""
        try:
            text = read_text(path, MAX_BYTES)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise SettingsError(f"{quoted(path)}: {why}") from None
        return cls(path, list(_lines(path, text)))

    def all(self, key: str) -> list[Line]:
        """Return all lines with this key."""
        return [line for line in self.lines if line.key == key]

    def one(self, key: str) -> Line | None:
        """Return the line with this key, or None; raise SettingsError when there are two."""
        lines = self.all(key)
        if len(lines) > 1:
            raise lines[1].error(f"given twice, first in line {lines[0].number}")
        return lines[0] if lines else None

    def number(self, key: str, least: float, most: float) -> float | None:
        """Return the number of a key, or None."""
        line = self.one(key)
        return None if line is None else number(line, line.value, key, least, most)

    def whole(self, key: str, least: int, most: int) -> int | None:
        """Return the whole number of a key, or None."""
        line = self.one(key)
        return None if line is None else whole(line, line.value, key, least, most)

    def boolean(self, key: str) -> bool | None:
        """Return the truth value of a key, or None."""
        line = self.one(key)
        return None if line is None else boolean(line)

    def needed(self, key: str, allowed: Collection[str]) -> Line:
        """Return the line with this key; raise SettingsError when it is missing."""
        line = self.one(key)
        if line is None:
            raise SettingsError(f"{self.path}: no {key}; allowed: {', '.join(allowed)}")
        return line

    def check_keys(self, names: Collection[str], prefixes: Collection[str] = ()) -> None:
        """Refuse the first line whose key is none of `names` and begins with no prefix."""
        for line in self.lines:
            if line.key not in names and not line.key.startswith(tuple(prefixes)):
                known = sorted([*names, *prefixes])
                hint = did_you_mean(line.key, known) or f"known: {', '.join(known)}"
                raise line.error(f"unknown key; {hint}")


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
