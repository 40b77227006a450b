"""Where runs take place: here one by one, or in processes of this machine (`cluster`: on others).

Each takes jobs and yields them with their results as they end, in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol

from minitopo_dc.campaign.execution.attempt import Execute, Job, perform
from minitopo_dc.campaign.execution.store import StoreError
from minitopo_dc.pool import Killed, in_processes
from minitopo_dc.run.results import RunResult

MOST_KILLS = 3
"""Of the process that one run takes place in; Dask's own default (`allowed-failures`) is 3, too."""

Outcome = tuple[Job, RunResult]


class Workers(Protocol):
    """Performs jobs."""

    def __call__(self, jobs: Sequence[Job], execute: Execute) -> Iterator[Outcome]:
        """Yield each job with its result, as it ends."""


class Serial:
    """One run at a time, in this process."""

    def __call__(self, jobs: Sequence[Job], execute: Execute) -> Iterator[Outcome]:
        """Yield each job with its result."""
        for job in jobs:
            yield job, perform(job, execute)


class Processes:
    """So many runs at a time, each process beginning afresh: nothing is shared."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __call__(self, jobs: Sequence[Job], execute: Execute) -> Iterator[Outcome]:
        """Yield each job with its result; one whose process was killed is begun again.

        Raises:
            StoreError: it was killed `MOST_KILLS` times; raised when all others have ended.
        """
        kills: Counter[str] = Counter()
        given_up: list[Job] = []
        while jobs:
            again: list[Job] = []
            arguments = [(job, execute) for job in jobs]
            for place, outcome in in_processes(perform, arguments, self._number):
                job = jobs[place]
                if isinstance(outcome, Exception):
                    raise outcome
                if not isinstance(outcome, Killed):
                    yield job, outcome
                    continue
                kills[job.directory.name] += 1
                more = kills[job.directory.name] < MOST_KILLS
                (again if more else given_up).append(job)
            jobs = again
        if given_up:
            raise killers(given_up, "give the same command again, with fewer --jobs")


def killers(jobs: Sequence[Job], remedy: str) -> StoreError:
    """The one error of runs that had no end: they have no result."""
    return StoreError(
        f"{len(jobs)} runs are not done: their processes were killed again and again, maybe for "
        f"want of memory (the first: {jobs[0].directory.name}, {jobs[0].scenario.label}); all "
        f"others are kept: {remedy}"
    )
