"""Readers of a CSV with a header: any with a time and a capacity, and that of Raca et al.

The latter (ACM MMSys 2018 and 2020) has bit rates and cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from minitopo_dc.numbers import Unit
from minitopo_dc.trace.channels import HeardCell
from minitopo_dc.trace.formats.columns import (
    CHANNEL,
    ISO,
    KBPS,
    RACA_CLOCK,
    TraceColumn,
    chosen_column,
    time_of,
    words_of,
)
from minitopo_dc.trace.formats.columns import TIME as ANY_TIME
from minitopo_dc.trace.formats.fields import Row, Rows, check_length, read_rows
from minitopo_dc.trace.model import RateTrace, Source, TraceError
from minitopo_dc.units import NS_PER_S

MAX_LAYERS = 8
"""Of a downlink (TS 38.211, clause 7.3.1.3)."""
MISSING = ("-", "")
"""What loggers and spreadsheets write where there is no value."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCKS: Mapping[Unit, Callable[[str], datetime]] = {
    ISO: datetime.fromisoformat,
    RACA_CLOCK: lambda text: datetime.strptime(text, "%Y.%m.%d_%H.%M.%S"),
}
_WRITTEN = {ISO: "2026-01-31T12:00:00.5, as ISO 8601 has it", RACA_CLOCK: "%Y.%m.%d_%H.%M.%S"}


class Samples(NamedTuple):
    """What a column holds over time; times are in ns, and the first value is at 0."""

    times_ns: tuple[int, ...]
    values: tuple[int, ...]
    duration_ns: int
    equal_times: int
    """How many rows have the time of the row before."""
    missing_ns: tuple[int, ...]
    """The times without a value, behind the first one."""


def over_time(
    header: Row,
    rows: Sequence[Row],
    time: TraceColumn,
    column: TraceColumn,
    value: Callable[[Row, str], Decimal | None],
    *,
    last_ns: int | None = None,
) -> Samples:
    """Return one column as a function of the time column.

    Loggers sample irregularly, so it is the time that counts, not the row's number:

    * a value holds from its time up to the next one, over gaps of any length;
    * a time that occurs in several rows has the mean of their values;
    * a missing value is no value: the previous one goes on holding;
    * rows before the first value are left out: time 0 is that of the first value;
    * the last row lasts `last_ns`, or as long as the one before it (1 s if it is the only one).

    Args:
        header: has the columns' names.
        rows: those below.
        time: the column with the time.
        column: the one with the values.
        value: reads a field of it; None where it has no value.
        last_ns: how long the last row lasts, in ns.

    Raises:
        TraceError: a column is missing, a field is not readable, or time goes backwards.
    """
    place, times, values, missing = header.place(column.name), [], [], []
    last, step, distinct = 0, NS_PER_S, 0
    for moment, group in groupby(_timed(header, rows, time), itemgetter(0)):
        read = (value(row, row.fields[place]) for _, row in group)
        known = [number for number in read if number is not None]
        if known:
            times.append(moment)
            values.append(round(known[0] if len(known) == 1 else sum(known) / len(known)))
        elif times:
            missing.append(moment)
        step, last, distinct = moment - last if distinct else step, moment, distinct + 1
    if not times:
        raise TraceError(
            header.path, 0, f"no value in column {column.name!r}", "at least one number"
        )
    zero = times[0]
    return Samples(
        times_ns=tuple(moment - zero for moment in times),
        values=tuple(values),
        duration_ns=last + (step if last_ns is None else last_ns) - zero,
        equal_times=len(rows) - distinct,
        missing_ns=tuple(moment - zero for moment in missing),
    )


def parse_table(
    header: Row,
    rows: Sequence[Row],
    time: TraceColumn,
    rate: TraceColumn,
    last_ns: int | None = None,
    *,
    bps: Callable[[Row, str], Decimal | None] | None = None,
) -> RateTrace:
    """Return one column as a function of the time column (:func:`over_time`).

    It has rates, or what `bps` makes rates (bit/s) of.

    Raises:
        TraceError: a column is missing, a field is not readable, or time goes backwards.
    """

    def written(row: Row, text: str) -> Decimal | None:
        return None if text in MISSING else row.rate_bps(text, rate.name, rate.unit)

    samples = over_time(header, rows, time, rate, bps or written, last_ns=last_ns)
    return RateTrace(
        name=header.path.name,
        times_ns=samples.times_ns,
        rates_bps=samples.values,
        duration_ns=samples.duration_ns,
        source=Source(words_of(time, rate), samples.equal_times),
    )


