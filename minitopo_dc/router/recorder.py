"""The time series and the summary of an element's legs and bearers, written while it runs."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol, TextIO, cast

from minitopo_dc.files import write_json
from minitopo_dc.scenario.element import ElementSettings, ReceiveBearer, TransmitBearer
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
    """

    def __init__(self, path: Path, key: str, sources: Mapping[int, Snapshot]) -> None:
        self._sources = sources
        self._file: TextIO = path.open("w", encoding="utf-8", newline="")
        self._rows = csv.writer(self._file)
        self._columns = list(
            dict.fromkeys(name for source in sources.values() for name in source())
        )
        self._rows.writerow(["time_ns", key, *self._columns])

    def write(self, now: int) -> None:
        """Add a row for each source at `now` (ns)."""
        for key, source in self._sources.items():
            self._rows.writerow([now, key, *map(source().get, self._columns, repeat(0))])
        self._file.flush()  # readable while the run goes on

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()


class Counters:
    """Counters of an element's legs and bearers, on either clock.

    Args:
        settings: the element's.
        legs: of each leg, by its number.
        transmit: of each transmitting bearer of the settings, in their order.
        receive: of each receiving bearer.
        cells: of each cell of the settings; a column of it for each user, from 1.
    """

    def __init__(
        self,
        settings: ElementSettings,
        *,
        legs: Mapping[int, Statistics],
        transmit: Sequence[Statistics],
        receive: Sequence[Statistics],
        cells: Sequence[Statistics] = (),
    ) -> None:
        self._settings = settings
        self._sources = {"legs": {number: _snapshot(source, ()) for number, source in legs.items()}}
        bearers: Iterable[
            tuple[str, Sequence[TransmitBearer | ReceiveBearer], Sequence[Statistics]]
        ]
        bearers = (
            ("transmit", settings.transmit, transmit),
            ("receive", settings.receive, receive),
        )
        for name, own, statistics in bearers:
            self._sources[name] = {
                bearer.bearer: _snapshot(source, bearer.legs)
                for bearer, source in zip(own, statistics, strict=True)
            }
        if cells:
            self._sources["cells"] = {
                number: _snapshot(source, None) for number, source in enumerate(cells, start=1)
            }

    def series(self) -> Iterator[Series]:
        """Yield the time series files: legs always, bearers where this host has any."""
        for name, sources in self._sources.items():
            if sources:
                path = self._settings.directory / f"{self._settings.host}-{name}.csv"
                yield Series(path, KEYS.get(name, "bearer"), sources)

    def now(self) -> dict[str, dict[int, dict[str, Any]]]:
        """Return all counters, by the name of the file and the number of the leg or bearer."""
        return {
            name: {number: source() for number, source in sources.items()}
            for name, sources in self._sources.items()
        }


def _snapshot(statistics: Statistics, legs: Sequence[int] | None) -> Snapshot:
    return lambda: flatten(statistics(), legs)


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


def flatten(statistics: Any, legs: Sequence[int] | None = ()) -> dict[str, Any]:
    """Return the fields of a statistics dataclass, and of those in it, by the names of columns.

    A tuple has an item for each of the bearer's `legs` and becomes `name_LEG`; one of a dataclass
    within (a histogram), and all with `legs` None, have their own items and become `name_1`, ...
    None is no column.
    """
    names, values = _fields(cast("Hashable", type(statistics)))
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
            within = flatten(value, None)
            row.update(zip(_columns(name, tuple(within)), within.values(), strict=True))
        else:
            row[name] = value
    return row


@cache
def _columns(name: str, within: Sequence[int | str]) -> list[str]:
    return [f"{name}_{item}" for item in within]


@cache
def _fields(kind: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the names of a dataclass' fields, and a function that returns their values."""
    names = tuple(field.name for field in dataclasses.fields(kind))
    return names, attrgetter(*names, "__class__")  # with one name alone it would return no tuple


def write_summary(path: Path, summary: Mapping[str, Any]) -> None:
    """Write the summary at once: a reader sees all of it or none."""
    write_json(path, summary, synced=False)
