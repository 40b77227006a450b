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
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal

import pandas as pd

from minitopo_dc.campaign.executors import (
    DiskFullError,
    Futures,
    Processes,
    Serial,
    Workers,
    perform,
)
from minitopo_dc.campaign.plan import Case, Plan, Task
from minitopo_dc.campaign.progress import Bar
from minitopo_dc.campaign.store import Store, StoreError, full_disk, reporting_full_disk
from minitopo_dc.campaign.table import (
    DETAILS,
    Facts,
    Row,
    make_table,
    row_of,
    save_table,
    with_place,
)
from minitopo_dc.campaign.timing import expected_s
from minitopo_dc.clocks import chosen_jobs, clean_killed, require_clock, run_checked
from minitopo_dc.errors import InputError
from minitopo_dc.plugins import registrations_kept
from minitopo_dc.run.attempts import Retries, check_retries
from minitopo_dc.run.results import RunResult
from minitopo_dc.scenario import Clock

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
        title = title or self.directory.name
        self._facts = Facts(title, notes, labels, self._plan.cases, seeds, version)

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
            missing = [name for name in self._plan.scenarios if name not in rows]
            if executor is None and any(self._plan.scenarios[n].clock == "real" for n in missing):
                clean_killed("real")
            with (
                registrations_kept(),
                self._tables(rows),
                self._bar(missing, shown=progress) as bar,
            ):
                for name, result in self._performed(missing, workers, retries):
                    rows[name] = row_of(result)
                    bar.end(name, result)
        return with_place(self._table(rows), self.directory)

    def table(self) -> pd.DataFrame:
        """Return the table as it is now; a run that is not done has the status `missing`."""
        return with_place(self._table(dict(self._rows())), self.directory)

    def empty_table(self) -> pd.DataFrame:
        """Return a table without rows, which has the columns that are known before a run."""
        table = self._table({}).iloc[:0]
        empty = make_table([], self._plan.labels, self._plan.measures)
        return with_place(empty.astype(table.dtypes.to_dict()), self.directory)

    def status(self) -> dict[str, int]:
        """Return how many runs there are, of each status and missing; shared ones count once."""
        rows = dict(self._rows())
        counts = Counter(row["status"] for row in rows.values())
        counts["missing"] = len(self._plan.scenarios) - len(rows)
        names = ("ok", *AGAIN, "missing")
        return {"runs": len(self._plan.scenarios), **{name: counts[name] for name in names}}

    def expected_s(self) -> dict[Clock, tuple[int, float]]:
        """Return the number of runs that are not done by their clock, and their rough time in s.

        On the virtual clock the time is that of the network, which passes faster.
        """
        done = dict(self._rows())
        found: dict[Clock, tuple[int, float]] = {}
        for name, scenario in self._plan.scenarios.items():
            if name not in done:
                number, seconds = found.get(scenario.clock, (0, 0.0))
                found[scenario.clock] = number + 1, seconds + expected_s(scenario)
        return found

    @property
    def label_values(self) -> frozenset[str]:
        """Return all values of all labels, as text."""
        return frozenset(str(value) for row in self._plan.rows for value in row.labels.values())

    def _rows(self) -> Iterator[tuple[str, Row]]:
        for name in self._plan.scenarios:
            result = self._store.read(name)
            if isinstance(result, RunResult):
                yield name, row_of(result)

    def _table(self, rows: dict[str, Row]) -> pd.DataFrame:
        missing = row_of(None)
        return make_table(
            [
                {
                    **rows.get(name, missing),
                    **{label: labels.get(label) for label in self._plan.labels},
                    "seed": seed,
                    "run": f"{self._store.runs.name}/{name}",
                }
                for name, labels, seed in self._plan.rows
            ],
            self._plan.labels,
            [name for name in self._plan.measures if name not in DETAILS],
        )

    def _workers(
        self, jobs: int | None, executor: Executor | Workers | None, again: Collection[str]
    ) -> Workers:
        """Return who is to run what is missing; InputError where its clock cannot run here."""
        if executor is not None:
            if jobs is not None:
                raise InputError("jobs: not with an executor, which has its own number")
            return Futures(executor) if isinstance(executor, Executor) else executor
        clocks = {
            scenario.clock
            for name, scenario in self._plan.scenarios.items()
            if again or not (self._store.runs / name).exists()
        }
        for clock in clocks:
            require_clock(clock)
        number = chosen_jobs(jobs, "real" if "real" in clocks else "virtual")
        return Serial() if number == 1 else Processes(number)

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

    def _performed(
        self, missing: Sequence[str], workers: Workers, retries: Retries
    ) -> Iterator[tuple[str, RunResult]]:
        """Yield each run that has ended and is kept."""
        tasks = [Task(name, self._plan.scenarios[name]) for name in missing]
        performed = partial(perform, execute=run_checked, retries=retries)
        try:
            for task, result in workers(tasks, performed, self._store.working):
                directory = self._store.working / task.id
                if result.status == "failed":
                    self._store.check_room(directory, result.reason)
                yield task.id, self._store.keep(directory, result)
        except DiskFullError:
            raise full_disk(self.directory) from None

    @contextmanager
    def _tables(self, rows: dict[str, Row]) -> Iterator[None]:
        """Write the table before the runs, and again at the end, however that comes."""
        self._save(rows)
        try:
            yield
        except BaseException:
            with suppress(StoreError, OSError):
                self._save(rows)
            raise
        self._save(rows)

    def _save(self, rows: dict[str, Row]) -> None:
        """Write table and facts; StoreError where they cannot be written."""
        try:
            with reporting_full_disk(self.directory):
                self._facts.save(self.directory)
                save_table(self._table(rows), self.directory)
        except OSError as error:
            where = error.filename2 or error.filename or self.directory
            raise StoreError(f"{where}: {error.strerror}; the table cannot be written") from None

    @contextmanager
    def _bar(self, missing: Sequence[str], *, shown: bool) -> Iterator[Bar]:
        """Show a bar; on Ctrl-C say in one line what is kept."""
        scenarios = [self._plan.scenarios[name] for name in missing]
        if all(scenario.clock == "real" for scenario in scenarios):
            weights = dict(zip(missing, map(expected_s, scenarios), strict=True))
        else:  # there time depends on more than size and rate
            weights = dict.fromkeys(missing, 1.0)
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
