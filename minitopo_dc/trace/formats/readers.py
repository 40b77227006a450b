"""Readers of capacity traces: from a file to a trace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from minitopo_dc.trace.errors import TraceError
from minitopo_dc.trace.formats.cell_files import channel_trace
from minitopo_dc.trace.formats.fields import (
    MAX_DIGITS,
    Row,
    check_length,
    is_number,
    rate_bps,
    read_rows,
    time_ns,
)
from minitopo_dc.trace.formats.raca import TIMESTAMP, parse_raca
from minitopo_dc.trace.formats.table import Column, index_of, is_date, parse_table
from minitopo_dc.trace.model import OpportunityTrace, RateTrace, Trace

TraceFormat = Literal["auto", "raca", "mahimahi", "csv", "table"]
DEFAULT_COLUMN = "DL_bitrate"
"""Raca's downlink: what a file of the formats that need no column is read with."""

_TIME_UNITS = {"time_s": 1_000_000_000, "time_ms": 1_000_000}
_RATE_UNITS = {"rate_mbps": 1_000_000, "rate_kbps": 1_000, "rate_bps": 1}
_ONLY_ROW_NS = 1_000_000_000


def read_trace(
    path: str | Path,
    *,
    format: TraceFormat = "auto",
    column: str = DEFAULT_COLUMN,
    time_column: str | None = None,
) -> Trace:
    """Read a capacity trace.

    Args:
        path: the file (UTF-8; empty lines and lines that begin with `#` are skipped).
        format: `raca` (:func:`~minitopo_dc.trace.formats.raca.parse_raca`), `mahimahi`
            (:func:`parse_mahimahi`), `csv` (:func:`parse_csv`), `table`
            (:func:`~minitopo_dc.trace.formats.table.parse_table`), or `auto`: a table when
            `time_column` is given, else by the first line that is not a comment. A column
            called Timestamp is raca, one field is mahimahi, two fields are csv, more are a table.
        column: raca: the bit rate to take, `DL_bitrate` or `UL_bitrate`; table: `NAME:UNIT`, or
            `NAME` with a unit at its end (`downlink_mbps`): bps, kbps, mbps, gbps.
        time_column: table: like `column`, with the units s, ms, us, ns, iso; the first column
            without.

    Raises:
        TraceError: the file is not such a trace; the message has its line and what is allowed.
        OSError: it cannot be opened.
    """
    file = Path(path)
    rows = read_rows(file)
    kind = _detect(file, rows[0], time_column) if format == "auto" else format
    match kind:
        case "raca":
            trace: Trace = parse_raca(file, rows, column)
        case "mahimahi":
            _check_column(file, rows[0], column)
            trace = parse_mahimahi(file, rows)
        case "table":
            trace = _read_table(file, rows, column, time_column)
        case _:
            _check_column(file, rows[0], column)
            trace = parse_csv(file, rows)
    check_length(file, trace.duration_ns)
    return trace


def _read_table(path: Path, rows: list[Row], column: str, time_column: str | None) -> RateTrace:
    line, header = rows[0]
    channel = channel_trace(path, rows, column) if time_column is None else None
    if channel is not None:
        return channel
    if column == DEFAULT_COLUMN and column not in header:
        what = f"no column of {len(header)} is said to be the capacity"
        names = ", ".join(header)
        where = "--trace-column; trace info: --column; in a scenario trace_column"
        allowed = f"NAME:UNIT ({where}), NAME one of {names}"
        raise TraceError(path, line, what, allowed)
    try:
        time = _time_column(header, rows, time_column)
        rate = Column.rate(column)
    except ValueError as error:
        for each in filter(None, (column, time_column)):
            index_of(path, line, header, _name(each))
        raise TraceError(path, line, *error.args) from None
    return parse_table(path, rows, time, rate)


def _time_column(header: Sequence[str], rows: list[Row], named: str | None) -> Column:
    """Return the time's column; the first one may hold dates, which need no unit.

    Raises:
        ValueError: it names no unit; its arguments are what is wrong, and what is allowed.
    """
    if named is None and len(rows) > 1 and is_date(rows[1][1][0]):
        return Column(header[0], "iso")
    return Column.time(header[0] if named is None else named)


