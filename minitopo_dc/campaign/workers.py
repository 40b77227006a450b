"""Where runs take place: here one by one, in processes of this machine, or on a Dask cluster.

Each takes jobs and yields them with their results as they end, in any order.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from minitopo_dc.campaign.attempt import Execute, Job, perform
from minitopo_dc.campaign.store import StoreError
from minitopo_dc.pool import Killed, in_processes
from minitopo_dc.run.results import RunResult

if TYPE_CHECKING:
    from distributed import Client

REAL_CLOCK = "real-clock"
"""The resource of which a Dask worker has one where runs on the real clock may take place."""
CONNECT_TIMEOUT = "10s"
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


class Cluster:
    """The workers of a Dask scheduler; each has this package, and traces at the same paths.

    A run takes place in a temporary directory of its worker and is sent here: no file system needs
    to be shared. On the real clock it takes the worker's resource, so that a worker started with
    `--resources real-clock=1` has one such run at a time, whatever its number of threads.
    """

    def __init__(self, address: str) -> None:
        self._address = address

    def __call__(self, jobs: Sequence[Job], execute: Execute) -> Iterator[Outcome]:
        """Yield each job with its result.

        Raises:
            StoreError: no scheduler answers, or no worker may run on the real clock.
        """
        import distributed  # noqa: PLC0415 (a second that other commands need not wait)

        with self._connect() as client:
            _check_workers(client, self._address, jobs)
            futures = {
                client.submit(
                    perform_elsewhere, job, execute, resources=_resources(job), pure=False
                ): job
                for job in jobs
            }
            try:
                ended = distributed.as_completed(futures, with_results=True)  # type: ignore[no-untyped-call]
                for future, outcome in ended:
                    job = futures[future]
                    result, archive = outcome
                    _unpack(archive, job.directory)
                    yield job, result
            finally:
                client.cancel(list(futures))

    def _connect(self) -> Client:
        from distributed import Client  # noqa: PLC0415

        try:
            return Client(  # type: ignore[no-untyped-call]
                self._address, timeout=CONNECT_TIMEOUT
            )
        except (OSError, ValueError) as error:
            raise StoreError(f"--scheduler {self._address}: no answer: {error}") from None


def perform_elsewhere(job: Job, execute: Execute) -> tuple[RunResult, bytes]:
    """Run in a temporary directory; return the result and the directory, packed."""
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        here = Path(name) / job.directory.name
        result = perform(replace(job, directory=here), execute)
        return result, _pack(here)


def _pack(directory: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(directory.rglob("*")):
            archive.write(path, path.relative_to(directory))
    return packed.getvalue()


def _unpack(packed: bytes, directory: Path) -> None:
    directory.mkdir(parents=True)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(directory)


def _resources(job: Job) -> dict[str, float]:
    return {REAL_CLOCK: 1} if job.scenario.clock == "real" else {}


def _check_workers(client: Client, address: str, jobs: Iterable[Job]) -> None:
    """Without such a worker the runs would wait for ever."""
    workers: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    if not workers:
        raise StoreError(f"--scheduler {address}: has no worker; start one: dask worker {address}")
    able = any(worker.get("resources", {}).get(REAL_CLOCK) for worker in workers.values())
    if not able and any(_resources(job) for job in jobs):
        raise StoreError(
            f"--scheduler {address}: no worker may run on the real clock; on each machine that "
            f"may, as root: dask worker {address} --nworkers 1 --resources {REAL_CLOCK}=1"
        )
