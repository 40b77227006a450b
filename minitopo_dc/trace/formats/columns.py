"""Columns of a trace file: what they hold, in which unit, and how a user says which is meant."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from minitopo_dc.numbers import RATE_UNITS, TIME_UNITS, Unit, is_ambiguous, rate_unit, time_unit
from minitopo_dc.trace.formats.fields import MAX_DIGITS, Row, is_date, is_number
from minitopo_dc.trace.model import TraceError
from minitopo_dc.units import NS_PER_S

DEFAULT_COLUMN = "DL_bitrate"
"""Raca's downlink: what a file of the formats that need no column is read with."""
ISO, RACA_CLOCK = Unit("iso", 0), Unit("dates", 0)
"""Dates and times, which have no size: those of ISO 8601, and those of Raca et al."""
MBPS, KBPS = Unit("Mbit/s", 1_000_000), Unit("kbit/s", 1_000)
SECONDS, MS = Unit("s", 1_000_000_000), Unit("ms", 1_000_000)
EPOCHS = tuple(
    Unit(name, size) for name, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))
)
"""The units in which times since 1970 are usual."""
YEAR_2000_S, YEAR_2100_S = 946_684_800, 4_102_444_800
MAX_WORDS = 3
"""The most words of a unit in a name: `bits_per_second`."""


@dataclass(frozen=True, slots=True)
class TraceColumn:
    """A column's name in the header, and the unit of what it holds."""

    name: str
    unit: Unit

    @classmethod
    def of(cls, text: str, kind: ColumnKind) -> TraceColumn | None:
        """Read `NAME:UNIT`, or `NAME` with a unit at its end (`time (ms)`, `downlink_kbps`).

        None: it names no unit.
        """
        name, _, given = text.rpartition(":")
        if name and (unit := kind.unit_of(given.strip())) is not None:
            return cls(name, unit)
        unit = kind.ending_of(text)
        return None if unit is None else cls(text, unit)


class ColumnKind(NamedTuple):
    """What a column may hold, and how it is chosen."""

    what: str
    unit_of: Callable[[str], Unit | None]
    """Return the unit that a text is; None for another."""
    units: tuple[str, ...]
    """Their usual spellings, for messages."""
    default: Unit
    """The unit of a file of two columns without a header."""
    field: str
    """The field of a leg's direction that names a column; none: there is none."""
    options: tuple[str, ...] = ()
    """The beginnings of options that do so, beside `--set`."""
    words: re.Pattern[str] | None = None
    """Of a name without a unit that tells what the column holds."""

    def ending_of(self, name: str) -> Unit | None:
        """Return the unit in which a column's name ends, None if it does not."""
        return next(filter(None, map(self.unit_of, _endings(name))), None)

    def choice(self, column: str) -> str:
        """Return what to type to choose a column."""
        options = [f"{option}{shlex.quote(column)}" for option in self.options]
        if not self.field:
            return "; ".join(options)
        field = f"--set {shlex.quote(f'legs.*.downlink.{self.field}={column}')}"
        return "; ".join((*options, field, f"in a scenario {self.field}: {column}"))


def _time_unit(text: str) -> Unit | None:
    return ISO if text.lower() == ISO.name else time_unit(text)


_TIMES = (_time_unit, (*TIME_UNITS, ISO.name), SECONDS)
CAPACITY = ColumnKind(
    *("capacity", rate_unit, RATE_UNITS, MBPS, "trace_column"),
    options=("--trace-column ", "trace info: --column "),
)
TIME = ColumnKind("time", *_TIMES, "trace_time_column", ("trace info: --time-column ",))
DELAY = ColumnKind(
    *("delay", time_unit, TIME_UNITS, MS, "delay_column"),
    words=re.compile(r"rtt|delay|latency|owd|ping|round.?trip", re.IGNORECASE),
)
DELAY_TIME = ColumnKind("time", *_TIMES, "delay_time_column")
CHANNEL_UNITS = {name: Unit(name, 1) for name in ("cqi", "mcs")}
CHANNEL = ColumnKind(
    *("channel", lambda text: CHANNEL_UNITS.get(text.lower()), tuple(CHANNEL_UNITS)),
    *(CHANNEL_UNITS["cqi"], "", ("trace convert: --column ",)),
)


