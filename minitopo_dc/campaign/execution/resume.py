"""The execution of a campaign, from its plan to its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pandas as pd

from minitopo_dc.campaign.execution.store import Store, StoreError, full_disk
from minitopo_dc.campaign.execution.table import campaign_table, cell_table, save_table
from minitopo_dc.campaign.executors import (
    DiskFullError,
    Execute,
    Processes,
    Serial,
    Workers,
    perform,
)
from minitopo_dc.campaign.file.plan import Plan, Run
from minitopo_dc.clocks import run_checked
from minitopo_dc.runs.attempts import Retries
from minitopo_dc.runs.results import RunResult

Ended = Callable[[Run, RunResult], None]


def missing_runs(plan: Plan, store: Store, *, retry_failed: bool = False) -> list[Run]:
    """Return the runs that are still to be done; a damaged run is removed, and counts as missing.

    Args:
        plan: all runs.
        store: the runs that are done; it is held (`Store.open`).
        retry_failed: forget runs that failed, were disturbed or unsupported, to do them again.
    """
    left, stale = _left(plan, store, retry_failed=retry_failed)
    for name in stale:
        store.forget(name)
    return left


def left_runs(plan: Plan, store: Store, *, retry_failed: bool = False) -> list[Run]:
    """Return what `missing_runs` would, and remove nothing."""
    return _left(plan, store, retry_failed=retry_failed)[0]


def _left(plan: Plan, store: Store, *, retry_failed: bool) -> tuple[list[Run], list[str]]:
    """Return the runs to be done, and the identities of runs that must be removed before."""
    damaged = store.damaged()
    done = {name: run for name, run in store.done().items() if name not in damaged}
    left = [
        run
        for run in plan.runs
        if run.id not in done or (retry_failed and done[run.id].status != "ok")
    ]
    return left, [*damaged, *(run.id for run in left if run.id in done)]


def run_missing(
    plan: Plan,
    store: Store,
    missing: Sequence[Run],
    *,
    workers: Workers,
    execute: Execute,
    ended: Ended,
    retry_disturbed: int = Retries.disturbed,
) -> None:
    """Do runs and record each as it ends; then, or when interrupted, write the tables.

    A run that the machine disturbed is repeated up to `retry_disturbed` times.

    Raises:
        StoreError: the disk is full, or the workers cannot go on. What was recorded is kept.
    """
    retries = Retries(failed=plan.file.retries, disturbed=retry_disturbed)
    retried = partial(perform, execute=execute, retries=retries)
    with _tables(plan, store), _full_disk(store):
        for run, result in workers(missing, retried, store.working):
            directory = store.working / run.id
            if result.status == "failed":
                store.check_room(directory, result.reason)
            ended(run, store.keep(directory, result))


@contextmanager
def _tables(plan: Plan, store: Store) -> Iterator[None]:
    """Write the tables at the end, without hiding an earlier error by one of theirs."""
    try:
        yield
    except BaseException:
        with suppress(StoreError, OSError):
            save_table(plan, store)
        raise
    save_table(plan, store)


@contextmanager
def _full_disk(store: Store) -> Iterator[None]:
    try:
        yield
    except DiskFullError:
        raise full_disk(store.root) from None


def run_campaign(plan: Plan, root: Path, jobs: int = 1) -> pd.DataFrame:
    """Run what is missing, as `campaign run` does; return the table of cells (`cell_table`).

    Args:
        plan: a plan from `read_plan`.
        root: the campaign's directory, new or to be resumed.
        jobs: the number of runs at once; on the real clock only 1.

    Raises:
        StoreError: `root` cannot be used, or the disk is full.
        ValueError: more than one job on the real clock.
    """
    if jobs > 1 and plan.clock == "real":
        raise ValueError(f"jobs: {jobs}; allowed on the real clock: 1")
    store = Store(root)
    workers = Serial() if jobs == 1 else Processes(jobs)
    with store.open(plan):
        missing = missing_runs(plan, store)
        run_missing(
            plan, store, missing, workers=workers, execute=run_checked, ended=lambda *_: None
        )
    return cell_table(plan, campaign_table(plan, store))
