"""Columns of a file: their names, their units, and which of them is the capacity."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from minitopo_dc.numbers import RATE_UNITS, TIME_UNITS, Unit, is_ambiguous, rate_unit, time_unit
from minitopo_dc.trace.errors import TraceError
from minitopo_dc.trace.model import Source

DEFAULT_COLUMN = "DL_bitrate"
"""Raca's downlink: what a file of the formats that need no column is read with."""
ISO, RACA_CLOCK = Unit("iso", 0), Unit("dates", 0)
"""Dates and times, which have no size: those of ISO 8601, and those of Raca et al."""
MBPS, KBPS = Unit("Mbit/s", 1_000_000), Unit("kbit/s", 1_000)
SECONDS = Unit("s", 1_000_000_000)
MAX_WORDS = 3
"""The most words of a unit in a name: `bits_per_second`."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name in the header, and the unit of what it holds."""

    name: str
    unit: Unit

    @classmethod
    def time(cls, text: str) -> Column:
        """Read `NAME:UNIT`, or `NAME` with a unit at its end (`time_ms`, `time (ms)`, `seconds`).

        Units are those of `time_unit`, and iso: a date and time of ISO 8601.

        Raises:
            ValueError: it names no unit; its arguments are what is wrong, and what is allowed.
        """
        return cls._parse(text, _time_or_date, "time")

    @classmethod
    def rate(cls, text: str) -> Column:
        """Read `NAME:UNIT`, or `NAME` with a unit at its end (`downlink_kbps`, `DL [kbit/s]`).

        Units are those of `rate_unit`: their case counts.

        Raises:
            ValueError: it names no unit; its arguments are what is wrong, and what is allowed.
        """
        return cls._parse(text, rate_unit, "capacity")

    @classmethod
    def _parse(cls, text: str, unit_of: Callable[[str], Unit | None], what: str) -> Column:
        name, _, given = text.rpartition(":")
        if name and (unit := unit_of(given.strip())) is not None:
            return cls(name, unit)
        for ending in _endings(text):
            if (unit := unit_of(ending)) is not None:
                return cls(text, unit)
        raise ValueError(*_no_unit(text, what))


def names_rate(name: str) -> bool:
    """Return whether a column's name ends in a unit of rate."""
    return any(rate_unit(ending) is not None for ending in _endings(name))


def source_of(time: Column, rate: Column, equal_times: int = 0) -> Source:
    """Return what the numbers of two columns are taken for."""
    words = (
        f"times of {time.name!r} in {time.unit.name}, rates of {rate.name!r} in {rate.unit.name}"
    )
    return Source(words, equal_times)


def index_of(path: Path, line: int, header: Sequence[str], name: str) -> int:
    """Return at which index the header has a column.

    Raises:
        TraceError: it has none of this name, or several.
    """
    if name not in header:
        raise TraceError(path, line, f"no column {name!r}", ", ".join(header))
    if header.count(name) > 1:
        raise TraceError(path, line, f"{header.count(name)} columns {name!r}", "different names")
    return header.index(name)


def name_of(column: str) -> str:
    """Return the name of `NAME:UNIT`, without the unit."""
    return column.rpartition(":")[0] or column


def chosen_rate(
    path: Path, line: int, header: Sequence[str], time_name: str, column: str
) -> Column:
    """Return the column of the capacity: the given one, or the only one beside the time.

    Raises:
        TraceError: there are several, there is none of this name, or it names no unit; the message
            says how to choose.
    """
    others = [name for name in header if name != time_name]
    if column == DEFAULT_COLUMN and column not in header:
        if len(others) != 1:
            raise TraceError(path, line, *_several(others))
        column = others[0]
    try:
        return Column.rate(column)
    except ValueError as error:
        index_of(path, line, header, name_of(column))
        raise TraceError(path, line, *error.args) from None


def _several(others: Sequence[str]) -> tuple[str, str]:
    rates = list(filter(names_rate, others))
    where = "--trace-column; trace info: --column; in a scenario trace_column"
    if len(rates) > 1:
        return f"{len(rates)} columns name a rate", f"one of {', '.join(rates)} ({where})"
    what = f"no column of {len(others) + 1} is said to be the capacity"
    return what, f"NAME:UNIT ({where}), NAME one of {', '.join(rates or others)}"


def _time_or_date(text: str) -> Unit | None:
    return ISO if text.lower() == ISO.name else time_unit(text)


def _endings(name: str) -> Iterator[str]:
    """Yield the ends of a name that may be a unit, the longest first."""
    words = re.split(r"[\s_(\[.,-]+", name.rstrip(" )]"))
    for count in range(min(MAX_WORDS, len(words)), 0, -1):
        if words[-count - 1 : -count] not in (["per"], ["Per"]):
            yield "_".join(words[-count:])
    if capitals := re.search(r"(?<=[a-z])[A-Z]+[a-z/]*$", words[-1]):  # rateKbps, timeMs
        yield capitals[0]


def _no_unit(text: str, what: str) -> tuple[str, str]:
    field, of_legs, of_trace = {
        "time": ("trace_time_column", "--set legs.N.downlink.trace_time_column=", "--time-column"),
        "capacity": ("trace_column", "--trace-column", "--column"),
    }[what]
    units = RATE_UNITS if what == "capacity" else (*TIME_UNITS, ISO.name)
    name, _, given = text.rpartition(":")
    unclear = next(filter(is_ambiguous, (given, *_endings(text))), None)
    why = "names no unit"
    if unclear is not None:
        why = f"is of no one unit: {unclear} could be of bits or bytes, or of 1,000 or 1,024"
    return (
        f"the {what}'s column {text!r} {why}",
        f"{name or text}:UNIT ({of_legs}; trace info: {of_trace}; in a "
        f"scenario {field}), with one of {', '.join(units)}",
    )
