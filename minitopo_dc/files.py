"""Reading of regular files within a limit, and writing of files that are complete or absent.

Each directory of results (of a run, a comparison or a campaign) says in `data-model.json` which
version of the data model it has. What says none (an element's series, say) is read as this
program's own.
"""

from __future__ import annotations

import csv
import errno
import json
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper, cache, lru_cache, wraps
from importlib.metadata import PackageNotFoundError, version
from io import BufferedReader
from itertools import accumulate
from pathlib import Path
from posix import O_CLOEXEC, O_NOCTTY, O_NONBLOCK, O_RDONLY, close, fstat, fsync, read, strerror
from posix import open as open_file
from posix import stat as stat_of
from posixpath import islink
from typing import Any, Final, Self, TypeVar, cast

from minitopo_dc.errors import InputError, MinitopoDcError

Reader = TypeVar("Reader", bound=Callable[..., Any])
PART_BYTES: Final = 1 << 16
"""The bytes of a file that are read at once."""
FLAGS: Final = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
"""How a file is opened to look at what it is: without waiting for a pipe's other end."""
MAX_DIGITS = 20
"""The most digits of a whole number of 64 bits, with its sign."""


FULL = {number: strerror(number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)}
"""Error numbers of a full disk, of a used-up quota and of a limit of files' size, in words."""
UNMAPPED = "failed to map segment"
"""What the C library says of an extension that finds no memory."""


def shortage(error: BaseException) -> str | None:
    """Return in words what this machine had too little of when an error came; None: of nothing."""
    number = error.errno if isinstance(error, OSError) else None
    is_unmapped = isinstance(error, ImportError) and UNMAPPED in str(error)
    if isinstance(error, MemoryError) or number == errno.ENOMEM or is_unmapped:
        return "this process got no more memory (ulimit -v, a container's limit, or all is used)"
    return f"a file could not be written: {FULL[number]}" if number in FULL else None


@contextmanager
def replacing(path: Path, *, synced: bool = True) -> Iterator[Path]:
    """Open a temporary file for writing, which takes the name `path` only when it is complete.

    Each writer has its own, as several may write the same file of a cache, and nobody may have put
    a link there.

    Args:
        path: the name.
        synced: wait until the content is on the disk; not for a file of a run whose digest is
            checked before the run counts as finished (`results.files.damage`).
    """
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.partial")
    try:
        yield partial
        if synced:
            sync(partial)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


TEMPORARY: Final = re.compile(r"minitopo-dc-(?P<namespace>\d+)-(?P<pid>\d+)-(?P<started>\d+)-")
"""What the names of temporary directories begin with (`scratch`)."""


def sync(path: Path) -> None:
    """Wait until a file is on the disk: a name given before may be all that a power cut leaves.

    One in a temporary directory (`TEMPORARY`) is removed when its process ends: nobody waits.
    """
    if TEMPORARY.search(str(path)):
        return
    with path.open("rb") as file:
        fsync(file.fileno())


def write_whole(path: Path, text: str, *, synced: bool = True) -> None:
    """Write a text file at once: a reader sees all of it or none; `synced` as in `replacing`."""
    with replacing(path, synced=synced) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any, *, synced: bool = True) -> None:
    """Write a value of JSON's types as indented text, as `write_whole` does."""
    try:  # in a tenth of the standard library's time
        from pydantic_core import to_json  # noqa: PLC0415 (who builds a wheel has none)

        text = to_json(value, indent=1).decode()
    except ValueError:  # half a character (a surrogate), which is escaped
        text = json.dumps(value, indent=1)
    write_whole(path, text, synced=synced)


class CsvFile:
    """A CSV file while it is written: `add` takes a row, `add_all` several.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, path: Path, header: Iterable[object], buffering: int = -1) -> None:
        """Begin the file, in place of one that exists; `buffering` is that of `open`."""
        file = path.open("w", buffering, encoding="utf-8", newline="")
        rows = csv.writer(file)
        self.add, self.add_all = rows.writerow, rows.writerows
        self.close = file.close
        self.add(header)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class UnreadableError(MinitopoDcError, ValueError):
    """A file that may not be read here; the message gives the reason without the path."""


def check_size(size: int, limit: int, unit: str = "bytes") -> None:
    """Refuse what would be too large once it is unpacked, before it is.

    Raises:
        UnreadableError: it would be.
    """
    if size > limit:
        raise UnreadableError(f"{size:,} {unit} when unpacked; allowed: up to {limit:,}")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn an error of a file or of its content into an InputError that names the file."""
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


@contextmanager
def opened(path: Path, max_bytes: int, within: Path | None = None) -> Iterator[BufferedReader]:
    """Open a regular file for reading.

    A pipe or a device is refused: a pipe may wait for ever, a device may have no end.

    Args:
        path: the path of the file.
        max_bytes: the most bytes that the file may have.
        within: a directory, out of which no link of the path may lead; None: links may lead
            anywhere.

    Raises:
        UnreadableError: the file is longer, not a regular one, or outside `within`.
        OSError: the file cannot be opened or read.
        ValueError: no file can have this name (NUL, half a character).
    """
    with open(_descriptor(path, max_bytes, within), "rb") as file:
        yield file