def epoch_unit(text: str) -> Unit | None:
    """Return the unit of a time since 1970 within the years 2000 to 2099; None for another number.

    By its size it can be in one unit only.
    """
    number = Decimal(text) if is_number(text) else Decimal("nan")
    if not number.is_finite() or number.adjusted() > MAX_DIGITS:
        return None
    seconds = ((unit, number * unit.size / NS_PER_S) for unit in EPOCHS)
    return next((unit for unit, time in seconds if YEAR_2000_S <= time < YEAR_2100_S), None)


def words_of(time: TraceColumn, value: TraceColumn, what: str = "rates") -> str:
    """Return what the numbers of two columns are taken for, in words."""
    return (
        f"times of {time.name!r} in {time.unit.name}, {what} of {value.name!r} in {value.unit.name}"
    )


def name_of(column: str) -> str:
    """Return the name of `NAME:UNIT`, without the unit."""
    return column.rpartition(":")[0] or column


def time_of(header: Row, rows: Sequence[Row], given: str | None, kind: ColumnKind) -> TraceColumn:
    """Return the column with the time: the given one, or the first.

    It needs no unit where its first value is a date, or a number that is a time since 1970.

    Raises:
        TraceError: it is not there, or names no unit; the message says how to choose.
    """
    name = header.fields[0] if given is None else name_of(given)
    place = header.place(name)
    first = rows[0].fields[place] if rows and place < len(rows[0].fields) else ""
    if given is None and is_date(first):
        return TraceColumn(name, ISO)
    if (column := TraceColumn.of(given or name, kind)) is not None:
        return column
    if (unit := epoch_unit(first)) is not None:
        return TraceColumn(name, unit)
    if header.is_numbered and given is None:
        return TraceColumn(name, kind.default)
    raise _no_unit(header, given or name, kind)


def chosen_rate(header: Row, time_name: str, column: str) -> TraceColumn:
    """Return the column of the capacity, as `chosen_column` does; `DEFAULT_COLUMN` is none."""
    is_given = column != DEFAULT_COLUMN or column in header.fields
    return chosen_column(header, time_name, column if is_given else None, CAPACITY)


def chosen_column(header: Row, time_name: str, column: str | None, kind: ColumnKind) -> TraceColumn:
    """Return the column of the values: the given one, or the only one that can be meant.

    That is the only one beside the time, or the only one whose name tells what is in it.

    Raises:
        TraceError: there are several, there is none of this name, or it names no unit; the message
            says how to choose.
    """
    others = [name for name in header.fields if name != time_name]
    if column is None and len(others) == 1 and header.is_numbered:
        return TraceColumn(others[0], kind.default)
    if column is None:
        column = _only_column(header, others, kind)
    if (chosen := TraceColumn.of(column, kind)) is None:
        header.place(name_of(column))
        raise _no_unit(header, column, kind)
    return chosen


def _only_column(header: Row, others: list[str], kind: ColumnKind) -> str:
    named = [name for name in others if kind.words and kind.words.search(name)]
    named = named or list(filter(kind.ending_of, others))
    for meant in (others, named):
        if len(meant) == 1:
            return meant[0]
    what = f"no column of {len(others) + 1} is said to be the {kind.what}"
    if named:
        what = f"{len(named)} columns may be the {kind.what}"
    names = ", ".join(named or others)
    example = kind.choice(named[0] if named else f"{others[0]}:{kind.default.name}")
    raise header.error(what, f"one of {names}, as in {example}")


def _endings(name: str) -> Iterator[str]:
    """Yield the ends of a name that may be a unit, the longest first."""
    words = re.split(r"[\s_(\[.,-]+", name.rstrip(" )]"))
    for count in range(min(MAX_WORDS, len(words)), 0, -1):
        if words[-count - 1 : -count] not in (["per"], ["Per"]):
            yield "_".join(words[-count:])
    if capitals := re.search(r"(?<=[a-z])[A-Z]+[a-z/]*$", words[-1]):  # rateKbps, timeMs
        yield capitals[0]


def _no_unit(header: Row, text: str, kind: ColumnKind) -> TraceError:
    name, _, given = text.rpartition(":")
    unclear = next(filter(is_ambiguous, (given, *_endings(text))), None)
    why = "names no unit"
    if unclear is not None:
        why = f"is of no one unit: {unclear} could be of bits or bytes, or of 1,000 or 1,024"
    choice = kind.choice(f"{name or text}:{kind.default.name}")
    allowed = f"{name or text}:UNIT, as in {choice}; units: {', '.join(kind.units)}"
    return header.error(f"the {kind.what}'s column {text!r} {why}", allowed)
