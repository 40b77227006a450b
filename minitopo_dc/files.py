"""Text files: a user's are read within a limit, ours are whole or not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minitopo_dc.errors import MinitopoDcError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a file to write that takes the name `path` when, and only when, it is complete."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file at once: a reader sees all of it or none."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


class TextFileError(MinitopoDcError, ValueError):
    """A file is no text, or too long; the message says which, and not where."""


def read_text(path: Path, most_bytes: int) -> str:
    """Return what a regular file holds.

    A pipe or a device is not opened for reading: one waits for ever, the other has no end.

    Raises:
        TextFileError: it is longer, no UTF-8, or no regular file.
        OSError: it cannot be opened or read.
        ValueError: no file can have this name (NUL, half a character).
    """
    if path.exists() and not path.is_file():
        raise TextFileError("no regular file; allowed are files, no folders, pipes or devices")
    with path.open("rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise TextFileError(f"longer than {most_bytes:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TextFileError("not UTF-8 text") from None
