"""What tells a run that was damaged since it was recorded: a digest of each of its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from minitopo_dc.whole_files import write_whole

NAME = "checksums.json"
"""SHA-256 of each other file of a run's directory, in hexadecimal, by its path there."""


def seal(directory: Path) -> None:
    """Write down what the files of a run are."""
    digests = {str(path.relative_to(directory)): _digest(path) for path in _files(directory)}
    write_whole(directory / NAME, json.dumps(digests, indent=1))


def damage(directory: Path, only: str | None = None) -> str | None:
    """The first file that is not as it was, and why; None when all are, or nothing is known of it.

    Args:
        directory: of a run; one that was recorded without digests is taken for whole.
        only: look at this file alone.
    """
    try:
        digests = json.loads((directory / NAME).read_text(encoding="utf-8"))
        named = [(str(name), str(digest)) for name, digest in digests.items()]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        return f"{NAME}: {error}"
    for name, digest in named:
        if only is not None and name != only:
            continue
        try:
            if _digest(directory / name) != digest:
                return f"{name}: changed since the run was recorded"
        except (OSError, ValueError) as error:
            return f"{name}: {getattr(error, 'strerror', None) or error}"
    return None


def _files(directory: Path) -> Iterator[Path]:
    """Regular files: to open what else a program left may take for ever."""
    for path in sorted(directory.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.name != NAME:
            yield path


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
