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
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Self

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from minitopo_dc.campaign import store
from minitopo_dc.campaign.executors import Workers, executed, local
from minitopo_dc.campaign.plan import Case, Plan
from minitopo_dc.clocks import build_missing, chosen_jobs, require_clock
from minitopo_dc.errors import InputError
from minitopo_dc.interruption import heeded
from minitopo_dc.numbers import duration, significant
from minitopo_dc.registry import registrations_kept
from minitopo_dc.results.run_result import ATTEMPTS, DETAILS, FINE, RunResult
from minitopo_dc.results.tables.runs import value_name
from minitopo_dc.runs.perform import Retries, check_retries
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Column, get_workload

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
        self._store = store.Store(self.directory)
        self._plan = Plan(cases, seeds)
        title, count = title or self.directory.name, self._plan.cases
        labels, seeds = list(self._plan.labels), list(self._plan.seeds)
        self._facts = store.Facts(
            title=title, notes=notes, labels=labels, cases=count, seeds=seeds, version=version
        )

    def run(
        self,
        jobs: int | None = None,
        *,
        executor: Executor | Workers | None = None,
        retries: Retries = Retries(),  # noqa: B008 (frozen)
        again: Collection[str] = (),
        progress: bool | Callable[..., Bar] = True,
    ) -> pd.DataFrame:
        """Run what is missing; return the table of all runs, and write it beside them.

        Args:
            jobs: runs at once, each in a process; None: one a processor, on the real clock one.
            executor: runs them instead, maybe on other machines: `dask_client.get_executor()`.
            retries: how often a failed or disturbed run is tried again at once; an earlier one that
                was disturbed and tried less often is run again.
            again: statuses of earlier runs that are run again, e.g. `["failed"]`.
            progress: whether a bar is shown, or what makes one (`Bar`).

        Raises:
            InputError: a clock cannot run here, or the directory cannot be used; nothing has been
                run then.
            InputError: the disk is full, or runs were lost; what was recorded is kept.
            progress.Interrupted: Ctrl-C; what was recorded is kept.
        """
        check_retries(retries.disturbed)
        if isinstance(again, str) or not {*AGAIN}.issuperset(again):
            raise InputError(f"again: {again!r}; allowed: a list of {', '.join(AGAIN)}")
        opened = self._workers(jobs, executor, again)
        with self._store.held(), opened as workers:

            def is_done(result: RunResult) -> bool:
                repeats = len(result.details.get(ATTEMPTS["disturbed"], ()))
                is_undisturbed = result.status != "disturbed" or repeats >= retries.disturbed
                return is_undisturbed and result.status not in again

            rows = self._store.finished(self._plan.scenarios, is_done)
            missing = self._missing(rows)
            self._save(rows)
            try:
                bar_of = progress if callable(progress) else partial(Bar, shown=progress)
                with registrations_kept(), bar_of(missing, len(rows)) as bar, heeded():
                    for name, result in workers(missing, retries, self._store.working):
                        recorded = self._store.keep(name, result)
                        rows[name] = store.row_of(recorded)
                        bar.end(recorded)
            finally:
                self._save(rows)
        return self._table(rows)

    def table(self) -> pd.DataFrame:
        """Return the table as it is now; a run that is not done has the status `missing`."""
        results = {name: self._store.read(name) for name in self._plan.scenarios}
        runs = {name: run for name, run in results.items() if isinstance(run, RunResult)}
        return self._table({name: store.row_of(run) for name, run in runs.items()})

    def empty_table(self) -> pd.DataFrame:
        """Return a table without rows, which has the columns that are known before a run."""
        return self._table({}, DETAILS).iloc[:0]

    def missing(self) -> list[Scenario]:
        """Return the scenarios of the runs that are not done."""
        return [*self._missing(self._store.names).values()]

    @property
    def names(self) -> dict[str, str]:
        """Return the name of each run, its labels' values, by its identity."""
        names: dict[str, str] = {}
        for name, labels, _ in self._plan.rows:
            names.setdefault(name, ", ".join(map(value_name, labels.values())))
        return names

    @property
    def label_values(self) -> frozenset[str]:
        """Return all values of all labels, as text."""
        return frozenset(
            str(value) for _, labels, _ in self._plan.rows for value in labels.values()
        )

    def _missing(self, done: Collection[str]) -> dict[str, Scenario]:
        return {name: run for name, run in self._plan.scenarios.items() if name not in done}

    def _table(self, rows: Mapping[str, store.Row], measures: Iterable[str] = ()) -> pd.DataFrame:
        """Return the table with these runs done; `measures` are columns that it gets beside its."""
        known = [name for name in self._plan.measures if name not in DETAILS]
        none = dict.fromkeys(self._plan.labels)
        table = [
            {**rows.get(name, store.MISSING), **none, **labels, "seed": seed, "run": f"runs/{name}"}
            for name, labels, seed in self._plan.rows
        ]
        return store.make_table(table, self._plan.labels, [*known, *measures], self.directory)

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
        # A worker that finds nothing to do would import all of this package before it ends.
        jobs = chosen_jobs(jobs, "real" if "real" in clocks else "virtual")
        return local(max(1, min(jobs, len(missing))))

    def _save(self, rows: Mapping[str, store.Row]) -> None:
        with store.explained(self.directory, "the table cannot be written"):
            store.save(self._table(rows), self._facts, self.directory)


