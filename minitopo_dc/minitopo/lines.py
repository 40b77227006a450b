"""The lines of a Minitopo parameter file: `key:value`, `#` comments, repeated keys = a list.

What Minitopo logs and skips is an error here: a line without a colon, an unknown key, a key given
twice that has one value. A value may hold colons; the key ends at the first one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from minitopo_dc.settings import SettingsError
from minitopo_dc.settings.base import quoted
from minitopo_dc.text_files import read_text

MOST_BYTES = 1_000_000
"""Of a file: Minitopo's have some tens of lines."""


class ParameterError(SettingsError):
    """A parameter file is wrong; the message names the file, the line and what is allowed."""


@dataclass(frozen=True, slots=True)
class Line:
    """One `key:value`, and where it stands."""

    file: Path
    number: int
    key: str
    value: str

    def says(self, words: str) -> str:
        """`file:line: key: words`."""
        return f"{self.file}:{self.number}: {self.key}: {words}"

    def error(self, words: str) -> ParameterError:
        """What is wrong with this line."""
        return ParameterError(self.says(words))


class ParameterFile:
    """All lines of one file."""

    def __init__(self, path: Path, lines: Sequence[Line]) -> None:
        self.path = path
        self.lines = lines

    @classmethod
    def read(cls, path: Path) -> ParameterFile:
        """Read a file. ParameterError when it cannot be read, or a line has no key or no value."""
        try:
            text = read_text(path, MOST_BYTES)
        except OSError as error:
            raise ParameterError(f"{quoted(path)}: {error.strerror}") from None
        except ValueError as error:
            raise ParameterError(f"{quoted(path)}: {error}") from None
        return cls(path, list(_lines(path, text)))

    def all(self, key: str) -> list[Line]:
        """The lines with this key."""
        return [line for line in self.lines if line.key == key]

    def one(self, key: str) -> Line | None:
        """The line with this key, if there is one; ParameterError when there are two."""
        found = self.all(key)
        if len(found) > 1:
            raise found[1].error(f"given twice, first in line {found[0].number}")
        return found[0] if found else None

    def needed(self, key: str, allowed: Collection[str]) -> Line:
        """The line with this key, which has to be there."""
        found = self.one(key)
        if found is None:
            raise ParameterError(f"{self.path}: no {key}; allowed: {', '.join(allowed)}")
        return found

    def check_keys(self, names: Collection[str], prefixes: Collection[str] = ()) -> None:
        """Refuse the first line whose key is none of `names` and begins with no prefix."""
        for line in self.lines:
            if line.key not in names and not line.key.startswith(tuple(prefixes)):
                raise line.error(f"unknown key{_alternatives(line.key, [*names, *prefixes])}")


def _lines(path: Path, text: str) -> Iterator[Line]:
    for number, content in enumerate(text.split("\n"), start=1):
        stripped = content.strip()
        if not stripped or stripped.startswith("#"):
            continue
        key, colon, value = (part.strip() for part in stripped.partition(":"))
        if not colon:
            raise ParameterError(f"{path}:{number}: {_short(stripped)}: no colon; write key:value")
        if not key:
            raise ParameterError(f"{path}:{number}: no key before the colon; write key:value")
        line = Line(path, number, _short(key), value)
        if not value:
            raise line.error("no value behind the colon; leave the line out for the default")
        yield line


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _alternatives(key: str, known: Collection[str]) -> str:
    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(key.lower(), by_lower, n=3, cutoff=0.6)
    if close:
        return f"; did you mean {' or '.join(by_lower[each] for each in close)}?"
    return f"; known: {', '.join(sorted(known))}"
