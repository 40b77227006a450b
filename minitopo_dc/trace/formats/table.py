"""Reader of a CSV with a header and any columns, of which one is the time and one the capacity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from minitopo_dc.numbers import Unit
from minitopo_dc.trace.errors import TraceError
from minitopo_dc.trace.formats.columns import ISO, RACA_CLOCK, Column, index_of, source_of
from minitopo_dc.trace.formats.fields import Row, is_number, rate_bps, time_ns
from minitopo_dc.trace.model import RateTrace
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
