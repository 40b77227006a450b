"""The directory of a campaign.

    data-model.json         the version of what is here
    campaign.json           title, notes, names of labels, numbers of cases and seeds
    runs.parquet runs.csv   the table: a row a run
    runs/ID/                a run each, whole: scenario, environment, result, series, logs
    working/ID/             runs under way; what an interrupted one has left
    traces/                 a copy of each trace of the runs, under its digest
    lock                    held by the process that runs the campaign

Rules:

* A run is under `runs/` if, and only if, it is complete: it is made below `working/` and moved.
  So the campaign's state is which directories are there, and no crash can make it wrong.
* It has a digest of each of its files: one that was changed since is damaged, and done again.
* The table has a row for each planned run from the beginning, and is written again at the end;
  `table.load` completes it from the runs.
* One process at a time writes: it holds a lock that ends with it, however it ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from minitopo_dc.analysis.tables.load import load_result
from minitopo_dc.data_model import DataModelError, NoVersionError, check_version, write_version
from minitopo_dc.errors import InputError
from minitopo_dc.runs.results import RunResult
from minitopo_dc.runs.seal import CHECKSUMS, damage, seal
from minitopo_dc.runs.traces import share_traces

FLOOR_BYTES = 1 << 20
"""With less free space than this, a failed run counts as failed for want of space: one log may be
so long."""


class StoreError(InputError):
    """A campaign's directory that cannot be used as asked; the message says what to do."""


class Store:
    """The directory of a campaign, with its runs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs = root / "runs"
        self.working = root / "working"

    def read(self, identity: str, *, whole: bool = False) -> RunResult | str | None:
        """Return a run's result, the reason why it is damaged, or None when it is not done.

        Args:
            identity: which run.
            whole: check all its files, not the result's alone.
        """
        run = self.runs / identity
        if not run.is_dir() and not run.is_symlink():
            return None
        return self._result(run, None if whole else "result.json")

    def _check_inside(self) -> None:
        """Refuse a link as the directory of runs, as runs are removed and made only inside."""
        if self.runs.is_symlink():
            raise StoreError(f"{self.runs}: a link; allowed: a directory of this campaign's")

    def _result(self, directory: Path, only: str | None = None) -> RunResult | str:
        """Return a run's result, or the reason why it is damaged; `only` is that of `damage`."""
        if directory.is_symlink():
            return "a link, not a run of this campaign's"
        try:
            check_version(directory)
            return damage(directory, only) or load_result(directory)
        except NoVersionError as error:
            return str(error)
        except DataModelError:  # it is not damaged: to do it again would destroy it
            raise
        except (OSError, ValueError) as error:
            return f"malformed run: {error}"

    @contextmanager
    def held(self, take: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold the directory, new or resumed, and remove what was under way.

        Args:
            take: called once the directory is held, before anything is removed.

        Raises:
            StoreError: another process holds it, or it cannot be made or written.
        """
        with reporting_full_disk(self.root):
            with self._usable():
                self._check_inside()
                self.runs.mkdir(parents=True, exist_ok=True)
                lock = self._lock()
            with lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise StoreError(f"{self.root}: another process runs this campaign") from None
                with self._usable():
                    take()
                    shutil.rmtree(self.working, ignore_errors=True)
                    self.working.mkdir()
                    write_version(self.root)
                yield

    def _lock(self) -> TextIO:
        """Open the file that is locked, without following a link or waiting for a pipe."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.fdopen(os.open(self.root / "lock", flags, 0o644), "w")

    def keep(self, directory: Path, result: RunResult) -> RunResult:
        """Move a run that has ended to where it counts; return its result as recorded."""
        final = self.runs / directory.name
        recorded = replace(result, directory=str(final))
        with reporting_full_disk(self.root):
            recorded.save(directory)
            share_traces(directory, self.root)
            seal(directory)
            _flush(directory / "result.json")
            _flush(directory / CHECKSUMS)
            self.forget(directory.name)
            directory.rename(final)
        return recorded

    def forget(self, identity: str) -> None:
        """Remove a run, so that it is done again, or whatever else has its place."""
        run = self.runs / identity
        if run.is_dir() and not run.is_symlink():
            shutil.rmtree(run)
        else:
            run.unlink(missing_ok=True)

    def check_room(self, directory: Path, reason: str) -> None:
        """Raise an error when a run failed for want of disk space, as that is no result.

        Args:
            directory: the failed run's directory.
            reason: the reason of its failure.

        Raises:
            StoreError: the disk is full, or it was when the run failed.
        """
        if disk_was_full(directory, reason) or not _has_room(self.working):
            shutil.rmtree(directory, ignore_errors=True)
            raise full_disk(self.root)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Turn errors of the directory into one message; a full disk is reported elsewhere."""
        try:
            yield
        except OSError as error:
            if error.errno in FULL:
                raise
            raise StoreError(f"{self.root}: {error.strerror}; give another directory") from None


FULL = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a full disk, and of a used-up quota."""


WORDS = tuple(os.strerror(number) for number in FULL)
LOG_END_BYTES = 10_000
"""The size of a log's end, in which a process says why it ended."""


def disk_was_full(directory: Path, reason: str) -> bool:
    """Return whether a process of a failed run reports that it could not write for want of space.

    What it had written may be gone when the run has ended: then there is space again.
    """
    logs = (path for path in directory.rglob("*") if path.suffix in (".log", ".err", ".txt"))
    said = (_end(path) for path in logs if path.is_file())
    return any(words in text for text in (reason, *said) for words in WORDS)


def _end(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_END_BYTES))
        return file.read().decode("utf-8", "replace")


def _has_room(directory: Path) -> bool:
    """Return whether a file can be written.

    The free space that a file system reports need not be this user's (a quota, root's share).
    """
    with tempfile.TemporaryFile(dir=directory) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, FLOOR_BYTES)
        except OSError as error:
            return error.errno not in FULL
    return True


def full_disk(root: Path) -> StoreError:
    """Return the error for a full disk."""
    return StoreError(
        f"{root}: the disk is full; every run that was recorded is kept: "
        "make room, then give the same command again"
    )


@contextmanager
def reporting_full_disk(root: Path) -> Iterator[None]:
    """Turn an OSError for a full disk into the `StoreError` for it."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise full_disk(root) from None
        raise


def _flush(path: Path) -> None:
    """Flush files to the disk before the run counts: a power cut must not leave an empty result."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
