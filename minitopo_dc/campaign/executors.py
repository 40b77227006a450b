"""The places where runs take place: this process, processes of this machine, or any executor.

(`cluster` has the workers of a Dask scheduler.) Each is a function of tasks, of how often they are
tried again, and of the directory below which each has its own.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import io
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from minitopo_dc.campaign.store import StoreError
from minitopo_dc.clocks import run_checked
from minitopo_dc.comparison_runs import attempt
from minitopo_dc.plugins import load_plugins
from minitopo_dc.pool import Killed, in_processes
from minitopo_dc.runs.attempts import Retries, tried
from minitopo_dc.runs.own_plugins import own_files, restored
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario

MAX_KILLS = 3
"""The most times that the process of one run may be killed; Dask's own default (`allowed-failures`)
is 3, too."""


@dataclass(frozen=True)
class Task:
    """A scenario to be run, on this machine or another."""

    id: str
    """Its identity, which is the name of its directory."""
    scenario: Scenario

    def __reduce__(self) -> tuple[Callable[..., Task], tuple[Any, ...]]:
        """Pickle as plain values, with the files of the user's own plugins."""
        return _task, (self.id, self.scenario.model_dump(mode="json"), own_files(self.scenario))


def _task(identity: str, values: dict[str, Any], files: dict[str, str]) -> Task:
    return Task(identity, restored(values, files))


Results = Iterator[tuple[str, RunResult]]
"""The identity and the result of each run, as it ends."""
Workers = Callable[[Sequence[Task], Retries, Path], Results]
Packed = tuple[RunResult, bytes]
"""A result with its directory as a zip archive."""


def perform(task: Task, directory: Path, retries: Retries) -> RunResult:
    """Run a scenario, and again as `retries` say; add the time of all in real s as `wall_s`.

    Args:
        task: the run.
        directory: where it takes place; made, and emptied before each attempt.
        retries: how often it is tried again.
    """
    begin = time.monotonic()
    load_plugins(task.scenario.plugins)  # also where another version of one was loaded since
    result = tried(lambda: attempt(run_checked, task.scenario, directory), directory, retries)
    return replace(result, details=result.details | {"wall_s": round(time.monotonic() - begin, 3)})


def serial(tasks: Sequence[Task], retries: Retries, working: Path) -> Results:
    """Perform one run at a time, in this process."""
    for task in tasks:
        yield task.id, perform(task, working / task.id, retries)


def processes(number: int, tasks: Sequence[Task], retries: Retries, working: Path) -> Results:
    """Perform `number` runs at a time, each in a process; begin again those that were killed.

    Raises:
        StoreError: some were killed `MAX_KILLS` times; raised when all others have ended.
    """
    for _ in range(MAX_KILLS):
        killed = []
        arguments = [(task, working / task.id, retries) for task in tasks]
        for place, outcome in in_processes(perform, arguments, number):
            if isinstance(outcome, Exception):
                raise outcome
            if isinstance(outcome, Killed):
                killed.append(tasks[place])
            else:
                yield tasks[place].id, outcome
        tasks = killed
    if tasks:
        why = "their processes were killed again and again, maybe for want of memory"
        raise _lost(tasks, f"{why}: give the same command again, with fewer --jobs")


def executed(executor: Executor, tasks: Sequence[Task], retries: Retries, working: Path) -> Results:
    """Let an executor perform the runs, maybe on other machines; errors are those of `received`."""
    waiting = {executor.submit(perform_elsewhere, task, retries): task for task in tasks}
    try:
        yield from received(waiting, working)
    finally:
        for future in waiting:
            future.cancel()


GONE = (asyncio.CancelledError, concurrent.futures.CancelledError)
"""The errors of runs that were given up; which of the two depends on the version of Dask."""
WATCH_S = 5.0
"""How often `watch` is called, whether or not runs end."""


def received(
    waiting: dict[Future[Packed], Task],
    working: Path,
    watch: Callable[[BaseException | None], None] = lambda _: None,
) -> Results:
    """Yield runs of `perform_elsewhere` as they end; one that is lost does not end the others.

    Args:
        waiting: the futures of all runs; those that have ended are removed.
        working: where the directories are made that were sent.
        watch: called now and then, and with the error of a run that is lost.

    Raises:
        StoreError: runs are lost; raised when all others have ended.
    """
    lost: list[Task] = []
    causes: list[BaseException] = []
    for future in _ended(waiting, watch):
        task = waiting.pop(future)
        try:
            result, packed = future.result()
        except (Exception, *GONE) as error:
            watch(error)
            lost.append(task)
            causes.append(error)
        else:
            with zipfile.ZipFile(io.BytesIO(packed)) as archive:
                archive.extractall(working / task.id)
            yield task.id, result
    if lost:
        words = f"{type(causes[0]).__name__}: {causes[0]}"
        raise _lost(lost, f"the executor lost them: {words}")


def _ended(
    waiting: dict[Future[Packed], Task], watch: Callable[[BaseException | None], None]
) -> Iterator[Future[Packed]]:
    """Yield futures as they end, until none is left; whoever gets one removes it."""
    while waiting:
        with suppress(TimeoutError):
            yield from as_completed(waiting, WATCH_S)
        watch(None)


def _lost(tasks: Sequence[Task], why: str) -> StoreError:
    first = f"{tasks[0].id}, {tasks[0].scenario.label}"
    return StoreError(
        f"{len(tasks)} runs are not done (the first: {first}), all others are kept: {why}"
    )


def perform_elsewhere(task: Task, retries: Retries) -> Packed:
    """Run in a temporary directory; return the result and the directory as a zip archive."""
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        run = Path(name, task.id)
        result = perform(task, run, retries)
        return result, Path(shutil.make_archive(f"{run}-packed", "zip", run)).read_bytes()
