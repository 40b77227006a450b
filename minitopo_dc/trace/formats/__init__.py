"""Readers of trace files, whose format they tell, and writers that these read back."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from minitopo_dc.numbers import Unit
from minitopo_dc.trace.formats.cell_files import channel_trace
from minitopo_dc.trace.formats.columns import (
    CAPACITY,
    DEFAULT_COLUMN,
    SECONDS,
    TIME,
    TraceColumn,
    chosen_rate,
    name_of,
    time_of,
    words_of,
)
from minitopo_dc.trace.formats.fields import (
    MAX_DIGITS,
    Row,
    Rows,
    check_length,
    check_lines,
    rows_of,
    text_of,
    write_lines,
)
from minitopo_dc.trace.formats.table import TIMESTAMP, parse_raca, parse_table
from minitopo_dc.trace.model import (
    OpportunityTrace,
    RateTrace,
    Source,
    Trace,
    TraceError,
    to_opportunities,
)

_BEGINNING = re.compile(r"\s*(\{|\[\s*[{\]])")
"""Of an object of JSON, or of a list of objects."""
_DURATION = re.compile(r"duration_[a-z]+")
_FORMS = "Sabre's network.json: [{duration_ms, bandwidth_kbps}, ...], or iperf3's -J"
_SUM, _REVERSE = "sum", "sum_bidir_reverse"
_BPS = Unit("bit/s", 1)
VALUES = 4
"""Of an entry of `network.json` that has others than those that are known."""


def parse_json(path: Path, text: str, column: str) -> RateTrace:
    """Return the trace of either form.

    Args:
        path: the file, for messages.
        text: what is in it.
        column: `network.json`: the rate; `iperf3 -J`: `sum`, `stream_1`, `stream_2`, ..., and with
            `--bidir` `sum_bidir_reverse`. None is needed where there is only one; of several
            streams it is the sum.

    Raises:
        TraceError: the text is neither.
    """
    check_lines(path, max(text.count("{"), text.count(",") // VALUES), "entries")
    try:
        document = json.loads(text, parse_float=Decimal, parse_constant=Decimal)
    except json.JSONDecodeError as error:
        raise TraceError(path, error.lineno, f"no JSON: {error.msg}", _FORMS) from None
    except (ValueError, RecursionError) as error:
        raise TraceError(path, 0, f"no JSON that can be read: {error}"[:80], _FORMS) from None
    if isinstance(document, list) and all(isinstance(entry, dict) for entry in document):
        return _network(path, document, column)
    if isinstance(document, dict):
        return _iperf(path, document, column)
    raise TraceError(path, 0, "another form of JSON", _FORMS)


def _network(path: Path, entries: list[dict[str, Any]], column: str) -> RateTrace:
    names = list(entries[0]) if entries else []
    lasting = (TraceColumn.of(name, TIME) for name in names if _DURATION.fullmatch(name))
    if (time := next(filter(None, lasting), None)) is None or len(names) < 2:
        raise TraceError(path, 0, "no entry with a duration and its unit, and a rate", _FORMS)
    rates = [name for name in names if CAPACITY.ending_of(name)] or names
    file = Row(path, 0, [time.name, *rates])
    rate = chosen_rate(file, time.name, column)
    periods = []
    for number, entry in enumerate(entries, start=1):
        length, value = (_number(path, entry, part.name, number) for part in (time, rate))
        lasting_ns = file.time_ns(length, f"{time.name} of entry {number}", time.unit)
        name = f"{rate.name} of entry {number}"
        periods.append((lasting_ns, round(file.rate_bps(value, name, rate.unit))))
    return _of_periods(path, periods, Source(words_of(time, rate)))


def _iperf(path: Path, document: dict[str, Any], column: str) -> RateTrace:
    if "error" in document:
        raise TraceError(path, 0, f"iperf3 failed: {document['error']}"[:200], "a finished test")
    try:
        intervals = [
            {name: interval[name] for name in (_SUM, _REVERSE) if name in interval}
            | {f"stream_{number}": it for number, it in enumerate(interval["streams"], start=1)}
            for interval in document["intervals"]
        ]
        kept = [interval for interval in intervals if not interval[_SUM].get("omitted")]
        names = list(kept[0])
    except (LookupError, TypeError, AttributeError):
        raise TraceError(path, 0, "no intervals of iperf3", _FORMS) from None
    if column == DEFAULT_COLUMN and _REVERSE in names:
        what = f"{_SUM} and {_REVERSE} could be the capacity"
        allowed = f"one of {', '.join(names)}, as in {CAPACITY.choice(_REVERSE)}"
        raise TraceError(path, 0, what, allowed)
    file = Row(path, 0, names)
    name = _SUM if column == DEFAULT_COLUMN else name_of(column)
    if name not in names:
        raise TraceError(path, 0, f"no column {name!r}", ", ".join(names))
    periods = []
    for number, interval in enumerate(kept, start=1):
        entry = interval.get(name, {})
        numbers = [_number(path, entry, key, number) for key in ("start", "end", "bits_per_second")]
        start, end = (file.time_ns(text, "start, end", SECONDS) for text in numbers[:2])
        rate = file.rate_bps(numbers[2], f"{name} of interval {number}", _BPS)
        periods.append((end - start, round(rate)))
    words = TraceColumn("start", SECONDS), TraceColumn(f"{name} bits_per_second", _BPS)
    return _of_periods(path, periods, Source(words_of(*words)))


def _number(path: Path, entry: dict[str, Any], name: str, number: int) -> str:
    value = entry.get(name) if isinstance(entry, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise TraceError(path, 0, f"entry {number}: no number {name}", _FORMS)
    return str(value)


def _of_periods(path: Path, periods: list[tuple[int, int]], source: Source) -> RateTrace:
    """Return the trace of (length in ns, rate in bit/s); periods without a length are left out."""
    lasting = [(length, rate) for length, rate in periods if length > 0]
    if not lasting:
        raise TraceError(path, 0, "the trace lasts 0 s", "at least one period above 0")
    *times, end = accumulate((length for length, _ in lasting), initial=0)
    return RateTrace(path.name, tuple(times), tuple(rate for _, rate in lasting), end, source)


TraceFormat = Literal["auto", "raca", "mahimahi", "csv", "table", "json"]


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
            (:func:`parse_mahimahi`), `csv` and `table`
            (:func:`~minitopo_dc.trace.formats.table.parse_table`), `json`
            (:func:`~minitopo_dc.trace.formats.parse_json`), or `auto`: json by its first
            character, a table when `time_column` is given, else by the first line that is not a
            comment. A column called Timestamp is raca, one field is mahimahi, several are a table.
            Without a header a table has two columns, of seconds and Mbit/s.
        column: raca: the bit rate to take, `DL_bitrate` or `UL_bitrate`; table, json: `NAME:UNIT`,
            or `NAME` with a unit at its end (`downlink_mbps`); none is needed where one column only
            can be meant. Without a header columns are called `column 1`, `column 2`, ...
        time_column: table: like `column`; the first column without.

    Raises:
        TraceError: the file is not such a trace; the message has its line and what is allowed.
        OSError: it cannot be opened.
    """
    file = Path(path)
    text = text_of(file)
    if format == "json" or (format == "auto" and _BEGINNING.match(text)):
        trace: Trace = parse_json(file, text, column)
    else:
        rows = rows_of(file, text)
        match _detect(rows[0], time_column) if format == "auto" else format:
            case "raca":
                trace = parse_raca(rows, column)
            case "mahimahi":
                if column != DEFAULT_COLUMN:
                    allowed = "none: the file has one capacity, without a name"
                    raise rows[0].error(f"no column {name_of(column)!r}", allowed)
                trace = parse_mahimahi(rows)
            case _:
                trace = _read_table(rows, column, time_column)
    check_length(file, trace.duration_ns)
    return trace


