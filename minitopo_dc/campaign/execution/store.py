"""The directory of a campaign.

    data-model.json               the version of what is here
    plan.json                     cells, and which runs they need
    runs/ID/                      a run each, whole: scenario, environment, result, series, logs
    working/ID/                   runs under way; what an interrupted one has left
    traces/                       a copy of each trace of the runs, under its digest
    results.csv results.parquet   one row per run

Rules:

* A run is under `runs/` if, and only if, it is complete: it is made below `working/` and moved.
  So the campaign's state is which directories are there, and no crash can make it wrong.
* It has a digest of each of its files: one that was changed since is damaged, and done again.
* The tables are made of the runs, whenever a command ends or asks for them.
* One process at a time writes: it holds a lock that ends with it, however it ends.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO, get_args

from minitopo_dc.analysis.tables.labels import MAX_PLAN, PLAN
from minitopo_dc.analysis.tables.load import load_result
from minitopo_dc.analysis.tables.run_files import MAX_CAPTURE
from minitopo_dc.campaign.file.plan import Plan
from minitopo_dc.data_model import DataModelError, NoVersionError, check_version, write_version
from minitopo_dc.errors import InputError
from minitopo_dc.files import opened, parse_json, read_text, replacing, write_whole
from minitopo_dc.run.results import MAX_BYTES, RunResult, Status
from minitopo_dc.run.traces import share_traces
from minitopo_dc.settings import SettingsError

CHECKSUMS = "checksums.json"
"""SHA-256 of each other file of a run's directory, in hexadecimal, by its path there; of those
that are no longer than a capture may be."""
CONDENSED = "condensed.yaml"
"""The file that a condensed result has in place of a plan (`campaign.condensed`)."""
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


FLOOR_BYTES = 1 << 20
"""With less free space than this, a failed run counts as failed for want of space: one log may be
so long."""


class StoreError(InputError):
    """A campaign's directory that cannot be used as asked; the message says what to do."""


class Store:
    """The directory of a campaign, with its plan and its runs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs = root / "runs"
        self.working = root / "working"
        self._plan = root / PLAN

    def plan(self) -> Plan:
        """Return the plan that the directory keeps, without the runs' scenarios.

        Raises:
            StoreError, SettingsError: there is no campaign here, or its plan is broken.
            DataModelError: it has a version of the data model that this program does not read.
        """
        self._check_inside()
        check_version(self.root)
        try:
            text = read_text(self._plan, MAX_PLAN, within=self.root)
            return Plan.from_json(text, str(self._plan))
        except SettingsError:
            raise
        except OSError as error:
            raise StoreError(f"{self._plan}: {error.strerror}; no campaign was run here") from None
        except ValueError as error:
            raise StoreError(f"{self._plan}: {error}") from None

    def done(self) -> dict[str, RunResult]:
        """Return the results of the runs that are complete, by identity.

        A file beside the runs' directories, and a run with a damaged result (`damaged`), are left
        out.
        """
        directories = self._directories()
        results = ((each.name, self._result(each, only="result.json")) for each in directories)
        return {name: result for name, result in results if isinstance(result, RunResult)}

    def damaged(self) -> dict[str, str]:
        """Return why runs are damaged, by identity; it reads all files of all runs."""
        found = {}
        for directory in self._directories():
            result = self._result(directory)
            if isinstance(result, str):
                found[directory.name] = result
        return found

    def _check_inside(self) -> None:
        """Refuse a link as the directory of runs, as runs are removed and made only inside.

        A condensed result is refused, too.
        """
        if (self.root / CONDENSED).is_file():
            raise StoreError(
                f"{self.root}: a condensed result, which has no runs to be shown or resumed; "
                "`minitopo-dc campaign papers` reads it"
            )
        if self.runs.is_symlink():
            raise StoreError(f"{self.runs}: a link; allowed: a directory of this campaign's")

    def _directories(self) -> list[Path]:
        return sorted(each for each in self.runs.glob("*") if each.is_dir())

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

    @property
    def is_writable(self) -> bool:
        """Return whether tables can be written here.

        They cannot where the directory is another user's, or read-only.
        """
        return os.access(self.root, os.W_OK)

    @contextmanager
    def open(self, plan: Plan) -> Iterator[None]:
        """Hold the directory for a plan, new or resumed; remove what was under way.

        Raises:
            StoreError: another process holds it, it holds another campaign, it cannot be made, or
                the plan has no runs, as it is one that a directory kept.
        """
        if plan.cells and not plan.runs:
            raise StoreError(f"{self.root}: its plan has no scenarios to run; give the file's plan")
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
                    self._take(plan)
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

    def _take(self, plan: Plan) -> None:
        """Make the directory one of this campaign, or extend its plan to more of the campaign."""
        if self._plan.exists():
            kept = {directory.name for directory in self.runs.iterdir()}
            missing = kept & set(self.plan().needed_by) - set(plan.needed_by)
            if missing:
                raise StoreError(
                    f"{self.root}: holds another campaign, or other options of this one "
                    f"({len(missing)} of its runs are not in this one); give another directory"
                )
        shutil.rmtree(self.working, ignore_errors=True)
        self.working.mkdir()
        write_version(self.root)
        with replacing(self._plan) as partial:
            partial.write_text(plan.to_json(), encoding="utf-8")


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


def describe_status(done: dict[str, RunResult], plan: Plan) -> dict[str, Any]:
    """Return the numbers of runs: planned, of each status, and missing."""
    wanted = plan.needed_by
    states = [done[run].status for run in wanted if run in done]
    counts = {status: states.count(status) for status in get_args(Status)}
    return {"runs": len(wanted), **counts, "missing": len(wanted) - len(states)}
