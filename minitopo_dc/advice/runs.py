"""Runs of rows, several at once in processes that stay; each is kept in its directory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from minitopo_dc.advice.sides import Row
from minitopo_dc.comparison_runs import Execute, attempt, kept, run_directory
from minitopo_dc.pool import Pool
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario

Progress = Callable[[str], object]
"""Hears in a few words what is under way."""


@dataclass(frozen=True)
class Wanted:
    """A run that is asked for."""

    row: Row
    repetition: int
    """1, 2, ...; it has the seed of the base plus `repetition` - 1."""
    scenario: Scenario

    @classmethod
    def of(cls, row: Row, base: Scenario, repetition: int) -> Wanted:
        """Return the run of a row."""
        return cls(row, repetition, row.scenario(base, base.seed + repetition - 1))


@dataclass(frozen=True)
class Done:
    """A run that was made, now or before."""

    wanted: Wanted
    result: RunResult


class Runs:
    """Makes runs below a directory; those that are there already are not made again.

    Args:
        jobs: runs at once; 1: in this process.
        execute: makes one; with more than one of `jobs` a function of a module.
        clock: s, by which a time limit is kept.
        begun: called before the first run that is not there already.
    """

    def __init__(
        self,
        jobs: int,
        execute: Execute,
        clock: Callable[[], float] = time.monotonic,
        begun: Callable[[], object] = str,
    ) -> None:
        self._pool = Pool(attempt, jobs) if jobs > 1 else None
        self._execute, self._clock, self._begun = execute, clock, begun
        self.has_begun = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.__exit__()

    def now(self) -> float:
        """Return the time by which `until` of `make` is meant, in s."""
        return self._clock()

    def make(
        self, wanted: Sequence[Wanted], root: Path, until: float, progress: Progress = str
    ) -> list[Done]:
        """Return the runs that are done by a moment, in the order in which they were wanted.

        Args:
            wanted: whatever becomes of one, the others go on.
            root: where each has its directory.
            until: on this object's clock; what has not ended then is given up.
            progress: hears of each run that ends.
        """
        found = {place: done for place, each in enumerate(wanted) if (done := before(each, root))}
        missing = [place for place in range(len(wanted)) if place not in found]
        if missing and not self.has_begun:
            self.has_begun = True
            self._begun()
        for place, outcome in self._outcomes([wanted[each] for each in missing], root, until):
            each = wanted[missing[place]]
            at = directory(root, each)
            result = kept(outcome, each.scenario, at, each.repetition, each.row.variant)
            found[missing[place]] = Done(each, result)
            progress(f"{len(found)} of {len(wanted)} runs: {each.row.name} ({result.status})")
        return [found[place] for place in sorted(found)]

    def _outcomes(
        self, wanted: Sequence[Wanted], root: Path, until: float
    ) -> Iterator[tuple[int, object]]:
        arguments = [(self._execute, each.scenario, directory(root, each)) for each in wanted]
        if self._pool is not None:
            yield from self._pool.results(arguments, until)
            return
        for place, each in enumerate(arguments):
            if self._clock() >= until:
                return
            yield place, attempt(*each)


def directory(root: Path, wanted: Wanted) -> Path:
    """Return where a run is kept: as those of a comparison are."""
    return run_directory(root, wanted.repetition, wanted.scenario, wanted.row.variant)


def before(wanted: Wanted, root: Path) -> Done | None:
    """Return a run that was made before; None: it was not."""
    at = directory(root, wanted)
    with suppress(OSError, TypeError, ValueError):
        return Done(wanted, replace(RunResult.load(at), directory=os.fspath(at)))
    return None
