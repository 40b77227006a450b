"""The digests of a run's files, which tell whether one was changed since."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from minitopo_dc.files import opened, parse_json, read_text, write_whole
from minitopo_dc.runs.results import MAX_BYTES

CHECKSUMS = "checksums.json"
"""SHA-256 of each other file of a run's directory, in hexadecimal, by its path there; of those
that are no longer than a capture may be."""
MAX_CAPTURE = 4 << 30
"""The most bytes of a capture: 4 GB that were carried; it is read packet by packet, and what
analysis keeps is in memory. A longer file has no digest."""
PART_BYTES = 1 << 16
"""The size of the parts in which a file is read for its digest; most files are one part."""


def seal(directory: Path) -> None:
    """Write the digests of a run's files into its directory."""
    digests = {
        str(path.relative_to(directory)): _digest(directory, path) for path in _files(directory)
    }
    write_whole(directory / CHECKSUMS, json.dumps(digests, indent=1))


def damage(directory: Path, only: str | None = None) -> str | None:
    """Return the first file that was changed since the run was recorded, and why; None without one.

    Args:
        directory: that of a run; one that was recorded without digests counts as whole.
        only: look at this file alone.
    """
    try:
        digests = parse_json(read_text(directory / CHECKSUMS, MAX_BYTES, within=directory))
        named = [(str(name), str(digest)) for name, digest in digests.items()]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        return f"{CHECKSUMS}: {error}"
    for name, digest in named:
        if only is not None and name != only:
            continue
        try:
            if _digest(directory, directory / name) != digest:
                return f"{name}: changed since the run was recorded"
        except (OSError, ValueError) as error:
            return f"{name}: {getattr(error, 'strerror', None) or error}"
    return None


def _files(directory: Path) -> Iterator[Path]:
    """Yield a run's regular files of limited length.

    Opening what else a program left may take for ever.
    """
    for path in sorted(directory.rglob("*")):
        regular = path.is_file() and not path.is_symlink() and path.name != CHECKSUMS
        if regular and path.stat().st_size <= MAX_CAPTURE:
            yield path


def _digest(directory: Path, path: Path) -> str:
    digest = hashlib.sha256()
    with opened(path, MAX_CAPTURE, within=directory) as file:
        while part := file.read(PART_BYTES):
            digest.update(part)
    return digest.hexdigest()
