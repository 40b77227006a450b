"""Readers of JSON: `network.json` of Sabre (Spiteri et al., MMSys 2018), and iperf3's `-J`."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any

from minitopo_dc.numbers import Unit, time_unit
from minitopo_dc.trace.formats.columns import (
    CAPACITY,
    DEFAULT_COLUMN,
    SECONDS,
    TIME,
    Column,
    chosen_rate,
    name_of,
    words_of,
)
from minitopo_dc.trace.formats.fields import Row, check_lines
from minitopo_dc.trace.model import RateTrace, Source, TraceError

_BEGINNING = re.compile(r"\s*(\{|\[\s*[{\]])")
_DURATION = re.compile(r"duration_([a-z]+)")
_FORMS = "Sabre's network.json: [{duration_ms, bandwidth_kbps}, ...], or iperf3's -J"
_SUM, _REVERSE = "sum", "sum_bidir_reverse"
_BPS = Unit("bit/s", 1)
VALUES = 4
"""Of an entry of `network.json` that has others than those that are known."""


def is_json(text: str) -> bool:
    """Return whether a text begins as an object of JSON or a list of objects does."""
    return _BEGINNING.match(text) is not None


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
    lasting = [name for name in names if (it := _DURATION.fullmatch(name)) and time_unit(it[1])]
    if not lasting:
        raise TraceError(path, 0, "no entry with a duration and its unit", _FORMS)
    time = Column.of(lasting[0], TIME)
    rates = [name for name in names if CAPACITY.is_unit_of(name)] or names
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
        intervals = [_columns_of(interval) for interval in document["intervals"]]
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
    words = Column("start", SECONDS), Column(f"{name} bits_per_second", _BPS)
    return _of_periods(path, periods, Source(words_of(*words)))


def _columns_of(interval: dict[str, Any]) -> dict[str, dict[str, Any]]:
    sums = {name: interval[name] for name in (_SUM, _REVERSE) if name in interval}
    streams = enumerate(interval["streams"], start=1)
    return sums | {f"stream_{number}": stream for number, stream in streams}


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
