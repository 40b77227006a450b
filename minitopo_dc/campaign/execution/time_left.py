"""An estimate of how long the rest of a campaign's runs will take while others are under way.

The weights of `cost` give each run a number of seconds; they are scaled by how long the ended runs
took by the clock for each such second. So several runs at once, and a busy machine, need no numbers
of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from minitopo_dc.campaign.execution.cost import (
    Kind,
    Load,
    Observed,
    Weights,
    kind_of,
    lasts_s,
    megabytes,
    observed_of,
)
from minitopo_dc.campaign.timing import REAL_OVERHEAD_S
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario


class TimeLeft:
    """An estimate of the time left, which is told of each run that ends.

    Args:
        missing: the scenarios of all runs that are to be done.
        known: runs of the campaign that were timed before.
    """

    def __init__(self, missing: Sequence[Scenario], known: Iterable[Observed] = ()) -> None:
        is_real = any(scenario.clock == "real" for scenario in missing)
        self._work: _Work = _RealWork(missing) if is_real else _VirtualWork(missing, known)

    def end(self, scenario: Scenario, result: RunResult) -> None:
        """Count a run that has ended."""
        self._work.end(scenario, result)

    def seconds(self, elapsed_s: float) -> float | None:
        """Return the time in s that the rest takes; None as long as it cannot be told.

        Args:
            elapsed_s: the time since the first run began.
        """
        done, left = self._work.done_s(), self._work.left_s()
        return elapsed_s / done * left if done > 0 else None


class _Work(Protocol):
    """The runs that ended and those that are left, in seconds of their weights."""

    def end(self, scenario: Scenario, result: RunResult) -> None:
        """Count a run that has ended.

        One that did not take place counts as not done, and is no longer left.
        """

    def done_s(self) -> float:
        """Return the weight in s of the runs that ended."""

    def left_s(self) -> float:
        """Return the weight in s of the runs that are left."""


class _RealWork:
    """The work on the real clock, whose weights are known beforehand."""

    def __init__(self, missing: Sequence[Scenario]) -> None:
        self._done = 0.0
        self._left = sum(map(_real_s, missing))

    def end(self, scenario: Scenario, result: RunResult) -> None:
        self._left -= _real_s(scenario)
        if result.status != "unsupported":
            self._done += _real_s(scenario)

    def done_s(self) -> float:
        return self._done

    def left_s(self) -> float:
        return max(0.0, self._left)


class _VirtualWork:
    """The work on the virtual clock, whose weights are those of the runs that ended so far."""

    def __init__(self, missing: Sequence[Scenario], known: Iterable[Observed]) -> None:
        self._weights = Weights(known)
        self._done = _Loads()
        self._left = _Loads()
        for scenario in missing:
            self._left.add(kind_of(scenario), 1, megabytes(scenario))

    def end(self, scenario: Scenario, result: RunResult) -> None:
        kind, carried = kind_of(scenario), megabytes(scenario)
        self._left.add(kind, -1, -carried)
        if (observed := observed_of(scenario, result)) is not None:
            self._weights.add(observed)
            self._done.add(kind, 1, carried)

    def done_s(self) -> float:
        return self._weights.seconds(self._done.each())

    def left_s(self) -> float:
        return max(0.0, self._weights.seconds(self._left.each()))


class _Loads:
    """A table with one load of each kind."""

    def __init__(self) -> None:
        self._each: dict[Kind, Load] = {}

    def add(self, kind: Kind, runs: int, carried: float) -> None:
        before = self._each.get(kind, Load(kind, 0, 0.0))
        self._each[kind] = Load(kind, before.runs + runs, before.megabytes + carried)

    def each(self) -> Iterable[Load]:
        return self._each.values()


def _real_s(scenario: Scenario) -> float:
    return lasts_s(scenario) + REAL_OVERHEAD_S
