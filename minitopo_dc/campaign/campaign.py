"""Campaigns: scenarios with labels in, each run once per seed, one tidy table out.

    cases = [(base.evolve(pdcp={"batch": batch}), {"batch": batch}) for batch in (2, 10, 100)]
    runs = Campaign("results/batch", cases, seeds=range(1, 6)).run(jobs=2)
    runs.groupby("batch")["goodput_mbps"].describe()

A run's identity is the digest of its scenario: cases that mean the same scenario share their runs,
and a scenario that was edited is another run. Whatever interrupts a campaign, the same lines go on
with what is missing.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal

import pandas as pd

from minitopo_dc.campaign.executors import (
    Task,
    Workers,
    executed,
    perform,
    processes,
    serial,
)
from minitopo_dc.campaign.plan import Case, Plan
from minitopo_dc.campaign.progress import Bar
from minitopo_dc.campaign.store import Store, explained
from minitopo_dc.campaign.table import (
    DETAILS,
    MISSING,
    Facts,
    Row,
    make_table,
    row_of,
    save_table,
)
from minitopo_dc.campaign.timing import expected_s
from minitopo_dc.clocks import chosen_jobs, clean_killed, require_clock
from minitopo_dc.errors import InputError
from minitopo_dc.plugins import registrations_kept
from minitopo_dc.runs.attempts import Retries, check_retries
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Clock, Scenario

Version = Literal["full", "quick", "sample"]
"""All of a campaign; all kinds of its cases but less of each; a few cases that show its range."""
AGAIN = ("failed", "disturbed", "unsupported")
"""Statuses of runs that can be run again."""
INTERRUPTED = 130
"""The exit status of a program that Ctrl-C has ended: 128 plus the signal's number."""


class Interrupted(SystemExit, KeyboardInterrupt):
    """Ctrl-C during a campaign: all has been said, so that a script ends without a traceback."""


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
        labels, seeds = list(self._plan.labels), list(self._plan.seeds)
        self._facts = Facts(
            title=title or self.directory.name,
            notes=notes,
            labels=labels,
            cases=self._plan.cases,
            seeds=seeds,
            version=version,
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
            Interrupted: Ctrl-C; what was recorded is kept.
        """
        check_retries(retries.disturbed)
        _check_again(again)
        workers = self._workers(jobs, executor, again)
        with self._store.held():
            rows = self._finished(again)
            missing = self._missing(rows)
            if executor is None and any(scenario.clock == "real" for scenario in missing.values()):
                clean_killed("real")
            with registrations_kept(), self._saved(rows), self._bar(missing, progress) as bar:
                tasks = [Task(name, scenario) for name, scenario in missing.items()]
                working = self._store.working
                for task, result in workers(tasks, partial(perform, retries=retries), working):
                    recorded = self._store.keep(working / task.id, result)
                    rows[task.id] = row_of(recorded)
                    bar.end(task.id, recorded)
        return self._table(rows)

    def table(self) -> pd.DataFrame:
        """Return the table as it is now; a run that is not done has the status `missing`."""
        return self._table(self._rows())

    def empty_table(self) -> pd.DataFrame:
        """Return a table without rows, which has the columns that are known before a run."""
        return self._table({}, DETAILS).iloc[:0]

    def expected_s(self) -> dict[Clock, tuple[int, float]]:
        """Return the number of runs that are not done by their clock, and their rough time in s.

        On the virtual clock the time is that of the network, which passes faster.
        """
        expected: dict[Clock, tuple[int, float]] = {}
        for scenario in self._missing(self._rows()).values():
            number, seconds = expected.get(scenario.clock, (0, 0.0))
            expected[scenario.clock] = number + 1, seconds + expected_s(scenario)
        return expected

    @property
    def label_values(self) -> frozenset[str]:
        """Return all values of all labels, as text."""
        return frozenset(str(value) for row in self._plan.rows for value in row.labels.values())

    def _rows(self) -> dict[str, Row]:
        """Return what the table has of the runs that are done, by their identity."""
        results = {name: self._store.read(name) for name in self._plan.scenarios}
        return {name: row_of(run) for name, run in results.items() if isinstance(run, RunResult)}

    def _missing(self, rows: Collection[str]) -> dict[str, Scenario]:
        return {name: run for name, run in self._plan.scenarios.items() if name not in rows}

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
    ) -> Workers:
        """Return who is to run what is missing; InputError where its clock cannot run here."""
        if executor is not None:
            if jobs is not None:
                raise InputError("jobs: not with an executor, which has its own number")
            return partial(executed, executor) if isinstance(executor, Executor) else executor
        done = () if again else [path.name for path in self._store.runs.glob("*")]
        clocks = {scenario.clock for scenario in self._missing(done).values()}
        for clock in clocks:
            require_clock(clock)
        number = chosen_jobs(jobs, "real" if "real" in clocks else "virtual")
        return serial if number == 1 else partial(processes, number)

    def _finished(self, again: Collection[str]) -> dict[str, Row]:
        """Return the rows of the runs that stay; remove damaged ones and those to be run again."""
        rows = {}
        for name in self._plan.scenarios:
            result = self._store.read(name, whole=True)
            if isinstance(result, RunResult) and result.status not in again:
                rows[name] = row_of(result)
            elif result is not None:
                self._store.forget(name)
        return rows

    @contextmanager
    def _saved(self, rows: Mapping[str, Row]) -> Iterator[None]:
        """Write facts and table before the runs, and the table at the end, however that comes."""
        cause = "the table cannot be written"
        with explained(self.directory, cause):
            self._facts.save(self.directory)
            save_table(self._table(rows), self.directory)
        try:
            yield
        except BaseException:
            with suppress(OSError):
                save_table(self._table(rows), self.directory)
            raise
        with explained(self.directory, cause):
            save_table(self._table(rows), self.directory)

    @contextmanager
    def _bar(self, missing: Mapping[str, Scenario], shown: bool) -> Iterator[Bar]:
        """Show a bar; on Ctrl-C say in one line what is kept."""
        weights = dict.fromkeys(missing, 1.0)
        if all(scenario.clock == "real" for scenario in missing.values()):
            # On the virtual clock time depends on more than size and rate.
            weights = {name: expected_s(scenario) for name, scenario in missing.items()}
        bar = Bar(weights, done=len(self._plan.scenarios) - len(missing), shown=shown)
        try:
            with bar:
                yield bar
        except KeyboardInterrupt:
            words = f"interrupted; {bar.state}; the same lines go on with the others"
            print(f"minitopo-dc: {words}", file=sys.stderr)  # noqa: T201
            notebook = hasattr(builtins, "__IPYTHON__")  # which would explain how to exit
            raise KeyboardInterrupt if notebook else Interrupted(INTERRUPTED) from None


def _check_again(again: Collection[str]) -> None:
    unknown = [status for status in again if status not in AGAIN]
    if isinstance(again, str) or unknown:
        raise InputError(f"again: {unknown or again!r}; allowed: a list of {', '.join(AGAIN)}")