MAX_REASONS = 5
"""The most runs whose reasons are printed; the table has them all."""
FIRST_NUMBERS = 3
"""The most numbers of users' programs in a run's line: the first in the scenario's order."""
LINE_EVERY_S = 30.0
"""The interval of lines where nothing shows a bar: often enough to see that it goes on."""
NOTEBOOK_WIDTH = 40
"""The length of a notebook's bar, in characters."""
Show = Callable[[float, str], object]
"""A function that shows which share (0 to 1) is done, and what there is to say."""


class Interrupted(SystemExit, KeyboardInterrupt):
    """Ctrl-C during a campaign: all has been said, so that a script ends without a traceback."""


class Bar:
    """What a campaign tells while it runs; on Ctrl-C it says in one line what is kept.

    Args:
        missing: the runs that are to be done.
        done: the number of runs that were finished before.
        shown: whether there is anything to be seen.
        names: of the runs, by identity: each has a line when it ends; the command says what a
            Ctrl-C leaves. Empty: only runs that are not fine have one.
    """

    def __init__(
        self,
        missing: Mapping[str, Scenario],
        done: int,
        *,
        shown: bool = True,
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._before = self._done = done
        self._runs = done + len(missing)
        self._names = names
        self._statuses: Counter[str] = Counter()
        self._is_shown = shown and len(missing) > 0
        self._screen = _screen(has_lines=bool(names)) if self._is_shown else nullcontext(_nothing)
        self._begin = time.monotonic()

    def __enter__(self) -> Self:
        if self._is_shown and self._done:
            _say(f"{self._done} of {self._runs} runs were finished before")
        self._show = self._screen.__enter__()
        self._update()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._screen.__exit__(None, None, None)
        if isinstance(error, KeyboardInterrupt) and not self._names:
            words = f"{self._done} of {self._runs} runs are done"
            _say(f"minitopo-dc: interrupted; {words}; the same lines go on with the others")
            if not hasattr(builtins, "__IPYTHON__"):  # which would explain how to exit
                raise Interrupted(128 + signal.SIGINT) from None

    def end(self, result: RunResult) -> None:
        """Count a run that has ended and is kept, and tell why it failed."""
        self._done += 1
        self._statuses[result.status] += 1
        bad = sum(count for status, count in self._statuses.items() if status not in FINE)
        reason = result.reason.partition("\n")[0]
        if self._is_shown and self._names:
            name = f"{self._names[Path(result.directory).name]} (seed {result.seed})"
            outcome = headline(result) if result.status == "ok" else reason
            _say(f"{self._done}/{self._runs} {name}: {result.status} {outcome}")
        elif self._is_shown and result.status not in FINE and bad <= MAX_REASONS:
            _say(f"{result.status}: {result.directory}: {reason}")
        self._update()

    def _update(self) -> None:
        words = [f"{self._done}/{self._runs} runs"]
        words += [f"{count} {name}" for name, count in self._statuses.items() if name != "ok"]
        ended, left = self._done - self._before, self._runs - self._done
        if ended and left:
            left_s = (time.monotonic() - self._begin) / ended * left
            words.append(f"about {duration(left_s)} left")
        self._show(self._done / max(1, self._runs), ", ".join(words))


def headline(result: RunResult) -> str:
    """Return the first numbers of a run that is ok: its goodput, else those of its workload."""
    if result.goodput_mbps is not None:
        return f"{significant(result.goodput_mbps)} Mbit/s in {duration(result.completion_s or 0)}"
    numbers = {"completion_s": result.completion_s, **result.details}
    units = islice(result.details.get("units", {}).items(), FIRST_NUMBERS)
    columns = [
        *get_workload(result.workload).columns,
        *(Column(name, f"{name}\n{unit}") for name, unit in units),
    ]
    known = (column for column in columns if column.measure in numbers)
    return ", ".join(column.as_text(numbers[column.measure]) for column in known)


def _nothing(*_: object) -> None:
    """Show nothing."""


def _say(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201


@contextmanager
def _screen(*, has_lines: bool) -> Iterator[Show]:
    """Open a notebook's bar, a terminal's, or a log, which has a line now and then.

    A log that has a line for each run needs no others.
    """
    console = Console(stderr=True)
    if (notebook := _notebook()) is not None:
        yield notebook
    elif console.is_terminal:
        with Progress(BarColumn(), TextColumn("{task.description}"), console=console) as bar:
            task = bar.add_task("", total=1.0)
            yield lambda share, text: bar.update(task, completed=share, description=text)
    elif has_lines:
        yield _nothing
    else:
        last = time.monotonic()

        def show(share: float, text: str) -> None:
            nonlocal last
            if share >= 1 or time.monotonic() - last >= LINE_EVERY_S:
                last = time.monotonic()
                _say(text)

        yield show


def _notebook() -> Show | None:
    """Return what replaces one output of a notebook's cell; None outside of a notebook."""
    if "ipykernel" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython  # noqa: PLC0415
    from IPython.display import display  # noqa: PLC0415

    if type(get_ipython()).__name__ != "ZMQInteractiveShell":
        return None
    options = {"raw": True, "display_id": True}
    handle = display({"text/plain": ""}, **options)  # type: ignore[no-untyped-call]

    def show(share: float, text: str) -> None:
        bar = ("█" * round(share * NOTEBOOK_WIDTH)).ljust(NOTEBOOK_WIDTH, "░")
        handle.update({"text/plain": f"{bar} {text}"}, raw=True)

    return show