def parts(path: Path | str, max_bytes: int, within: Path | None = None) -> Iterator[bytes]:
    """Yield the bytes of a regular file, part by part; arguments and errors are those of `opened`.

    It asks the system for less than a file that is opened: it reads each file of each run.
    """
    descriptor = _descriptor(path, max_bytes, within)
    try:
        while max_bytes and (part := read(descriptor, min(max_bytes, PART_BYTES))):
            yield part
            max_bytes -= len(part)  # of a file that has no size, or grows
    finally:
        close(descriptor)


def _descriptor(path: Path | str, max_bytes: int, within: Path | None) -> int:
    """Open a file; arguments and errors are those of `opened`."""
    if within is not None and not _is_within(path, within):
        raise UnreadableError(f"leads out of {within}; such links are not followed")
    descriptor = open_file(path, FLAGS)
    status = fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size <= max_bytes:
        return descriptor
    close(descriptor)
    if stat.S_ISREG(status.st_mode):
        raise UnreadableError(f"longer than {max_bytes:,} bytes")
    raise UnreadableError("no regular file; allowed are files, no folders, pipes, devices")


def _is_within(path: Path | str, directory: Path) -> bool:
    """Return whether a path leads to a place in a directory, after all links are followed."""
    # In text, as each file of each run asks for it, and paths as objects take most of its time.
    above, text = f"{directory}/", str(path)
    names = text.removeprefix(above).split("/")
    ways = accumulate((above + names[0], *names[1:]), "{}/{}".format)
    if text.startswith(above) and ".." not in names and not any(map(islink, ways)):
        return True
    return Path(path).resolve().is_relative_to(directory.resolve())


def read_bytes(path: Path, max_bytes: int, within: Path | None = None) -> bytes:
    """Return the bytes of a regular file; arguments and errors are those of `opened`."""
    return b"".join(parts(path, max_bytes, within))


def read_text(path: Path, max_bytes: int, within: Path | None = None) -> str:
    """Return the text of a regular file; arguments and errors are those of `opened`.

    Raises:
        UnreadableError: the file is not UTF-8, or for a reason of `opened`.
    """
    try:
        return read_bytes(path, max_bytes, within).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableError("not UTF-8 text") from None


def parse_json(text: str) -> Any:
    """Return the value of a JSON text, restricted to 64-bit numbers and valid Unicode.

    Tables of results can hold nothing else.

    Raises:
        ValueError: the text is no JSON, is nested too deeply, or has other numbers or characters.
    """

    def of_64_bits(digits: str) -> int:
        if len(digits) > MAX_DIGITS or not -(2**63) <= int(digits) < 2**63:
            raise ValueError(f"{digits[:MAX_DIGITS]}: not within 64 bits")
        return int(digits)

    try:
        value = json.loads(text, parse_int=of_64_bits)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("half a character (a surrogate) in a text") from None
    return value


_CACHES: Final[list[_lru_cache_wrapper[Any]]] = []


def once_a_version(most: int, name: str = "") -> Callable[[Reader], Reader]:
    """Return a decorator: what a function reads by a path is kept until the file is another one.

    Args:
        most: the number of values that are kept.
        name: that of the file in the directory that the path is; empty: the path is the file.
    """

    def decorate(read: Reader) -> Reader:
        @lru_cache(most)
        def kept(_version: tuple[int, ...], path: Path, *args: Any) -> Any:
            return read(path, *args)

        _CACHES.append(kept)

        @wraps(read)
        def reading(path: Path, *args: Any) -> Any:
            try:
                status = stat_of(f"{path}/{name}" if name else path)
            except (OSError, ValueError):  # the reading says why
                return read(path, *args)
            return kept((status.st_ino, status.st_size, status.st_mtime_ns), path, *args)

        return cast(Reader, reading)

    return decorate


def forget_runs() -> None:
    """Forget what was read of runs, as their files are removed."""
    for cached in _CACHES:
        cached.cache_clear()


VERSION_FILE: Final = "data-model.json"
DATA_MODEL: Final = 3
"""The version that this program writes and reads."""
MAX_VERSION_BYTES: Final = 4096
KNOWN_VERSIONS: Final = 10_000
"""The number of directories that are known to have the version."""


class DataModelError(InputError):
    """A results directory of another version; the message says what to do."""


def write_version(directory: Path) -> None:
    """Write into a directory which version its results have, and which release made them.

    Raises:
        OSError: the file cannot be written.
    """
    made = {"data_model": DATA_MODEL, "minitopo_dc": _program()}
    write_json(directory / VERSION_FILE, made, synced=False)


@once_a_version(KNOWN_VERSIONS, VERSION_FILE)
def check_version(directory: Path) -> None:
    """Refuse a directory whose results have another version.

    Raises:
        DataModelError: they have.
        InputError: the file that says so is damaged.
    """
    path = directory / VERSION_FILE
    try:
        made = parse_json(read_text(path, MAX_VERSION_BYTES, within=directory))
        number = made["data_model"]
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise ValueError(f"data_model: {number!r:.40}; allowed: {DATA_MODEL}")
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise InputError(f"{path}: leads to no file") from None
        return
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: says no version of the data model: {why}") from None
    if number != DATA_MODEL:
        raise DataModelError(
            f"{directory}: version {number} of the data model; this program reads {DATA_MODEL}. "
            f"Read it with the minitopo-dc that made it "
            f"({made.get('minitopo_dc', 'unknown')!s:.40})"
        )


@cache
def _program() -> str:
    try:
        return version("minitopo-dc")
    except PackageNotFoundError:  # a checkout that is not installed
        return "not installed"
