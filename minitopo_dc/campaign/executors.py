"""The places where runs take place: this process, processes of this machine, or any executor.

(`cluster` has the workers of a Dask scheduler.) Each yields the runs with their results as they
end, in any order.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from minitopo_dc.campaign.store import FULL, StoreError
from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.plugins import load_plugins
from minitopo_dc.pool import Killed, in_processes
from minitopo_dc.runs.attempts import Retries, tried
from minitopo_dc.runs.judge import crashed
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario

MAX_KILLS = 3
"""The most times that the process of one run may be killed; Dask's own default (`allowed-failures`)
is 3, too."""


class Run(Protocol):
    """One scenario to be run."""

    @property
    def id(self) -> str:
        """Return its identity, which is the name of its directory."""

    @property
    def scenario(self) -> Scenario:
        """Return the scenario to be run."""

    @property
    def repetition(self) -> int:
        """Return its number among the runs that differ in their seed."""


AnyRun = TypeVar("AnyRun", bound=Run)
Execute = Callable[[Scenario, Path], RunResult]
Perform = Callable[[AnyRun, Path], RunResult]
"""The function `perform` with its other arguments bound; another process must be able to import
it."""


class DiskFullError(MinitopoDcError):
    """An error for want of disk space in a run, which then has no result."""


def perform(run: Run, directory: Path, *, execute: Execute, retries: Retries) -> RunResult:
    """Run a scenario, and again as `retries` say (`tried`); add the time of all as `wall_s`.

    Args:
        run: the run.
        directory: where it takes place; made, and emptied before each attempt.
        execute: runs a scenario once.
        retries: how often it is tried again.

    Returns:
        The result; `wall_s` in its details is in real s.

    Raises:
        DiskFullError: there was no space left.
    """
    begin = time.monotonic()
    load_plugins(run.scenario.plugins)  # also where another version of one was loaded since
    result = tried(lambda: _attempt(run.scenario, directory, execute), directory, retries)
    details = result.details | {"wall_s": round(time.monotonic() - begin, 3)}
    return replace(result, repetition=run.repetition, details=details)


def _attempt(scenario: Scenario, directory: Path, execute: Execute) -> RunResult:
    try:
        directory.mkdir(parents=True)
        return execute(scenario, directory)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL:
            shutil.rmtree(directory, ignore_errors=True)  # its room is of use to the others
            raise DiskFullError from None
        return crashed(scenario, directory, error)


class Workers(Protocol):
    """The interface of workers, which perform each run in its own directory below `working`."""

    def __call__(
        self, runs: Sequence[AnyRun], perform: Perform[AnyRun], working: Path
    ) -> Iterator[tuple[AnyRun, RunResult]]:
        """Yield each run with its result, as it ends."""


class Serial:
    """The workers that perform one run at a time, in this process."""

    def __call__(
        self, runs: Sequence[AnyRun], perform: Perform[AnyRun], working: Path
    ) -> Iterator[tuple[AnyRun, RunResult]]:
        """Yield each run with its result."""
        for run in runs:
            yield run, perform(run, working / run.id)


class Processes:
    """The workers that perform several runs at a time, each in a fresh process."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __call__(
        self, runs: Sequence[AnyRun], perform: Perform[AnyRun], working: Path
    ) -> Iterator[tuple[AnyRun, RunResult]]:
        """Yield each run with its result; one whose process was killed is begun again.

        Raises:
            StoreError: it was killed `MAX_KILLS` times; raised when all others have ended.
        """
        kills: Counter[str] = Counter()
        given_up: list[AnyRun] = []
        while runs:
            again: list[AnyRun] = []
            arguments = [(run, working / run.id) for run in runs]
            for place, outcome in in_processes(perform, arguments, self._number):
                run = runs[place]
                if isinstance(outcome, Exception):
                    raise outcome
                if not isinstance(outcome, Killed):
                    yield run, outcome
                    continue
                kills[run.id] += 1
                (again if kills[run.id] < MAX_KILLS else given_up).append(run)
            runs = again
        if given_up:
            raise killers(given_up, "give the same command again, with fewer --jobs")


class Futures:
    """An executor of `concurrent.futures`, which may be on other machines.

    A run takes place in a temporary directory there and is sent here: no file system is shared.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def __call__(
        self, runs: Sequence[AnyRun], perform: Perform[AnyRun], working: Path
    ) -> Iterator[tuple[AnyRun, RunResult]]:
        """Yield each run with its result; one that the executor loses does not end the others.

        Raises:
            StoreError: the executor lost runs; raised when all others have ended.
        """
        lost: list[tuple[AnyRun, Exception]] = []

        def submit(run: AnyRun) -> Future[tuple[RunResult, bytes]]:
            return self._executor.submit(perform_elsewhere, run, perform)

        for run, future in as_they_end(runs, submit, _cancel):
            try:
                result, packed = future.result()
            except DiskFullError:
                raise
            except Exception as error:
                lost.append((run, error))
            else:
                unpack(packed, working / run.id)
                yield run, result
        if lost:
            first, why = lost[0]
            raise StoreError(
                f"{len(lost)} runs are not done, as the executor lost them (the first: {first.id}: "
                f"{type(why).__name__}: {why}); all others are kept"
            )


WATCH_S = 5.0
"""How often `idle` is called while no run ends."""


def as_they_end(
    runs: Sequence[AnyRun],
    submit: Callable[[AnyRun], Any],
    cancel: Callable[[list[Any]], None],
    idle: Callable[[], None] = lambda: None,
) -> Iterator[tuple[AnyRun, Any]]:
    """Submit runs; yield each with its future when it has ended, and keep none that was yielded.

    Args:
        runs: all of them.
        submit: returns a future of a run.
        cancel: gives up futures, when nobody asks for more.
        idle: called now and then while no run ends.
    """
    ended: SimpleQueue[int] = SimpleQueue()
    left = dict(enumerate(map(submit, runs)))
    try:
        for place in list(left):
            left[place].add_done_callback(lambda _, place=place: ended.put(place))
        while left:
            try:
                place = ended.get(timeout=WATCH_S)
            except Empty:
                idle()
            else:
                yield runs[place], left.pop(place)
    finally:
        with suppress(Exception):  # who ran them may have gone
            cancel([*left.values()])


def _cancel(futures: list[Future[Any]]) -> None:
    for future in futures:
        future.cancel()


def killers(runs: Sequence[Run], remedy: str) -> StoreError:
    """Return the error for runs without a result, as their processes were killed each time."""
    return StoreError(
        f"{len(runs)} runs are not done: their processes were killed again and again, maybe for "
        f"want of memory (the first: {runs[0].id}, {runs[0].scenario.label}); all "
        f"others are kept: {remedy}"
    )


def perform_elsewhere(run: AnyRun, perform: Perform[AnyRun]) -> tuple[RunResult, bytes]:
    """Run in a temporary directory; return the result and the packed directory."""
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        here = Path(name) / run.id
        return perform(run, here), pack(here)


def pack(directory: Path) -> bytes:
    """Return a directory as a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(directory.rglob("*")):
            archive.write(path, path.relative_to(directory))
    return packed.getvalue()


def unpack(packed: bytes, directory: Path) -> None:
    """Write what `pack` returned into a new directory, in place of what is there."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(directory)
