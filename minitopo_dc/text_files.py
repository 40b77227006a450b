"""Every text file of a user's is read here: UTF-8, with a byte order mark or not, up to a size."""

from __future__ import annotations

from pathlib import Path


class TextFileError(ValueError):
    """A file is no text, or too long; the message says which, and not where."""


def read_text(path: Path, most_bytes: int) -> str:
    """What a file holds; of one without an end, such as a device, no more than allowed is read.

    Raises:
        TextFileError: it is longer, or no UTF-8.
        OSError: it cannot be opened or read.
        ValueError: no file can have this name (NUL, half a character).
    """
    with path.open("rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise TextFileError(f"longer than {most_bytes:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TextFileError("not UTF-8 text") from None
