"""Readers of trace files, whose format they tell, and writers that these read back."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from minitopo_dc.numbers import Unit
from minitopo_dc.trace.convert import to_opportunities
from minitopo_dc.trace.formats.cell_files import channel_trace
from minitopo_dc.trace.formats.fields import (
    DEFAULT_COLUMN,
    ISO,
    KBPS,
    MAX_DIGITS,
    MBPS,
    SECONDS,
    Column,
    Row,
    check_length,
    chosen_rate,
    comment_lines,
    is_number,
    name_of,
    names_rate,
    rows_of,
    source_of,
    text_of,
)
from minitopo_dc.trace.formats.json_files import is_json, parse_json
from minitopo_dc.trace.formats.table import TIMESTAMP, is_date, parse_raca, parse_table
from minitopo_dc.trace.model import OpportunityTrace, RateTrace, Trace
from minitopo_dc.units import NS_PER_S

TraceFormat = Literal["auto", "raca", "mahimahi", "csv", "table", "json"]

_TIME_UNITS = {"time_s": SECONDS, "time_ms": Unit("ms", 1_000_000)}
_RATE_UNITS = {"rate_mbps": MBPS, "rate_kbps": KBPS, "rate_bps": Unit("bit/s", 1)}


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
        format: `raca` (:func:`~minitopo_dc.trace.formats.table.parse_raca`), `mahimahi`
            (:func:`parse_mahimahi`), `csv` (:func:`parse_csv`), `table`
            (:func:`~minitopo_dc.trace.formats.table.parse_table`), `json`
            (:func:`~minitopo_dc.trace.formats.json_files.parse_json`), or `auto`: json by its first
            character, a table when `time_column` is given, else by the first line that is not a
            comment. A column called Timestamp is raca, one field is mahimahi, two fields without a
            header or with the one of csv are csv, what else has a header is a table.
        column: raca: the bit rate to take, `DL_bitrate` or `UL_bitrate`; table, json: `NAME:UNIT`,
            or `NAME` with a unit at its end (`downlink_mbps`); a table of two columns needs none.
        time_column: table: like `column`; the first column without.

    Raises:
        TraceError: the file is not such a trace; the message has its line and what is allowed.
        OSError: it cannot be opened.
    """
    file = Path(path)
    text = text_of(file)
    if format == "json" or (format == "auto" and is_json(text)):
        trace: Trace = parse_json(file, text, column)
    else:
        rows = rows_of(file, text)
        match _detect(rows[0], time_column) if format == "auto" else format:
            case "raca":
                trace = parse_raca(rows, column)
            case "table":
                trace = _read_table(rows, column, time_column)
            case "mahimahi":
                _check_column(rows[0], column)
                trace = parse_mahimahi(rows)
            case _:
                _check_column(rows[0], column)
                trace = parse_csv(rows)
    check_length(file, trace.duration_ns)
    return trace


def _read_table(rows: list[Row], column: str, time_column: str | None) -> RateTrace:
    header = rows[0]
    channel = channel_trace(rows, column) if time_column is None else None
    if channel is not None:
        return channel
    first = header.fields[0]
    named = first if time_column is None else name_of(time_column)
    rate = chosen_rate(header, named, column)
    try:
        # Dates in the first column need no unit.
        has_dates = time_column is None and len(rows) > 1 and is_date(rows[1].fields[0])
        time = Column(first, ISO) if has_dates else Column.time(time_column or first)
    except ValueError as error:
        header.place(named)
        raise header.error(*error.args) from None
    ends = len(header.fields) == 2 and not rows[-1].fields[-1]
    return parse_table(rows, time, rate, 0 if ends else None)


def _check_column(first: Row, column: str) -> None:
    names = [] if is_number(first.fields[0]) else first.fields[1:]
    if column != DEFAULT_COLUMN and name_of(column) not in names:
        allowed = ", ".join(names) or "none: the file has one capacity, without a name"
        raise first.error(f"no column {name_of(column)!r}", allowed)


def parse_mahimahi(rows: list[Row]) -> OpportunityTrace:
    """Return one opportunity per line: whole ms since the start, ascending, the last above 0.

    Raises:
        TraceError: a line is none.
    """
    times: list[int] = []
    for row in rows:
        text = row.fields[0]
        is_whole = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
        if len(row.fields) != 1 or not is_whole:
            raise row.error(f"{','.join(row.fields)[:60]!r}", "one whole number of ms a line")
        if times and int(text) < times[-1]:
            raise row.error("time goes backwards", f"{times[-1]} ms or later")
        times.append(int(text))
    if times[-1] == 0:
        raise rows[-1].error("the trace lasts 0 ms", "a last line above 0")
    return OpportunityTrace(rows[0].path.name, tuple(times))