def _read_table(rows: Rows, column: str, time_name: str | None) -> RateTrace:
    header, below = rows.with_header()
    channel = channel_trace(rows, column) if time_name is None else None
    if channel is not None:
        return channel
    if len(header.fields) == 1:
        raise header.error("one column", "a time and a capacity")
    if not below:
        raise header.error("no row with a rate", "at least one")
    time = time_of(header, below, time_name, TIME)
    rate = chosen_rate(header, time.name, column)
    ends = len(header.fields) == 2 and not rows[-1].fields[-1]
    return parse_table(header, below, time, rate, 0 if ends else None)


def parse_mahimahi(rows: Rows) -> OpportunityTrace:
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


def _detect(first: Row, time_column: str | None) -> TraceFormat:
    fields = first.fields
    if time_column is not None:
        return "table"
    of_raca = any(name.endswith("_bitrate") for name in fields)
    if TIMESTAMP in fields and (of_raca or not any(map(CAPACITY.ending_of, fields))):
        return "raca"
    if len(fields) == 1 and fields[0].isdigit():
        return "mahimahi"
    if len(fields) > 1:
        return "table"
    what = f"cannot tell the format from {fields[0][:60]!r}"
    allowed = (
        f"a raca header with {TIMESTAMP}, time,rate (csv), a header of columns (table), "
        "one number of ms (mahimahi), or json"
    )
    raise first.error(what, allowed)


def write_csv(trace: RateTrace, path: str | Path, *, comment: str = "") -> None:
    """Write `time_s,rate_mbps` with every digit, and a last row with the end and no rate.

    Reading it back gives the same times, rates and duration. Each line of `comment` becomes a
    line behind `#` at the top.
    """
    rows = zip(trace.times_ns, trace.rates_bps, strict=True)
    lines = [f"{_decimal(time, 9)},{_decimal(rate, 6)}" for time, rate in rows]
    end = f"{_decimal(trace.duration_ns, 9)},"
    write_lines(path, comment, ["time_s,rate_mbps", *lines, end])


def write_mahimahi(trace: Trace, path: str | Path) -> None:
    """Write one delivery opportunity per line, in ms.

    A rate trace is turned into opportunities by
    :func:`~minitopo_dc.trace.model.to_opportunities`, which says what that loses. The format has no
    comments.

    Raises:
        ValueError: the trace carries less than one opportunity.
    """
    opportunities = to_opportunities(trace) if isinstance(trace, RateTrace) else trace
    lines = "".join(f"{time}\n" for time in opportunities.times_ms)
    Path(path).write_text(lines, encoding="ascii")


def _decimal(value: int, places: int) -> str:
    """Return `value` / 10^`places` without a rounding error and without zeros at the end."""
    whole, part = divmod(value, 10**places)
    return f"{whole}.{part:0{places}d}".rstrip("0").rstrip(".")
