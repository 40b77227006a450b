"""Lines, columns and numbers of a trace file, with their units and their lines for messages."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NamedTuple

from minitopo_dc.files import UnreadableError, read_text
from minitopo_dc.numbers import RATE_UNITS, TIME_UNITS, Unit, is_ambiguous, rate_unit, time_unit
from minitopo_dc.trace.model import (
    LONGEST_FILE,
    LONGEST_LINE,
    LONGEST_S,
    MAX_BPS,
    Source,
    TraceError,
)
from minitopo_dc.units import NS_PER_S

MAX_DIGITS = 40
"""Before or behind the decimal point; ns since 1970 have 19."""
_DECIMAL_COMMA = re.compile(r"^([-+]?[0-9]+),([0-9]+)$")
QUOTED = 60
"""Characters of a field in a message."""
MIN_DBM, MAX_DBM = -156, -31
"""What a terminal can report as RSRP: 3GPP TS 38.133 section 10.1.6; LTE's range lies within."""


class Row(NamedTuple):
    """A line of a file, and its fields, stripped of blanks.

    Its methods read texts of it, and raise errors that have its place.
    """

    path: Path
    line: int
    """The line's number from 1; 0 stands for the whole file."""
    fields: list[str]

    def error(self, what: str, allowed: str) -> TraceError:
        """Return the error that something is wrong here."""
        return TraceError(self.path, self.line, what, allowed)

    def place(self, name: str) -> int:
        """Return at which index this header has a column.

        Raises:
            TraceError: it has none of this name, or several.
        """
        if name not in self.fields:
            raise self.error(f"no column {name!r}", ", ".join(self.fields))
        if self.fields.count(name) > 1:
            raise self.error(f"{self.fields.count(name)} columns {name!r}", "different names")
        return self.fields.index(name)

    def check_width(self, width: int, allowed: str) -> None:
        """Refuse another number of columns.

        Raises:
            TraceError: it has so many.
        """
        if len(self.fields) != width:
            raise self.error(f"{len(self.fields)} columns", allowed)

    def number(self, text: str, name: str) -> Decimal:
        """Return a finite number of at least 0, exactly as written.

        Raises:
            TraceError: it is none.
        """
        return self._finite(text, f"a number >= 0 for {name}", Decimal(0))

    def power_dbm(self, text: str, name: str) -> float:
        """Return a received power in dBm.

        Raises:
            TraceError: it is none that a terminal can report.
        """
        allowed = f"{MIN_DBM} to {MAX_DBM} dBm for {name}"
        value = self._finite(text, allowed, Decimal(MIN_DBM))
        if value > MAX_DBM:
            raise self.error(f"{text!r} is out of range", allowed)
        return float(value)

    def rate_bps(self, text: str, name: str, unit: Unit) -> Decimal:
        """Return a rate in bit/s, not rounded, of one written in a unit.

        Raises:
            TraceError: it is none, or above `MAX_BPS`.
        """
        if text.lower() == "nan":
            allowed = f"a number >= 0 for {name}; nothing, or -, where a table has no value"
            raise self.error(f"{text!r} is not a number", allowed)
        rate = self.number(text, name) * unit.size
        if rate > MAX_BPS:
            allowed = f"0 to {MAX_BPS // unit.size:,} {unit.name}; is it in bit/s?"
            raise self.error(f"{_cut(text)} {unit.name} for {name}", allowed)
        return rate

    def time_ns(self, text: str, name: str, unit: Unit) -> int:
        """Return a time in ns, of one written in a unit.

        Raises:
            TraceError: it is none.
        """
        return round(self.number(text, name) * unit.size)

    def _finite(self, text: str, allowed: str, least: Decimal) -> Decimal:
        try:
            value = _decimal(text)
        except InvalidOperation as error:
            raise self.error(f"{_cut(text)!r} is not a number", allowed) from error
        # What is so far from 1 is no time, rate or power, and integers of so many digits take for
        # ever.
        if not value.is_finite() or value < least or value.adjusted() > MAX_DIGITS:
            raise self.error(f"{_cut(text)!r} is out of range", allowed)
        return value if value.adjusted() > -MAX_DIGITS else Decimal(0)


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file; arguments and errors are those of `text_of` and `rows_of`."""
    return rows_of(path, text_of(path))


def text_of(path: Path) -> str:
    """Return the text of a file.

    Raises:
        TraceError: not UTF-8 text.
        OSError: it cannot be opened.
    """
    try:
        return read_text(path, LONGEST_FILE)
    except UnreadableError as error:
        raise TraceError(
            path, 0, f"is {error}", f"UTF-8 text, up to {LONGEST_FILE:,} bytes"
        ) from None


def rows_of(path: Path, text: str) -> list[Row]:
    """Return the rows of a text; what separates fields is seen in the first one.

    It is a semicolon, a tab, a comma or blanks. Numbers beside semicolons may have decimal commas.

    Raises:
        TraceError: nothing is in it, or a line is too long.
    """
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise TraceError(path, 0, "has no data", "at least one line that is not a comment")
    separator = _separator([line[:LONGEST_LINE] for _, line in lines[:2]])
    return [Row(path, number, _fields(path, number, line, separator)) for number, line in lines]


def comment_lines(comment: str) -> list[str]:
    """Return a comment's lines as those of a file, which readers skip."""
    return [f"# {line}".rstrip() for line in comment.splitlines()]


