"""The directory of a campaign and its one table of runs (docs/data-model.md lists the files).

* A run is under `runs/` if, and only if, it is complete: it is made below `working/` and moved.
  So the campaign's state is which directories are there, and no crash can make it wrong.
* It has a digest of each of its files: one that was changed since is damaged, and done again.
* One process at a time writes: it holds a lock that ends with it, however it ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

import pandas as pd

from minitopo_dc import files
from minitopo_dc.errors import InputError
from minitopo_dc.fields import Settings
from minitopo_dc.fields.base import quoted
from minitopo_dc.results.files import ResultError, damage, seal
from minitopo_dc.results.kept_scenario import share_traces
from minitopo_dc.results.run_result import MAX_BYTES, SIZE, RunResult
from minitopo_dc.results.tables.runs import (
    differing_labels,
    load_result,
    read_result,
    uniform_column,
)

LOCK = "lock"
"""The file that the process that writes has locked."""


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
            files.check_version(run)
            return damage(run, None if whole else "result.json") or read_result(run)
        except files.DataModelError:
            raise
        except (OSError, ValueError) as error:
            return f"malformed run: {error}"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the directory, new or resumed, and remove what was under way.

        Raises:
            InputError: another process holds it, it cannot be made or written, or the disk is full.
        """
        with explained(self.root), ExitStack() as open_files:
            with explained(self.root, "give another directory"):
                if self.runs.is_symlink():  # runs are removed and made there
                    raise InputError(
                        f"{self.runs}: a link; allowed: a directory of this campaign's"
                    )
                self.runs.mkdir(parents=True, exist_ok=True)
                # Without following a link or waiting for a pipe.
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                lock = open_files.enter_context(os.fdopen(os.open(self._lock, flags, 0o644)))
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise InputError(f"{self.root}: another process writes there") from None
                shutil.rmtree(self.working, ignore_errors=True)
                self.working.mkdir()
                files.check_version(self.root)
                files.write_version(self.root)
            try:
                yield
            finally:
                shutil.rmtree(self.working, ignore_errors=True)

    def finished(
        self, identities: Iterable[str], is_done: Callable[[RunResult], bool]
    ) -> dict[str, Row]:
        """Return the rows of runs that stay; remove damaged ones, and those that are not done."""
        rows = {}
        for identity in identities:
            result = self.read(identity, whole=True)
            if isinstance(result, RunResult) and is_done(result):
                rows[identity] = row_of(result)
            elif result is not None:
                self.forget(identity)
        return rows

    def keep(self, identity: str, result: RunResult) -> RunResult:
        """Move a run that has ended below `working` to where it counts; return its result there.

        Raises:
            InputError: the disk is full, or it was when the run failed, which then is no result.
        """
        directory, final = self.working / identity, self.runs / identity
        recorded = replace(result, directory=str(final))
        with explained(self.root):
            if result.status == "failed" and self._lacked_room(directory, result.reason):
                shutil.rmtree(directory, ignore_errors=True)
                raise OSError(errno.ENOSPC, "in a run")
            recorded.save(directory, synced=False)
            share_traces(directory, self.root)
            seal(directory)  # digests are on the disk before the run counts: power may go
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
        if any(words in text for text in texts for words in files.FULL.values()):
            return True
        with tempfile.TemporaryFile(dir=self.working) as file:
            try:
                os.posix_fallocate(file.fileno(), 0, FLOOR_BYTES)
            except OSError as error:
                return error.errno in files.FULL
        return False


FLOOR_BYTES = 1 << 20
"""With less free space a failed run counts as failed for want of it: one log may be so long."""
LOG_END_BYTES = 10_000
"""The size of a log's end, in which a process says why it ended."""


