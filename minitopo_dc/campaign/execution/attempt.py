"""One run of a campaign, in whatever process it takes place."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from minitopo_dc.campaign.execution.store import FULL
from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.run.crash import crashed
from minitopo_dc.run.results import RunResult
from minitopo_dc.scenario import Scenario

Execute = Callable[[Scenario, Path], RunResult]


class DiskFullError(MinitopoDcError):
    """No room for a run; it has no result."""


@dataclass(frozen=True)
class Job:
    """A run to be done."""

    scenario: Scenario
    repetition: int
    retries: int
    directory: Path
    """Where it takes place; its name is the run's identity."""


def perform(job: Job, execute: Execute) -> RunResult:
    """Run; a failure is tried again as often as the job says, and the last one is the result.

    The reasons of those before are in `details` as `failed_attempts`, and how long all took, in
    real seconds, as `wall_s`.

    Raises:
        DiskFullError: there was no room.
    """
    begin = time.monotonic()
    reasons: list[str] = []
    for _ in range(job.retries + 1):
        shutil.rmtree(job.directory, ignore_errors=True)
        result = _attempt(job, execute)
        if result.status != "failed":
            break
        reasons.append(result.reason)
    earlier = reasons if result.status != "failed" else reasons[:-1]
    details = result.details | {"wall_s": round(time.monotonic() - begin, 3)}
    if earlier:
        details["failed_attempts"] = earlier
    return replace(result, repetition=job.repetition, details=details)


def _attempt(job: Job, execute: Execute) -> RunResult:
    try:
        job.directory.mkdir(parents=True)
        return execute(job.scenario, job.directory)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL:
            shutil.rmtree(job.directory, ignore_errors=True)  # its room is of use to the others
            raise DiskFullError from None
        return crashed(job.scenario, job.directory, error)