def is_number(text: str) -> bool:
    """Return whether the text is written like a number, which tells a header from data."""
    try:
        _decimal(text)
    except InvalidOperation:
        return False
    return True


def _decimal(text: str) -> Decimal:
    """Return what a text says as a number; 1_0, which Python takes for 10, is none."""
    return Decimal("nothing" if "_" in text else text)


def check_length(path: Path, length_ns: int) -> None:
    """Refuse a trace that is longer than a week.

    Raises:
        TraceError: it is.
    """
    if length_ns > LONGEST_S * NS_PER_S:
        allowed = f"up to {LONGEST_S:,} s, a week"
        raise TraceError(path, 0, f"the trace lasts {length_ns / NS_PER_S:g} s", allowed)


def _cut(text: str) -> str:
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def _separator(lines: Sequence[str]) -> str:
    first = lines[0]
    for separator in (";", "\t"):
        counts = {len(_split(line, separator)) for line in lines}
        if (1 not in counts and len(counts) == 1) or (separator in first and "," not in first):
            return separator
    return " " if "," not in first and len(first.split()) > 1 else ","


def _split(line: str, separator: str) -> list[str]:
    reader = csv.reader([line.strip(" ")], delimiter=separator, skipinitialspace=True)
    return [field.strip() for field in next(reader)]


def _fields(path: Path, number: int, line: str, separator: str) -> list[str]:
    if len(line) > LONGEST_LINE:
        allowed = f"{LONGEST_LINE:,} characters a line"
        raise TraceError(path, number, f"{len(line):,} characters", allowed)
    fields = _split(line, separator)
    if separator == ";":
        return [_DECIMAL_COMMA.sub(r"\1.\2", field) for field in fields]
    return fields


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

        def unit_of(ending: str) -> Unit | None:
            return ISO if ending.lower() == ISO.name else time_unit(ending)

        return cls._parse(text, unit_of, "time")

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


def name_of(column: str) -> str:
    """Return the name of `NAME:UNIT`, without the unit."""
    return column.rpartition(":")[0] or column


def chosen_rate(header: Row, time_name: str, column: str) -> Column:
    """Return the column of the capacity: the given one, or the only one beside the time.

    Raises:
        TraceError: there are several, there is none of this name, or it names no unit; the message
            says how to choose.
    """
    others = [name for name in header.fields if name != time_name]
    if column == DEFAULT_COLUMN and column not in header.fields:
        rates = list(filter(names_rate, others))
        where = "--trace-column; trace info: --column; in a scenario trace_column"
        if len(others) != 1 and len(rates) > 1:
            allowed = f"one of {', '.join(rates)} ({where})"
            raise header.error(f"{len(rates)} columns name a rate", allowed)
        if len(others) != 1:
            what = f"no column of {len(others) + 1} is said to be the capacity"
            allowed = f"NAME:UNIT ({where}), NAME one of {', '.join(rates or others)}"
            raise header.error(what, allowed)
        column = others[0]
    try:
        return Column.rate(column)
    except ValueError as error:
        header.place(name_of(column))
        raise header.error(*error.args) from None


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