def read_channel(
    path: Path,
    mbps: Callable[[str, float, float | None], float],
    *,
    column: str | None = None,
    time_column: str | None = None,
    layers: str | None = None,
    share: str | None = None,
) -> RateTrace:
    """Return the rates that a log of a terminal's CQI or MCS stands for.

    Args:
        path: a table, or a file of Raca et al.
        mbps: takes `cqi` or `mcs`, its index and the layers, if they are logged, and returns a rate
            (Mbit/s); ValueError with what is wrong and what is allowed: there is none.
        column: the index, `NAME:cqi` or `NAME:mcs`, or a name that ends so; None: the only one.
        time_column: the time, as `read_trace` takes it.
        layers: the column of the layers (the rank).
        share: the column of the scheduler's share, in percent of the carrier's resource blocks.

    Raises:
        TraceError: it is no such log; the message has the line and what is allowed.
        OSError: it cannot be opened.
    """
    header, rows = read_rows(path).with_header()
    of_raca = time_column is None and TIMESTAMP in header.fields
    time = TIME if of_raca else time_of(header, rows, time_column, ANY_TIME)
    index = chosen_column(header, time.name, column, CHANNEL)
    beside = {name: header.place(name) for name in (layers, share) if name is not None}

    def bps(row: Row, text: str) -> Decimal | None:
        texts = {name: row.fields[place] for name, place in beside.items()}
        if text in MISSING or any(it in MISSING for it in texts.values()):
            return None
        rank = None if layers is None else _upto(row, texts[layers], layers, MAX_LAYERS)
        part = 100.0 if share is None else _upto(row, texts[share], share, 100)
        value = float(row.number(text, index.name))
        try:
            rate = mbps(index.unit.name, value, rank)
        except ValueError as error:
            raise row.error(*error.args) from None
        return Decimal(round(rate * part * 10_000))

    trace = parse_table(header, rows, time, index, bps=bps)
    check_length(path, trace.duration_ns)
    return trace


def _upto(row: Row, text: str, name: str, most: int) -> float:
    if (value := row.number(text, name)) > most:
        raise row.error(f"{text} for {name}", f"0 to {most}")
    return float(value)


def _timed(header: Row, rows: Sequence[Row], time: TraceColumn) -> Iterator[tuple[int, Row]]:
    """Yield rows with their times, which do not descend.

    They are in ns since 1970, or since whatever the file's times count from.
    """
    width, place, before = len(header.fields), header.place(time.name), None
    for row in rows:
        row.check_width(width, f"{width} columns, as the first row has")
        moment = _moment(row, row.fields[place], time)
        if before is not None and moment < before:
            raise row.error("time goes backwards", "time stamps that do not descend")
        before = moment
        yield moment, row


def _moment(row: Row, text: str, time: TraceColumn) -> int:
    if time.unit not in _CLOCKS:
        return row.time_ns(text, time.name, time.unit)
    try:
        stamp = _CLOCKS[time.unit](text)
    except ValueError as error:
        raise row.error(f"time stamp {text[:60]!r}", _WRITTEN[time.unit]) from error
    since = (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)) - _EPOCH
    return since // timedelta(microseconds=1) * 1_000


TIMESTAMP = "Timestamp"
TIME = TraceColumn(TIMESTAMP, RACA_CLOCK)


def parse_raca(rows: Rows, column: str) -> RateTrace:
    """Return one bit rate column (kbit/s), by :func:`~minitopo_dc.trace.formats.table.parse_table`.

    The 5G files have the columns of the 4G ones and others; both are found by their names.

    Raises:
        TraceError: a column is missing, a field is not readable, or time goes backwards.
    """
    header = rows[0]
    bitrates = [name for name in header.fields if name.endswith("_bitrate")]
    header.place(TIMESTAMP)
    if column not in bitrates:
        raise header.error(f"no column {column!r}", " or ".join(bitrates) or "*_bitrate")
    # The time stamps' resolution is 1 s, so the last row lasts that.
    return parse_table(header, rows[1:], TIME, TraceColumn(column, KBPS), NS_PER_S)


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


def parse_raca_cells(rows: Rows) -> Iterator[Sample]:
    """Yield an operator's LTE cells: `RSRP` of the serving one, `NRxRSRP` of a neighbour.

    The set names no carriers: each operator has one, `LTE`, on which the neighbour interferes. As
    with bit rates (:func:`~minitopo_dc.trace.formats.table.parse_table`) a row holds up to the next
    time stamp, the last one for one second. A row of another network (`NetworkMode`) has no cell.

    Raises:
        TraceError: a column is missing, a field is not readable, or time goes backwards.
    """
    header = rows[0]
    places = [header.place(name) for name in _COLUMNS]
    seconds = [moment // NS_PER_S for moment, _ in _timed(header, rows[1:], TIME)]
    distinct = sorted(set(seconds))
    check_gaps(header.path, distinct)
    ends = dict(pairwise([*distinct, distinct[-1] + 1])) if distinct else {}
    for row, second in zip(rows[1:], seconds, strict=True):
        for cell in _cells(row, [row.fields[place] for place in places]):
            yield from ((held, cell) for held in range(second, ends[second]))


def check_gaps(path: Path, seconds: list[int]) -> None:
    """Refuse a log with a gap that no drive has, before all its seconds are made.

    Raises:
        TraceError: there is one.
    """
    for before, after in pairwise(seconds):
        if after - before > LONGEST_GAP_S:
            what = f"no row for {after - before} s after {before} s"
            raise TraceError(path, 0, what, f"gaps of at most {LONGEST_GAP_S} s")


def _cells(row: Row, fields: list[str]) -> Iterator[HeardCell]:
    operator, serving, network, *powers = fields
    if network != _CARRIER:
        return
    for name, text, column in zip((serving, _NEIGHBOUR), powers, _COLUMNS[3:], strict=True):
        if text not in _MISSING:
            yield HeardCell(operator, _CARRIER, name, row.power_dbm(text, column))
