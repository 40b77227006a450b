"""aioquic 0.8.7 beside the installed aioquic: where it is, how to get it, and how it is imported.

Only its Python files are taken, as a package of another name. What it has in C (buffers, packet
protection) is the installed aioquic's, which has the same interface: nothing is compiled.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from minitopo_dc.extension import NotBuiltError, build_directory, find_file, put
from minitopo_dc.extension.make import (
    LOCK,
    SCRATCH,
    SourceDistribution,
    build_lock,
    remove_others,
)

NAME = "aioquic-2020"
"""Of its folder in the cache, and what `minitopo-dc build` is told."""
PACKAGE = "aioquic_2020"
VERSION = "0.8.7"
SOURCE = SourceDistribution(
    requirement=f"aioquic=={VERSION}",
    sha256="86dff490dd2f9bb86e2e2def9fe84cc0c380e56d83eafd4eb56762a0ad037da2",
    title="aioquic's",
)
"""Of 15 April 2020. The thesis' qlog is of 16 March 2020 (listing A.1); its protocol code (`quic/`)
is that of 0.8.6, of 22 February 2020, to the byte."""
REPLACED = {
    "_buffer.py": "from aioquic._buffer import Buffer, BufferReadError, BufferWriteError\n",
    "_crypto.py": "from aioquic._crypto import AEAD, CryptoError, HeaderProtection\n",
}
"""Modules that stand for what it has in C."""
MENDED = {
    "quic/stream.py": (
        "            frame.offset -= pos\n            pos = 0\n",
        "            frame.offset -= pos\n            pos, count = 0, len(frame.data)\n",
    )
}
"""A piece of each file, and what takes its place. A frame that is partly a duplicate cut bytes out
of what had arrived behind it, so that content was lost. Packets and their times stay the same."""


def obstacle() -> str | None:
    """Return why it cannot be used here and what to do, None when it can."""
    if _place() is None:
        return f"aioquic {VERSION} is not here (get it: minitopo-dc build {NAME})"
    return None


@functools.cache
def module(name: str) -> ModuleType:
    """Return one of its modules, e.g. `quic.connection`.

    Raises:
        NotBuiltError: it is not here.
    """
    place = _place()
    if place is None:
        raise NotBuiltError(obstacle())
    folder = str(place.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(f"{PACKAGE}.{name}")


def build(say: Callable[[str], None]) -> Path:
    """Get it unless it is here; return the folder of the package.

    Args:
        say: told what is done next, a line each.

    Raises:
        BuildError: the sources cannot be had.
    """
    found = _place()
    if found is not None:
        return found
    with build_lock(build_directory(NAME)) as cache:
        target = cache / _folder() / PACKAGE
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=cache) as scratch:
            made = _rewritten(SOURCE.unpack(SOURCE.fetch(cache, say), Path(scratch)))
            put(made, target)
        remove_others(cache, {target.parent, cache / LOCK, cache / SOURCE.archive})
        return target


def _place() -> Path | None:
    return find_file(NAME, f"{_folder()}/{PACKAGE}")


def _folder() -> str:
    """Return the name of the folder in the cache, which follows from all that is put into it."""
    return hashlib.sha256(f"{SOURCE.sha256} {REPLACED} {MENDED}".encode()).hexdigest()[:16]


def _rewritten(unpacked: Path) -> Path:
    """Return the package with its own name in its imports, without C, and mended."""
    package = unpacked / "src" / "aioquic"
    for file in package.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("from aioquic.", f"from {PACKAGE}."), encoding="utf-8")
    for name, text in REPLACED.items():
        (package / name).write_text(text, encoding="utf-8")
    for name, (piece, mended) in MENDED.items():
        text = (package / name).read_text(encoding="utf-8")
        (package / name).write_text(text.replace(piece, mended), encoding="utf-8")
    return package
