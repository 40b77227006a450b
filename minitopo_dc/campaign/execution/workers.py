"""A run, and where runs take place: here one by one, or in processes of this machine.

(`cluster`: on others.) Each yields the runs with their results as they end, in any order.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from minitopo_dc.campaign.execution.store import FULL, StoreError
from minitopo_dc.campaign.file.plan import Run
from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.pool import Killed, in_processes
from minitopo_dc.run.attempts import Retries, tried
from minitopo_dc.run.judge import crashed
from minitopo_dc.run.results import RunResult
from minitopo_dc.scenario import Scenario

MOST_KILLS = 3
"""Of the process that one run takes place in; Dask's own default (`allowed-failures`) is 3, too."""

Execute = Callable[[Scenario, Path], RunResult]
Perform = Callable[[Run, Path], RunResult]
"""`perform` but for its other arguments; another process must be able to import it."""


class DiskFullError(MinitopoDcError):
    """No room for a run; it has no result."""


def perform(run: Run, directory: Path, *, execute: Execute, retries: Retries) -> RunResult:
    """Run, and again as `retries` say (`tried`); how long all took, in real s, is `wall_s`.

    Args:
        run: which.
        directory: where it takes place; made, and emptied before each attempt.
        execute: does it once.
        retries: how often it is tried again.

    Raises:
        DiskFullError: there was no room.
    """
    begin = time.monotonic()
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
    """Performs runs, each below `working` in a directory of its identity."""

    def __call__(
        self, runs: Sequence[Run], perform: Perform, working: Path
    ) -> Iterator[tuple[Run, RunResult]]:
        """Yield each run with its result, as it ends."""


class Serial:
    """One run at a time, in this process."""

    def __call__(
        self, runs: Sequence[Run], perform: Perform, working: Path
    ) -> Iterator[tuple[Run, RunResult]]:
        """Yield each run with its result."""
        for run in runs:
            yield run, perform(run, working / run.id)


class Processes:
    """So many runs at a time, each process beginning afresh: nothing is shared."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __call__(
        self, runs: Sequence[Run], perform: Perform, working: Path
    ) -> Iterator[tuple[Run, RunResult]]:
        """Yield each run with its result; one whose process was killed is begun again.

        Raises:
            StoreError: it was killed `MOST_KILLS` times; raised when all others have ended.
        """
        kills: Counter[str] = Counter()
        given_up: list[Run] = []
        while runs:
            again: list[Run] = []
            arguments = [(run, working / run.id) for run in runs]
            for place, outcome in in_processes(perform, arguments, self._number):
                run = runs[place]
                if isinstance(outcome, Exception):
                    raise outcome
                if not isinstance(outcome, Killed):
                    yield run, outcome
                    continue
                kills[run.id] += 1
                (again if kills[run.id] < MOST_KILLS else given_up).append(run)
            runs = again
        if given_up:
            raise killers(given_up, "give the same command again, with fewer --jobs")


def killers(runs: Sequence[Run], remedy: str) -> StoreError:
    """The one error of runs that had no end: they have no result."""
    return StoreError(
        f"{len(runs)} runs are not done: their processes were killed again and again, maybe for "
        f"want of memory (the first: {runs[0].id}, {runs[0].scenario.label}); all "
        f"others are kept: {remedy}"
    )
