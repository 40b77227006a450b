"""Campaigns: scenarios with labels in, each run once per seed, one tidy table out.

    cases = [(base.evolve(pdcp={"batch": batch}), {"batch": batch}) for batch in (2, 10, 100)]
    runs = Campaign("results/batch", cases, seeds=range(1, 6)).run(jobs=2)
    runs.groupby("batch")["goodput_mbps"].describe()

A run's identity is the digest of its scenario: cases that mean the same scenario share their runs,
and a scenario that was edited is another run. Whatever interrupts a campaign, the same lines go on
with what is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Literal

import pandas as pd

from minitopo_dc.campaign.executors import Workers, executed, local
from minitopo_dc.campaign.plan import Case, Plan
from minitopo_dc.campaign.progress import Bar
from minitopo_dc.campaign.store import Store, explained
from minitopo_dc.campaign.table import MISSING, Facts, Row, make_table, row_of, save
from minitopo_dc.clocks import build_missing, chosen_jobs, require_clock
from minitopo_dc.errors import InputError
from minitopo_dc.interruption import heeded
from minitopo_dc.registry import registrations_kept
from minitopo_dc.results.run_result import DETAILS, RunResult
from minitopo_dc.runs.perform import Retries, check_retries
from minitopo_dc.scenario import Scenario

__all__ = ["Campaign", "Retries"]

Version = Literal["full", "quick", "sample"]
"""All of a campaign; all kinds of its cases but less of each; a few cases that show its range."""
AGAIN = ("failed", "disturbed", "unsupported")
"""Statuses of runs that can be run again."""


class Campaign:
    """Cases, and the directory of their runs; making one checks everything and runs nothing.

    Args:
        directory: where the runs are kept, new or to be gone on with.
        cases: scenarios with their labels.
        seeds: each case is run once with each of them; none: with its scenario's own.
        title: for the report; none: the directory's name.
        notes: for the report: paragraphs with an empty line between them.
        version: which version of a campaign's file the cases are of.

    Raises:
        InputError: a scenario, a label or a seed is wrong; the message says which, and what is
            allowed.
    """

    def __init__(
        self,
        directory: str | Path,
        cases: Iterable[Case],
        seeds: Iterable[int] = (),
        *,
        title: str = "",
        notes: str = "",
        version: Version = "full",
    ) -> None:
        self.directory = Path(directory)
        self._store = Store(self.directory)
        self._plan = Plan(cases, seeds)
        title, count = title or self.directory.name, self._plan.cases
        labels, seeds = list(self._plan.labels), list(self._plan.seeds)
        self._facts = Facts(
            title=title, notes=notes, labels=labels, cases=count, seeds=seeds, version=version
        )

    def run(
        self,
        jobs: int | None = None,
        *,
        executor: Executor | Workers | None = None,
        retries: Retries = Retries(),  # noqa: B008 (frozen)
        again: Collection[str] = (),
        progress: bool = True,
    ) -> pd.DataFrame:
        """Run what is missing; return the table of all runs, and write it beside them.

        Args:
            jobs: runs at once, each in a process; None: one a processor, on the real clock one.
            executor: runs them instead, maybe on other machines: `dask_client.get_executor()`.
            retries: how often a failed or disturbed run is tried again at once.
            again: statuses of earlier runs that are run again, e.g. `["failed"]`.
            progress: whether a bar is shown.

        Raises:
            InputError: a clock cannot run here, or the directory cannot be used; nothing has been
                run then.
            StoreError: the disk is full, or runs were lost; what was recorded is kept.
            progress.Interrupted: Ctrl-C; what was recorded is kept.
        """
        check_retries(retries.disturbed)
        if isinstance(again, str) or not {*AGAIN}.issuperset(again):
            raise InputError(f"again: {again!r}; allowed: a list of {', '.join(AGAIN)}")
        opened = self._workers(jobs, executor, again)
        with self._store.held(), opened as workers:
            done = self._store.finished(
                self._plan.scenarios, lambda result: result.status not in again
            )
            rows = {name: row_of(result) for name, result in done.items()}
            missing = self._missing(rows)
            self._save(rows)
            try:
                bar = Bar(len(missing), len(rows), shown=progress)
                with registrations_kept(), bar, heeded():
                    for name, result in workers(missing, retries, self._store.working):
                        recorded = self._store.keep(name, result)
                        rows[name] = row_of(recorded)
                        bar.end(recorded)
            finally:
                self._save(rows)
        return self._table(rows)

    def table(self) -> pd.DataFrame:
        """Return the table as it is now; a run that is not done has the status `missing`."""
        results = {name: self._store.read(name) for name in self._plan.scenarios}
        runs = {name: run for name, run in results.items() if isinstance(run, RunResult)}
        return self._table({name: row_of(run) for name, run in runs.items()})

    def empty_table(self) -> pd.DataFrame:
        """Return a table without rows, which has the columns that are known before a run."""
        return self._table({}, DETAILS).iloc[:0]

    def missing(self) -> list[Scenario]:
        """Return the scenarios of the runs that are not done."""
        return [*self._missing(self._store.names).values()]

    @property
    def label_values(self) -> frozenset[str]:
        """Return all values of all labels, as text."""
        return frozenset(str(value) for row in self._plan.rows for value in row.labels.values())

    def _missing(self, done: Collection[str]) -> dict[str, Scenario]:
        return {name: run for name, run in self._plan.scenarios.items() if name not in done}

    def _table(self, rows: Mapping[str, Row], measures: Iterable[str] = ()) -> pd.DataFrame:
        """Return the table with these runs done; `measures` are columns that it gets beside its."""
        known = [name for name in self._plan.measures if name not in DETAILS]
        unlabelled = dict.fromkeys(self._plan.labels)
        table = [
            {**rows.get(name, MISSING), **unlabelled, **labels, "seed": seed, "run": f"runs/{name}"}
            for name, labels, seed in self._plan.rows
        ]
        return make_table(table, self._plan.labels, [*known, *measures], self.directory)

    def _workers(
        self, jobs: int | None, executor: Executor | Workers | None, again: Collection[str]
    ) -> AbstractContextManager[Workers]:
        """Return who is to run what is missing; InputError where its clock cannot run here."""
        if executor is not None:
            if jobs is not None:
                raise InputError("jobs: not with an executor, which has its own number")
            if isinstance(executor, Executor):
                executor = partial(executed, executor)
            return nullcontext(executor)
        missing = self._plan.scenarios.values() if again else self.missing()
        build_missing(missing)
        clocks = {scenario.clock for scenario in missing}
        for clock in clocks:
            require_clock(clock)
        return local(chosen_jobs(jobs, "real" if "real" in clocks else "virtual"))

    def _save(self, rows: Mapping[str, Row]) -> None:
        with explained(self.directory, "the table cannot be written"):
            save(self._table(rows), self._facts, self.directory)
