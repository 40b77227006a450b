"""Readers of a CSV with a header: any with a time and a capacity, and that of Raca et al.

The latter (ACM MMSys 2018 and 2020) has bit rates and cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from minitopo_dc.numbers import Unit
from minitopo_dc.trace.channels import HeardCell
from minitopo_dc.trace.formats.fields import (
    ISO,
    KBPS,
    RACA_CLOCK,
    Column,
    Row,
    is_number,
    source_of,
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
    rows: list[Row], time: Column, rate: Column, last_ns: int | None = None
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
    path, header = rows[0].path, rows[0]
    time_place, rate_place = header.place(time.name), header.place(rate.name)
    samples: dict[int, list[Decimal]] = {}
    for row, moment in zip(rows[1:], _moments(rows, time_place, time), strict=True):
        values, text = samples.setdefault(moment, []), row.fields[rate_place]
        if text not in MISSING:
            values.append(row.rate_bps(text, rate.name, rate.unit))
    known = [(moment, values) for moment, values in samples.items() if values]
    if not known:
        raise TraceError(path, 0, f"no value in column {rate.name!r}", "at least one number")
    zero, moments = known[0][0], list(samples)
    if last_ns is None:
        last_ns = moments[-1] - moments[-2] if len(moments) > 1 else NS_PER_S
    return RateTrace(
        name=path.name,
        times_ns=tuple(moment - zero for moment, _ in known),
        rates_bps=tuple(round(sum(values) / len(values)) for _, values in known),
        duration_ns=moments[-1] + last_ns - zero,
        source=source_of(time, rate, len(rows) - 1 - len(samples)),
    )


def _moments(rows: list[Row], place: int, time: Column) -> Iterator[int]:
    """Yield the times of rows below a header, which do not descend.

    They are in ns since 1970, or since whatever the file's times count from.
    """
    width, before = len(rows[0].fields), None
    for row in rows[1:]:
        row.check_width(width, f"{width} columns, as the header has")
        text = row.fields[place]
        if time.unit in _CLOCKS:
            try:
                stamp = _CLOCKS[time.unit](text)
            except ValueError as error:
                raise row.error(f"time stamp {text[:60]!r}", _WRITTEN[time.unit]) from error
            since = (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)) - _EPOCH
            moment = since // timedelta(microseconds=1) * 1_000
        else:
            moment = row.time_ns(text, time.name, time.unit)
        if before is not None and moment < before:
            raise row.error("time goes backwards", "time stamps that do not descend")
        before = moment
        yield moment


TIMESTAMP = "Timestamp"
TIME = Column(TIMESTAMP, RACA_CLOCK)
_RESOLUTION_NS = 1_000_000_000
"""Of the time stamps, so that the last row lasts 1 s."""


def parse_raca(rows: list[Row], column: str) -> RateTrace:
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
    return parse_table(rows, TIME, Column(column, KBPS), _RESOLUTION_NS)


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


def parse_raca_cells(rows: list[Row]) -> Iterator[Sample]:
    """Yield an operator's LTE cells: `RSRP` of the serving one, `NRxRSRP` of a neighbour.

    The set names no carriers: each operator has one, `LTE`, on which the neighbour interferes. As
    with bit rates (:func:`~minitopo_dc.trace.formats.table.parse_table`) a row holds up to the next
    time stamp, the last one for one second. A row of another network (`NetworkMode`) has no cell.

    Raises:
        TraceError: a column is missing, a field is not readable, or time goes backwards.
    """
    header = rows[0]
    places = [header.place(name) for name in _COLUMNS]
    times = _moments(rows, header.place(TIME.name), TIME)
    seconds = [moment // NS_PER_S for moment in times]
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