def parse_csv(rows: list[Row]) -> RateTrace:
    """Return the trace of two columns: a time, and the rate that holds from it on.

    A header names the units: `time_s` or `time_ms`, and `rate_mbps`, `rate_kbps` or
    `rate_bps`. Without a header they are seconds and Mbit/s. Times ascend; the first one is the
    trace's time 0. A last row with an empty rate says where the trace ends; without one the last
    rate lasts as long as the one before it (1 s if it is the only one).

    Raises:
        TraceError: a row is none of these.
    """
    for row in rows:
        row.check_width(2, "two columns: time, rate")
    time, rate = _columns(rows[0])
    data = list(rows) if is_number(rows[0].fields[0]) else rows[1:]
    end = data.pop() if data and not data[-1].fields[1] else None
    if not data:
        raise rows[-1].error("no row with a rate", "at least one")
    times: list[int] = []
    for row in data if end is None else [*data, end]:
        moment = row.time_ns(row.fields[0], "the time", time.unit)
        if times and moment <= times[-1]:
            raise row.error(f"time {row.fields[0]} does not ascend", "a later time")
        times.append(moment)
    times = [moment - times[0] for moment in times]
    last_ns = times[-1] - times[-2] if len(times) > 1 else NS_PER_S
    rates = (row.rate_bps(row.fields[1], "the rate", rate.unit) for row in data)
    return RateTrace(
        name=rows[0].path.name,
        times_ns=tuple(times[: len(data)]),
        rates_bps=tuple(map(round, rates)),
        duration_ns=times[-1] + (last_ns if end is None else 0),
        source=source_of(time, rate),
    )


def _detect(first: Row, time_column: str | None) -> TraceFormat:
    fields = first.fields
    if time_column is not None:
        return "table"
    of_raca = any(name.endswith("_bitrate") for name in fields)
    if TIMESTAMP in fields and (of_raca or not any(map(names_rate, fields))):
        return "raca"
    if len(fields) == 1 and fields[0].isdigit():
        return "mahimahi"
    is_header = fields[0] in _TIME_UNITS and fields[-1] in _RATE_UNITS
    if len(fields) == 2 and (is_number(fields[0]) or is_header):
        return "csv"
    if len(fields) > 1 and not is_number(fields[0]):
        return "table"
    what = f"cannot tell the format from {','.join(fields)[:60]!r}"
    allowed = (
        f"a raca header with {TIMESTAMP}, time,rate (csv), a header of columns (table), "
        "one number of ms (mahimahi), or json"
    )
    raise first.error(what, allowed)


def _columns(first: Row) -> tuple[Column, Column]:
    time, rate = first.fields
    if is_number(time):
        return Column("the first column", SECONDS), Column("the second column", MBPS)
    for name, units in ((time, _TIME_UNITS), (rate, _RATE_UNITS)):
        if name not in units:
            raise first.error(f"column {name!r}", ", ".join(units))
    return Column(time, _TIME_UNITS[time]), Column(rate, _RATE_UNITS[rate])


def write_csv(trace: RateTrace, path: str | Path, *, comment: str = "") -> None:
    """Write `time_s,rate_mbps` with every digit, and a last row with the end and no rate.

    Reading it back gives the same times, rates and duration. Each line of `comment` becomes a
    line behind `#` at the top.
    """
    lines = [*comment_lines(comment), "time_s,rate_mbps"]
    for time, rate in zip(trace.times_ns, trace.rates_bps, strict=True):
        lines.append(f"{_decimal(time, 9)},{_decimal(rate, 6)}")
    lines.append(f"{_decimal(trace.duration_ns, 9)},")
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_mahimahi(trace: Trace, path: str | Path) -> None:
    """Write one delivery opportunity per line, in ms.

    A rate trace is turned into opportunities by
    :func:`~minitopo_dc.trace.convert.to_opportunities`, which says what that loses. The format has
    neither comments nor another size than 1500 bytes, so neither is written.

    Raises:
        ValueError: the trace carries less than one opportunity, or its opportunities have another
            size than the format's.
    """
    opportunities = to_opportunities(trace) if isinstance(trace, RateTrace) else trace
    size = opportunities.bytes_per_opportunity
    if size != 1500:
        raise ValueError(f"trace {trace.name}: {size} bytes an opportunity; Mahimahi has 1500")
    lines = "".join(f"{time}\n" for time in opportunities.times_ms)
    Path(path).write_text(lines, encoding="ascii")


def _decimal(value: int, places: int) -> str:
    """Return `value` / 10^`places` without a rounding error and without zeros at the end."""
    whole, part = divmod(value, 10**places)
    return f"{whole}.{part:0{places}d}".rstrip("0").rstrip(".")