def _check_column(path: Path, first: Row, column: str) -> None:
    """Refuse a column name that a file of one capacity does not have."""
    line, fields = first
    names = [] if is_number(fields[0]) else fields[1:]
    if column != DEFAULT_COLUMN and _name(column) not in names:
        allowed = ", ".join(names) or "none: the file has one capacity, without a name"
        raise TraceError(path, line, f"no column {_name(column)!r}", allowed)


def _name(column: str) -> str:
    """Return the name of `NAME:UNIT`, without the unit."""
    return column.rpartition(":")[0] or column


def parse_mahimahi(path: Path, rows: list[Row]) -> OpportunityTrace:
    """Return one opportunity per line: whole ms since the start, ascending, the last above 0.

    Raises:
        TraceError: a line is none.
    """
    times: list[int] = []
    for line, fields in rows:
        text = fields[0]
        if len(fields) != 1 or not (text.isascii() and text.isdigit()) or len(text) > MAX_DIGITS:
            raise TraceError(
                path, line, f"{','.join(fields)[:60]!r}", "one whole number of ms a line"
            )
        if times and int(text) < times[-1]:
            raise TraceError(path, line, "time goes backwards", f"{times[-1]} ms or later")
        times.append(int(text))
    if times[-1] == 0:
        raise TraceError(path, rows[-1][0], "the trace lasts 0 ms", "a last line above 0")
    return OpportunityTrace(path.name, tuple(times))


def parse_csv(path: Path, rows: list[Row]) -> RateTrace:
    """Return the trace of two columns: a time, and the rate that holds from it on.

    A header names the units: `time_s` or `time_ms`, and `rate_mbps`, `rate_kbps` or
    `rate_bps`. Without a header they are seconds and Mbit/s. Times ascend; the first one is the
    trace's time 0. A last row with an empty rate says where the trace ends; without one the last
    rate lasts as long as the one before it (1 s if it is the only one).

    Raises:
        TraceError: a row is none of these.
    """
    for line, fields in rows:
        if len(fields) != 2:
            raise TraceError(path, line, f"{len(fields)} columns", "two columns: time, rate")
    time_unit, rate_unit = _units(path, rows[0])
    data = list(rows) if is_number(rows[0][1][0]) else rows[1:]
    end = data.pop() if data and not data[-1][1][1] else None
    if not data:
        raise TraceError(path, rows[-1][0], "no row with a rate", "at least one")
    times = _times(path, data if end is None else [*data, end], time_unit)
    return RateTrace(
        name=path.name,
        times_ns=tuple(times[: len(data)]),
        rates_bps=tuple(round(rate_bps(path, n, row[1], "the rate", rate_unit)) for n, row in data),
        duration_ns=_last_end(times) if end is None else times[-1],
    )


def _detect(path: Path, first: Row, time_column: str | None) -> TraceFormat:
    line, fields = first
    if time_column is not None:
        return "table"
    if TIMESTAMP in fields:
        return "raca"
    if len(fields) == 1 and fields[0].isdigit():
        return "mahimahi"
    if len(fields) == 2:
        return "csv"
    if len(fields) > 2 and not is_number(fields[0]):
        return "table"
    what = f"cannot tell the format from {','.join(fields)[:60]!r}"
    allowed = (
        f"a raca header with {TIMESTAMP}, time,rate (csv), a header of more columns (table), or "
        "one number of ms (mahimahi)"
    )
    raise TraceError(path, line, what, allowed)


def _units(path: Path, first: Row) -> tuple[int, int]:
    line, (time, rate) = first
    if is_number(time):
        return _TIME_UNITS["time_s"], _RATE_UNITS["rate_mbps"]
    for name, units in ((time, _TIME_UNITS), (rate, _RATE_UNITS)):
        if name not in units:
            raise TraceError(path, line, f"column {name!r}", ", ".join(units))
    return _TIME_UNITS[time], _RATE_UNITS[rate]


def _times(path: Path, data: list[Row], unit: int) -> list[int]:
    times: list[int] = []
    for line, fields in data:
        time = time_ns(path, line, fields[0], "the time", unit)
        if times and time <= times[-1]:
            raise TraceError(path, line, f"time {fields[0]} does not ascend", "a later time")
        times.append(time)
    return [time - times[0] for time in times]


def _last_end(times: list[int]) -> int:
    return times[-1] + (times[-1] - times[-2] if len(times) > 1 else _ONLY_ROW_NS)
