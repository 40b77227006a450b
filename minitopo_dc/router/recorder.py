"""The time series and the summary of an element's legs and bearers, written while it runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol, cast

from minitopo_dc.files import CsvFile
from minitopo_dc.scenario.element import ElementSettings
from minitopo_dc.units import NS_PER_MS

Statistics = Callable[[], Any]
"""Returns a statistics dataclass of a core."""
Snapshot = Callable[[], dict[str, Any]]
"""Returns the same by the names of columns."""


KEYS = {"legs": "leg", "cells": "cell"}
"""The column that tells sources of a file apart; of others it is the bearer."""


class Series:
    """One CSV file: a row for each interval and source (leg or bearer), its statistics as columns.

    The columns are those of all sources; a bearer counts 0 on the legs that it lacks.

    Args:
        path: the file's.
        key: the name of the column that tells sources apart.
        sources: what gives each one's counters, by its number.
        buffering: that of `open`: 1 has each row in the file when it was written.
    """

    def __init__(
        self, path: Path, key: str, sources: Mapping[int, Snapshot], buffering: int = -1
    ) -> None:
        self._sources = sources
        self._columns = list(
            dict.fromkeys(name for source in sources.values() for name in source())
        )
        self._file = CsvFile(path, ["time_ns", key, *self._columns], buffering)

    def write(self, now: int) -> None:
        """Add a row for each source at `now` (ns)."""
        for key, source in self._sources.items():
            self._file.add([now, key, *map(source().get, self._columns, repeat(0))])

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()


def snapshot(statistics: Statistics, legs: Sequence[int] | None = ()) -> Snapshot:
    """Return what gives a source's counters by the names of columns (`flatten`)."""
    return lambda: flatten(statistics(), legs)


def open_series(
    settings: ElementSettings, sources: Mapping[str, Mapping[int, Snapshot]], buffering: int = -1
) -> Iterator[Series]:
    """Begin a host's files (`Series`), each with its sources by their numbers; none for none."""
    for name, of_file in sources.items():
        if of_file:
            path = settings.directory / f"{settings.host}-{name}.csv"
            yield Series(path, KEYS.get(name, "bearer"), of_file, buffering)


class SeriesWriter(Protocol):
    """A time series that is being written."""

    def write(self, now: int) -> None:
        """Add a row for each source at `now` (ns)."""

    def close(self) -> None:
        """Flush and close the file."""


class Recorder:
    """Writes the series every interval; a timed part of the loop."""

    def __init__(self, series: Sequence[SeriesWriter], interval_ms: int, now: int) -> None:
        self._series = series
        self._interval = interval_ms * NS_PER_MS
        self._next = now

    def next_timeout(self) -> int:
        """Return when the next row is due (ns)."""
        return self._next

    def handle(self, now: int) -> None:
        """Write a row, late or not, and keep to the grid of the first one."""
        for series in self._series:
            series.write(now)
        self._next += self._interval * ((now - self._next) // self._interval + 1)

    def close(self, now: int) -> None:
        """Write the last row and close the files."""
        for series in self._series:
            series.write(now)
            series.close()


def flatten(statistics: Any, legs: Sequence[int] | None = (), prefix: str = "") -> dict[str, Any]:
    """Return the fields of a statistics dataclass, and of those in it, by the names of columns.

    A tuple has an item for each of the bearer's `legs` and becomes `name_LEG`; one of a dataclass
    within (a histogram), and all with `legs` None, have their own items and become `name_1`, ...
    None is no column.
    """
    names, values = _fields(cast("Hashable", type(statistics)), prefix)
    row: dict[str, Any] = {}
    for name, value in zip(names, values(statistics), strict=False):
        if type(value) is int:  # most of them, in each row of each series
            row[name] = value
        elif value is None:
            continue
        elif isinstance(value, tuple):
            numbers = range(1, len(value) + 1) if legs is None else tuple(legs)
            row.update(zip(_columns(name, numbers), value, strict=True))
        elif dataclasses.is_dataclass(value):
            row.update(flatten(value, None, f"{name}_"))
        else:
            row[name] = value
    return row


@cache
def _columns(name: str, numbers: Sequence[int]) -> list[str]:
    return [f"{name}_{number}" for number in numbers]


@cache
def _fields(kind: Any, prefix: str) -> tuple[list[str], Callable[[Any], tuple[Any, ...]]]:
    """Return the columns of a dataclass' fields, and a function that returns their values."""
    names = [field.name for field in dataclasses.fields(kind)]
    columns = [f"{prefix}{name}" for name in names]
    return columns, attrgetter(*names, "__class__")  # with one name alone it would return no tuple
