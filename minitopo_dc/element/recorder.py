"""Time series and summary of an element: what its legs and bearers did, written as it goes."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

NS_PER_MS = 1_000_000

Snapshot = Callable[[], Any]
"""Returns a statistics dataclass of a core."""


class Series:
    """One CSV file: a row an interval and a source (a leg, a bearer), its statistics as columns.

    A bearer over fewer legs than another counts 0 on those that it lacks.
    """

    def __init__(self, path: Path, key: str, sources: Mapping[int, Snapshot]) -> None:
        self._sources = sources
        self._file: TextIO = path.open("w", encoding="utf-8", newline="")
        self._rows = csv.writer(self._file)
        self._columns = max((list(flatten(source())) for source in sources.values()), key=len)
        self._rows.writerow(["time_ns", key, *self._columns])

    def write(self, now: int) -> None:
        """Add a row for each source."""
        for key, source in self._sources.items():
            values = flatten(source())
            self._rows.writerow([now, key, *(values.get(name, 0) for name in self._columns)])
        self._file.flush()  # readable while the run goes on

    def close(self) -> None:
        """Flush and close."""
        self._file.close()


class Rows(Protocol):
    """A time series that is being written."""

    def write(self, now: int) -> None:
        """Add a row for each source."""

    def close(self) -> None:
        """Flush and close."""


class Recorder:
    """Writes the series every interval; a timed part of the loop."""

    def __init__(self, series: Sequence[Rows], interval_ms: int, now: int) -> None:
        self._series = series
        self._interval = interval_ms * NS_PER_MS
        self._next = now

    def next_timeout(self) -> int:
        """When the next row is due."""
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


def flatten(statistics: Any) -> dict[str, Any]:
    """Fields of a statistics dataclass, and of those in it; a tuple becomes ``name_1``, ..."""
    return dict(_fields(statistics))


def _fields(statistics: Any) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(statistics):
        value = getattr(statistics, field.name)
        if dataclasses.is_dataclass(value):
            yield from ((f"{field.name}_{name}", item) for name, item in _fields(value))
        elif isinstance(value, tuple):
            for position, item in enumerate(value, start=1):
                yield f"{field.name}_{position}", item
        else:
            yield field.name, value


def write_summary(path: Path, summary: Mapping[str, Any]) -> None:
    """Write the summary at once: a reader sees all of it or none."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(summary, indent=1), encoding="utf-8")
    partial.rename(path)