@contextmanager
def explained(root: Path, remedy: str | None = None) -> Iterator[None]:
    """Turn an OSError for a full disk into an InputError, with a remedy any other one, too."""
    try:
        yield
    except OSError as error:
        if error.errno in files.FULL:
            raise InputError(
                f"{root}: the disk is full; every run that was recorded is kept: make room, then "
                "give the same command again"
            ) from None
        if remedy is None:
            raise
        where = error.filename2 or error.filename or root
        raise InputError(f"{where}: {error.strerror}; {remedy}") from None


TABLE, TEXT_TABLE, FACTS = "runs.parquet", "runs.csv", "campaign.json"
RESERVED: Final = ("seed", "status", "reason", "run")
"""Columns of every table that are neither labels nor measures."""
MAX_TABLE = 1 << 30
"""The most bytes of a table, packed or not: 1,000,000 runs of 1 kB."""
MAX_VALUES = 10_000_000
"""The most values of a table: 200,000 runs with 50 columns, as objects some 1 GB."""
_RUN = re.compile(r"runs/([0-9a-f]{16})")
Row = dict[str, Any]


class NoResultsError(ResultError):
    """A directory in which there are no results."""


class Facts(Settings):
    """What a campaign's directory says beside its table."""

    title: str
    notes: str
    labels: list[str]
    """Names of the labels, in order."""
    cases: int
    seeds: list[int]
    version: str
    """`full`, `quick` or `sample`."""


MISSING: Final[Row] = {"status": "missing", "reason": ""}


def row_of(result: RunResult) -> Row:
    """Return what a table has of a run; one that is not ok has no measures."""
    size = {SIZE: result.size_bytes} if result.status == "ok" else {}
    return {"status": result.status, "reason": result.reason, **size, **result.measures}


def make_table(
    rows: Sequence[Mapping[str, Any]], labels: Sequence[str], measures: Sequence[str], place: Path
) -> pd.DataFrame:
    """Return a table of rows in the order of its columns: labels, seed, status, reason, measures.

    Args:
        rows: the runs'.
        labels: names of the columns that are labels, also in `attrs["labels"]`.
        measures: columns that the table has in any case.
        place: the campaign's directory, in `attrs["directory"]`.
    """
    table = pd.DataFrame(rows)
    others = [name for name in map(str, table) if name not in {*labels, *RESERVED, *measures}]
    numbers = [*measures, *sorted(others)]
    table = table.reindex(columns=[*labels, *RESERVED[:-1], *numbers, RESERVED[-1]])
    table[numbers] = table[numbers].astype(float)
    table.attrs = {"labels": list(labels), "directory": str(place)}
    return table


def save(table: pd.DataFrame, facts: Facts, directory: Path) -> None:
    """Write `campaign.json`, `runs.parquet` and `runs.csv`, each at once.

    Raises:
        OSError: one of them cannot be written.
    """
    files.write_whole(directory / FACTS, facts.model_dump_json(indent=1))
    plain = table.copy(deep=False)
    plain.attrs = {}  # a file is not told where it is, as it may be moved
    with files.replacing(directory / TABLE) as partial:
        plain.to_parquet(partial, index=False)
    with files.replacing(directory / TEXT_TABLE) as partial:
        # Line ends of RFC 4180: only with them is a lone carriage return in a text quoted.
        plain.to_csv(partial, index=False, lineterminator="\r\n")


def load_facts(directory: Path) -> Facts:
    """Read `campaign.json`.

    Raises:
        InputError: no campaign was run here, the file is damaged, or this program does not read the
            version of what is there.
    """
    path = directory / FACTS
    files.check_version(directory)
    if not path.exists():
        raise InputError(f"{directory}: no campaign was run here ({FACTS} is missing)")
    with files.naming(path):
        return Facts.check(
            files.parse_json(files.read_text(path, MAX_BYTES, within=directory)), str(path)
        )


