"""C code of this project as an extension of Python: sources, place, and how it is loaded."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import shutil
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.files import sync, write_whole
from minitopo_dc.installation import checkout

CACHE_HOME = "XDG_CACHE_HOME"
NO_HOME = Path("/nonexistent")
"""Stands for the home of a user who has none, as in Debian's /etc/passwd."""


class NotBuiltError(MinitopoDcError, RuntimeError):
    """Error: the extension is not here; the text says how to get it."""


@dataclass(frozen=True)
class Extension:
    """One extension of Python that is compiled on this machine.

    Attributes:
        name: of its folder in the cache, and what `minitopo-dc build` is told.
        module: its name as a Python module.
        title: what a message calls it.
        folder: where its own code is.
        made_of: files below `folder` that change it.
        salt: what else does.
    """

    name: str
    module: str
    title: str
    folder: Path
    made_of: tuple[str, ...]
    salt: str = ""

    @property
    def command(self) -> str:
        """Return the command that makes it."""
        return f"minitopo-dc build {self.name}"

    def build_directory(self) -> Path:
        """Return the directory where it is to be."""
        return build_directory(self.name)

    def find(self) -> Path | None:
        """Return its file, in a cache or else in the installed package; None: it is in none."""
        name = self.file_name()
        installed = self.folder / name  # pip has checked it
        return find_file(self.name, name) or (installed if installed.exists() else None)

    def file_name(self) -> str:
        """Return its file's name, which changes with its sources and with the Python it is for."""
        parts = [
            f"{self.salt}{DIGEST}".encode(),
            *((self.folder / name).read_bytes() for name in self.made_of),
        ]
        digest = hashlib.sha256(b"".join(parts)).hexdigest()[:16]
        return f"{digest}/{self.module}{sysconfig.get_config_var('EXT_SUFFIX')}"

    def obstacle(self) -> str | None:
        """Return why it cannot be used here and what to do, None when it can."""
        if self in _LOADED or self.find():
            return None
        return f"{self.title} is {absence(self.name, self.file_name())} (get it: {self.command})"

    def load(self, path: Path | None = None) -> Any:
        """Return the extension, loaded once, with `ffi` and `lib` of cffi.

        Args:
            path: another build of it than the one of its sources.

        Raises:
            NotBuiltError: it is not here, or cannot be loaded.
        """
        if self in _LOADED:
            return _LOADED[self]
        path = path or self.find()
        if path is None:
            raise NotBuiltError(self.obstacle())
        spec = importlib.util.spec_from_file_location(self.module, path)
        if spec is None or spec.loader is None:
            raise NotBuiltError(f"{path} is no extension of this Python")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except ImportError as error:  # the system's OpenSSL is another one now, for example
            raise NotBuiltError(f"{path}: {error} (get it anew: {self.command})") from error
        _LOADED[self] = module
        return module


_LOADED: dict[Extension, Any] = {}
"""What this process has loaded, whatever becomes of its file and its sources afterwards."""


def build_directory(name: str) -> Path:
    """Return where a thing is to be: in a writable checkout its `.cache`, else the user's."""
    root = checkout()
    if root is not None:
        own = _of_checkout(root, name)
        existing = next(path for path in (own, *own.parents) if path.exists())
        if os.access(existing, os.W_OK):
            return own
    return _of_user(name)


DIGEST = ".sha256"
"""Added to the name of what was built: the file beside it with its digest in hexadecimal."""


def put(made: Path, target: Path) -> None:
    """Move what was built to its place, its digest first, when both are on the disk."""
    for file in _files(made):
        sync(file)
    target.parent.mkdir(exist_ok=True)
    write_whole(digest_file(target), digest_of(made))
    if target.is_dir():
        shutil.rmtree(target)
    made.replace(target)


def is_intact(built: Path) -> bool:
    """Return whether a file or folder is what was built: a power cut or a disk may damage it."""
    try:
        return digest_file(built).read_text(encoding="ascii") == digest_of(built)
    except (OSError, ValueError):
        return False


def digest_file(built: Path) -> Path:
    """Return the path of the digest of what was built."""
    return built.with_name(built.name + DIGEST)


def digest_of(built: Path) -> str:
    """Return the digest of a file, or of a folder's files, in hexadecimal.

    It is computed once until the file changes.

    Raises:
        OSError: it cannot be read.
    """
    facts = built.stat()
    return _digest_of(built, facts.st_mtime_ns, facts.st_size)


@functools.cache
def _digest_of(built: Path, _changed_ns: int, _size: int) -> str:
    digest = hashlib.sha256()
    for file in _files(built):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _files(built: Path) -> list[Path]:
    inside = (file for file in built.rglob("*") if file.is_file() and file.suffix != ".pyc")
    return [built] if built.is_file() else sorted(inside)


def find_file(name: str, file: str, check: Callable[[Path], bool] = is_intact) -> Path | None:
    """Return a file or folder of a thing, also in another user's checkout; None: no intact one.

    Args:
        name: of the thing.
        file: its path in the thing's folder of a cache.
        check: says whether it is intact.
    """
    return next(filter(check, _existing(name, file)), None)


def absence(name: str, file: str) -> str:
    """Return why `find_file` has no file of a thing: `not built`, or `damaged`."""
    return "damaged" if any(_existing(name, file)) else "not built"


def _existing(name: str, file: str) -> Iterator[Path]:
    root = checkout()
    others = [] if root is None else [_of_checkout(root, name)]
    places = [build_directory(name), _of_user(name), *others]
    return (place / file for place in places if (place / file).exists())


def _of_checkout(root: Path, name: str) -> Path:
    return root / ".cache" / name


def _of_user(name: str) -> Path:
    try:
        home = Path.home()
    except RuntimeError:  # a container may run as a user whom it does not know
        home = NO_HOME
    return Path(os.environ.get(CACHE_HOME) or home / ".cache", "minitopo-dc", name)
