"""The directory of a campaign, whose files are listed in docs/data-model.md.

* A run is under `runs/` if, and only if, it is complete: it is made below `working/` and moved.
  So the campaign's state is which directories are there, and no crash can make it wrong.
* It has a digest of each of its files: one that was changed since is damaged, and done again.
* One process at a time writes: it holds a lock that ends with it, however it ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from minitopo_dc.data_model import DataModelError, NoVersionError, check_version, write_version
from minitopo_dc.errors import InputError
from minitopo_dc.files import FULL, sync
from minitopo_dc.results.files import CHECKSUMS, damage, seal
from minitopo_dc.results.kept_scenario import share_traces
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.tables.runs import load_result

LOCK = "lock"
"""The file that the process that writes has locked."""


class StoreError(InputError):
    """A campaign's directory that cannot be used as asked; the message says what to do."""


class Store:
    """The directory of a campaign with its runs, beside the traces that they share.

    Args:
        root: the directory.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs = root / "runs"
        self.working = root / "working"
        self._lock = root / LOCK

    @property
    def names(self) -> set[str]:
        """Return the identities of the runs that are there, maybe damaged."""
        return {path.name for path in self.runs.glob("*")}

    def read(self, identity: str, *, whole: bool = False) -> RunResult | str | None:
        """Return a run's result, the reason why it is damaged, or None when it is not done.

        Args:
            identity: which run.
            whole: check all its files, not the result's alone.

        Raises:
            DataModelError: this program does not read its version; to do it again would destroy it.
        """
        run = self.runs / identity
        if run.is_symlink():
            return "a link, not a run of this campaign's"
        if not run.is_dir():
            return None
        try:
            check_version(run)
            return damage(run, None if whole else "result.json") or load_result(run)
        except DataModelError as error:
            if not isinstance(error, NoVersionError):
                raise
            return str(error)
        except (OSError, ValueError) as error:
            return f"malformed run: {error}"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the directory, new or resumed, and remove what was under way.

        Raises:
            StoreError: another process holds it, it cannot be made or written, or the disk is full.
        """
        with explained(self.root), ExitStack() as open_files:
            with explained(self.root, "give another directory"):
                if self.runs.is_symlink():  # runs are removed and made there
                    raise StoreError(
                        f"{self.runs}: a link; allowed: a directory of this campaign's"
                    )
                self.runs.mkdir(parents=True, exist_ok=True)
                # Without following a link or waiting for a pipe.
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                lock = open_files.enter_context(os.fdopen(os.open(self._lock, flags, 0o644)))
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise StoreError(f"{self.root}: another process writes there") from None
                shutil.rmtree(self.working, ignore_errors=True)
                self.working.mkdir()
                check_version(self.root)
                write_version(self.root)
            try:
                yield
            finally:
                shutil.rmtree(self.working, ignore_errors=True)

    def finished(
        self, identities: Iterable[str], is_done: Callable[[RunResult], bool]
    ) -> dict[str, RunResult]:
        """Return the runs that stay; remove damaged ones, and those that are not done."""
        results = {}
        for identity in identities:
            result = self.read(identity, whole=True)
            if isinstance(result, RunResult) and is_done(result):
                results[identity] = result
            elif result is not None:
                self.forget(identity)
        return results

    def keep(self, identity: str, result: RunResult) -> RunResult:
        """Move a run that has ended below `working` to where it counts; return its result there.

        Raises:
            StoreError: the disk is full, or it was when the run failed, which then is no result.
        """
        directory, final = self.working / identity, self.runs / identity
        recorded = replace(result, directory=str(final))
        with explained(self.root):
            if result.status == "failed" and self._lacked_room(directory, result.reason):
                shutil.rmtree(directory, ignore_errors=True)
                raise OSError(errno.ENOSPC, "in a run")
            recorded.save(directory)
            share_traces(directory, self.root)
            seal(directory)
            for name in ("result.json", CHECKSUMS):  # before it counts, as power may be cut
                sync(directory / name)
            self.forget(identity)
            directory.rename(final)
        return recorded

    def forget(self, identity: str) -> None:
        """Remove a run, so that it is done again, or whatever else has its place."""
        run = self.runs / identity
        if run.is_dir() and not run.is_symlink():
            shutil.rmtree(run)
        else:
            run.unlink(missing_ok=True)

    def _lacked_room(self, directory: Path, reason: str) -> bool:
        """Return whether a run failed for want of space: it says so, or there is none now.

        What it had written may be gone when it has ended: then there is space again. The free space
        that a file system reports need not be this user's (a quota, root's share).
        """
        texts = [reason]
        for log in directory.rglob("*"):
            if log.suffix in (".log", ".err", ".txt") and log.is_file():
                with log.open("rb") as file:
                    file.seek(max(0, log.stat().st_size - LOG_END_BYTES))
                    texts.append(file.read().decode("utf-8", "replace"))
        if any(words in text for text in texts for words in FULL.values()):
            return True
        with tempfile.TemporaryFile(dir=self.working) as file:
            try:
                os.posix_fallocate(file.fileno(), 0, FLOOR_BYTES)
            except OSError as error:
                return error.errno in FULL
        return False


FLOOR_BYTES = 1 << 20
"""With less free space a failed run counts as failed for want of it: one log may be so long."""
LOG_END_BYTES = 10_000
"""The size of a log's end, in which a process says why it ended."""


@contextmanager
def explained(root: Path, remedy: str | None = None) -> Iterator[None]:
    """Turn an OSError for a full disk into a `StoreError`, with a remedy any other one, too."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise StoreError(
                f"{root}: the disk is full; every run that was recorded is kept: make room, then "
                "give the same command again"
            ) from None
        if remedy is None:
            raise
        where = error.filename2 or error.filename or root
        raise StoreError(f"{where}: {error.strerror}; {remedy}") from None