def read_table(path: Path, within: Path | None = None) -> pd.DataFrame:
    """Return a table of Parquet, of which the file says beforehand how large it is unpacked.

    Args:
        path: the file.
        within: a directory, out of which no link of the path may lead.

    Raises:
        InputError: it is no such table, or too large.
    """
    from pyarrow import parquet  # noqa: PLC0415  # slow to import, and few commands read tables

    with files.naming(path), files.opened(path, MAX_TABLE, within=within) as file:
        metadata = parquet.ParquetFile(file).metadata
        files.check_size(metadata.num_rows * max(1, metadata.num_columns), MAX_VALUES, "values")
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        files.check_size(sum(group.total_byte_size for group in groups), MAX_TABLE)
        files.check_size(_text_bytes(file), MAX_TABLE, "bytes of text")
        return pd.read_parquet(file)


def _text_bytes(file: BufferedReader) -> int:
    """Return how long all texts of a table are: a file has those that are equal once."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import compute, parquet  # noqa: PLC0415

    schema = parquet.read_schema(file)
    texts = (pa.string(), pa.large_string())
    names = [field.name for field in schema if field.type in texts]
    table = parquet.read_table(file, columns=names, read_dictionary=names)
    chunks = (chunk for column in table.columns for chunk in column.chunks)
    lengths = (
        compute.take(compute.binary_length(chunk.dictionary), chunk.indices) for chunk in chunks
    )
    return sum(compute.sum(length).as_py() or 0 for length in lengths)


def load(directory: str | Path) -> pd.DataFrame:
    """Return the table of a directory of results, also of one that is under way or was killed.

    A row a run: its labels, whose names are in `attrs["labels"]` (and `directory` in
    `attrs["directory"]`); `seed`, `status` (ok, failed, disturbed, unsupported or missing),
    `reason`; measures, NaN where a run has none; `run`, its directory relative to this one. Runs
    that no campaign made, a single one or those in one folder, have `transport` and `mode` as
    labels, and the fields in which their scenarios differ.

    Raises:
        InputError: there are no results here, files are damaged, or this program does not read the
            version of what is there.
    """
    directory = Path(directory)
    files.check_version(directory)
    if (directory / FACTS).exists():
        return _load_campaign(directory)
    alone = _has_result(directory)
    runs = [directory] if alone else [run for run in directory.glob("*") if _has_result(run)]
    if not runs:
        words = f"looked for result.json, */result.json and {FACTS}"
        raise NoResultsError(f"{quoted(directory)}: no results; {words}")
    return _load_runs(directory, sorted(runs))


def _load_campaign(directory: Path) -> pd.DataFrame:
    labels, path, store = load_facts(directory).labels, directory / TABLE, Store(directory)
    table = read_table(path, within=directory)
    with files.naming(path):
        rows: list[Row] = []
        for row in table.astype(object).to_dict("records"):
            rows.append({str(name): value for name, value in row.items()})
            name = _RUN.fullmatch(row["run"]) if row["status"] == MISSING["status"] else None
            result = store.read(name[1]) if name else None
            if isinstance(result, RunResult):  # it has ended since the table was written
                rows[-1] |= row_of(result)
        measures = [name for name in map(str, table) if name not in {*labels, *RESERVED}]
        kinds = table[labels].dtypes.to_dict()
        return make_table(rows, labels, measures, directory).astype(kinds)


def _has_result(run: Path) -> bool:
    """Return whether a directory has a result, or a link in its place, which counts as damaged."""
    path = run / "result.json"
    return path.exists() or path.is_symlink()


def _load_runs(directory: Path, runs: Sequence[Path]) -> pd.DataFrame:
    for run in runs:
        if not run.resolve().is_relative_to(directory.resolve()):
            raise ResultError(f"{run}: leads out of {directory}; such links are not followed")
    results, labels = list(map(load_result, runs)), differing_labels(runs)
    columns = {name: uniform_column([own[name] for own in labels]) for name in labels[0]}
    rows = [
        {**row_of(result), "seed": result.seed, "run": str(run.relative_to(directory))}
        for result, run in zip(results, runs, strict=True)
    ]
    table = make_table(rows, [*columns], [], directory)
    return table.assign(**columns)
