"""Readers of a CSV with a header: any with a time and a capacity, and that of Raca et al.

The latter (ACM MMSys 2018 and 2020) has bit rates and cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from minitopo_dc.numbers import Unit
from minitopo_dc.trace.drives.channels import HeardCell
from minitopo_dc.trace.formats.fields import (
    ISO,
    KBPS,
    RACA_CLOCK,
    Column,
    Row,
    index_of,
    is_number,
    power_dbm,
    rate_bps,
    source_of,
    time_ns,
)
from minitopo_dc.trace.model import RateTrace, TraceError
from minitopo_dc.units import NS_PER_S

MISSING = ("-", "")
"""What loggers and spreadsheets write where there is no value."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCKS: Mapping[Unit, Callable[[str], datetime]] = {
    ISO: datetime.fromisoformat,
    RACA_CLOCK: lambda text: datetime.strptime(text, "%Y.%m.%d_%H.%M.%S"),
}
_WRITTEN = {ISO: "2026-01-31T12:00:00.5, as ISO 8601 has it", RACA_CLOCK: "%Y.%m.%d_%H.%M.%S"}


def is_date(text: str) -> bool:
    """Return whether a value is a date and time of ISO 8601, and no number."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return not is_number(text)


def parse_table(
    path: Path, rows: list[Row], time: Column, rate: Column, last_ns: int | None = None
) -> RateTrace:
    """Return one rate column as a function of the time column.

    Loggers sample irregularly, so it is the time that counts, not the row's number:

    * a value holds from its time up to the next one, over gaps of any length;
    * a time that occurs in several rows has the mean of their values;
    * a missing value (`-` or empty) is no value: the previous one goes on holding;
    * rows before the first value are left out: time 0 is that of the first value;
    * the last row lasts `last_ns`, or as long as the one before it (1 s if it is the only one).

    Raises:
        TraceError: a column is missing, a field is not readable, or time goes backwards.
    """
    header_line, header = rows[0]
    time_index = index_of(path, header_line, header, time.name)
    rate_index = index_of(path, header_line, header, rate.name)
    samples: dict[int, list[Decimal]] = {}
    before: int | None = None
    for line, fields in rows[1:]:
        if len(fields) != len(header):
            what = f"{len(fields)} columns"
            raise TraceError(path, line, what, f"{len(header)} columns, as the header has")
        moment = moment_of(path, line, fields[time_index], time)
        if before is not None and moment < before:
            raise TraceError(path, line, "time goes backwards", "time stamps that do not descend")
        before = moment
        values = samples.setdefault(moment, [])
        if fields[rate_index] not in MISSING:
            values.append(rate_bps(path, line, fields[rate_index], rate.name, rate.unit))
    equal = len(rows) - 1 - len(samples)
    return replace(_assemble(path, rate, samples, last_ns), source=source_of(time, rate, equal))


def moment_of(path: Path, line: int, text: str, time: Column) -> int:
    """Return a time in ns since 1970, or since whatever the file's times count from.

    Raises:
        TraceError: the text is no time of the column's unit.
    """
    if time.unit not in _CLOCKS:
        return time_ns(path, line, text, time.name, time.unit)
    try:
        moment = _CLOCKS[time.unit](text)
    except ValueError as error:
        raise TraceError(path, line, f"time stamp {text[:60]!r}", _WRITTEN[time.unit]) from error
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return since // timedelta(microseconds=1) * 1_000


def _assemble(
    path: Path, rate: Column, samples: dict[int, list[Decimal]], last_ns: int | None
) -> RateTrace:
    known = [(moment, values) for moment, values in samples.items() if values]
    if not known:
        raise TraceError(path, 0, f"no value in column {rate.name!r}", "at least one number")
    zero = known[0][0]
    moments = list(samples)
    if last_ns is None:
        last_ns = moments[-1] - moments[-2] if len(moments) > 1 else NS_PER_S
    return RateTrace(
        name=path.name,
        times_ns=tuple(moment - zero for moment, _ in known),
        rates_bps=tuple(round(sum(values) / len(values)) for _, values in known),
        duration_ns=moments[-1] + last_ns - zero,
    )


TIMESTAMP = "Timestamp"
TIME = Column(TIMESTAMP, RACA_CLOCK)
_RESOLUTION_NS = 1_000_000_000
"""Of the time stamps, so that the last row lasts 1 s."""


def parse_raca(path: Path, rows: list[Row], column: str) -> RateTrace:
    """Return one bit rate column (kbit/s), by :func:`~minitopo_dc.trace.formats.table.parse_table`.

    The 5G files have the columns of the 4G ones and others; both are found by their names.

    Raises:
        TraceError: a column is missing, a field is not readable, or time goes backwards.
    """
    line, header = rows[0]
    bitrates = [name for name in header if name.endswith("_bitrate")]
    index_of(path, line, header, TIMESTAMP)
    if column not in bitrates:
        allowed = " or ".join(bitrates) or "*_bitrate"
        raise TraceError(path, line, f"no column {column!r}", allowed)
    return parse_table(path, rows, TIME, Column(column, KBPS), _RESOLUTION_NS)


Sample = tuple[int, HeardCell]
"""A cell and the second (from any moment) in which it was heard."""

LONGEST_GAP_S = 86_400
"""A longer one is a wrong unit or two logs in one; a day is more than any drive."""
_COLUMNS = ("Operatorname", "CellID", "NetworkMode", "RSRP", "NRxRSRP")
_CARRIER = "LTE"
_MISSING = (*MISSING, "0", "0.0")
"""0 dBm is no power that a terminal hears: some rows have it where others have nothing."""
_NEIGHBOUR = "neighbour"
"""The set does not say which cell `NRxRSRP` is of."""


def parse_raca_cells(path: Path, rows: list[Row]) -> Iterator[Sample]:
    """Yield an operator's LTE cells: `RSRP` of the serving one, `NRxRSRP` of a neighbour.

    The set names no carriers: each operator has one, `LTE`, on which the neighbour interferes. As
    with bit rates (:func:`~minitopo_dc.trace.formats.table.parse_table`) a row holds up to the next
    time stamp, the last one for one second. A row of another network (`NetworkMode`) has no cell.

    Raises:
        TraceError: a column is missing, a field is not readable, or time goes backwards.
    """
    line, header = rows[0]
    places = [index_of(path, line, header, name) for name in _COLUMNS]
    seconds = _seconds(path, rows, index_of(path, line, header, TIME.name))
    check_gaps(path, sorted(set(seconds)))
    ends = _ends(seconds)
    for (line, fields), second in zip(rows[1:], seconds, strict=True):
        for cell in _cells(path, line, [fields[place] for place in places]):
            yield from ((each, cell) for each in range(second, ends[second]))


def check_gaps(path: Path, seconds: list[int]) -> None:
    """Refuse a log with a gap that no drive has, before all its seconds are made.

    Raises:
        TraceError: there is one.
    """
    for before, after in pairwise(seconds):
        if after - before > LONGEST_GAP_S:
            what = f"no row for {after - before} s after {before} s"
            raise TraceError(path, 0, what, f"gaps of at most {LONGEST_GAP_S} s")


def _seconds(path: Path, rows: list[Row], time: int) -> list[int]:
    seconds: list[int] = []
    for line, fields in rows[1:]:
        if len(fields) != len(rows[0][1]):
            allowed = f"{len(rows[0][1])} columns, as the header has"
            raise TraceError(path, line, f"{len(fields)} columns", allowed)
        seconds.append(moment_of(path, line, fields[time], TIME) // NS_PER_S)
        if len(seconds) > 1 and seconds[-1] < seconds[-2]:
            raise TraceError(path, line, "time goes backwards", "time stamps that do not descend")
    return seconds


def _ends(seconds: list[int]) -> dict[int, int]:
    """Return, for each second, until which second its rows hold."""
    distinct = sorted(set(seconds))
    return dict(pairwise([*distinct, distinct[-1] + 1])) if distinct else {}


def _cells(path: Path, line: int, fields: list[str]) -> Iterator[HeardCell]:
    operator, serving, network, *powers = fields
    if network != _CARRIER:
        return
    for name, text, column in zip((serving, _NEIGHBOUR), powers, _COLUMNS[3:], strict=True):
        if text not in _MISSING:
            power = power_dbm(path, line, text, column)
            yield HeardCell(operator, _CARRIER, name, power)
