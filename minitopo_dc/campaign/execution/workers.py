"""The places where runs take place: this process, or processes of this machine.

(`cluster` has other machines.) Each yields the runs with their results as they end, in any order.
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

MAX_KILLS = 3
"""The most times that the process of one run may be killed; Dask's own default (`allowed-failures`)
is 3, too."""

Execute = Callable[[Scenario, Path], RunResult]
Perform = Callable[[Run, Path], RunResult]
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
        self, runs: Sequence[Run], perform: Perform, working: Path
    ) -> Iterator[tuple[Run, RunResult]]:
        """Yield each run with its result, as it ends."""


class Serial:
    """The workers that perform one run at a time, in this process."""

    def __call__(
        self, runs: Sequence[Run], perform: Perform, working: Path
    ) -> Iterator[tuple[Run, RunResult]]:
        """Yield each run with its result."""
        for run in runs:
            yield run, perform(run, working / run.id)


class Processes:
    """The workers that perform several runs at a time, each in a fresh process."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __call__(
        self, runs: Sequence[Run], perform: Perform, working: Path
    ) -> Iterator[tuple[Run, RunResult]]:
        """Yield each run with its result; one whose process was killed is begun again.

        Raises:
            StoreError: it was killed `MAX_KILLS` times; raised when all others have ended.
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
                (again if kills[run.id] < MAX_KILLS else given_up).append(run)
            runs = again
        if given_up:
            raise killers(given_up, "give the same command again, with fewer --jobs")


def killers(runs: Sequence[Run], remedy: str) -> StoreError:
    """Return the error for runs without a result, as their processes were killed each time."""
    return StoreError(
        f"{len(runs)} runs are not done: their processes were killed again and again, maybe for "
        f"want of memory (the first: {runs[0].id}, {runs[0].scenario.label}); all "
        f"others are kept: {remedy}"
    )
