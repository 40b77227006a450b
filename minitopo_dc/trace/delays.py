"""A delay over time from a file: a table, or what ping(8) printed."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import groupby, pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from minitopo_dc.trace.formats.columns import (
    DELAY,
    DELAY_TIME,
    MS,
    SECONDS,
    TraceColumn,
    chosen_column,
    time_of,
    words_of,
)
from minitopo_dc.trace.formats.fields import Row, check_lines, rows_of, text_of
from minitopo_dc.trace.formats.table import MISSING, Samples, over_time
from minitopo_dc.trace.model import DelayTrace, Source, TraceError
from minitopo_dc.units import NS_PER_MS, NS_PER_S

DelayIs = Literal["one-way", "round-trip"]
MAX_MS = 3_600_000
"""An hour: the longest delay that a leg may have (`Milliseconds`)."""
ECHO = re.compile(
    r"(?:\[(?P<clock>\d+\.\d+)\] )?\d+ bytes from .*?(?:icmp_)?seq=(?P<number>\d+) .*?"
    r"time=(?P<ms>[\d.]+) ms"
)
"""A line of ping(8) of iputils, BSD or BusyBox; `-D` prints the clock, when the answer has come.
Without it echoes are 1 s apart, ping's own interval."""
ANSWER = "bytes from"
SEQUENCES = 1 << 16
"""Numbers of echoes begin again after so many (RFC 792)."""
ROUND_TRIP = re.compile(r"rtt|round.?trip|ping", re.IGNORECASE)
"""Of a column's name."""
LOST = ("lost", "timeout", "nan", "*", "-1", "-1.0")
"""What loggers write for an echo without an answer, beside `MISSING`."""


def read_delays(
    path: Path,
    *,
    column: str | None = None,
    time_column: str | None = None,
    kind: DelayIs | None = None,
) -> DelayTrace:
    """Return the one-way delays of a file: halves of round trips.

    Args:
        path: a table as `read_trace` reads it, or the output of ping(8).
        column: of a table: the delay, `NAME:UNIT`, or `NAME` with a unit at its end; None: the only
            one that can be meant.
        time_column: of a table: the time, likewise; None: the first column.
        kind: what a table has; None: round trips if the column's name says so (`rtt_ms`).

    Raises:
        TraceError: it is neither; the message has the line and what is allowed.
        OSError: it cannot be opened.
    """
    text = text_of(path)
    if echoes := _echoes(path, text):
        columns = TraceColumn("time", SECONDS), TraceColumn("rtt", MS)
        header = Row(path, 0, [column.name for column in columns])
        has_clock = next(iter(echoes.values())).sent_s is not None
        notes = () if has_clock else ("echoes are taken for 1 s apart (ping -D writes times)",)
        return _delays(header, _echo_rows(path, echoes), columns, notes, half=True)
    header, rows = rows_of(path, text).with_header()
    time = time_of(header, rows, time_column, DELAY_TIME)
    delay = chosen_column(header, time.name, column, DELAY)
    is_named = kind is None and ROUND_TRIP.search(delay.name) is not None
    notes = (f"{delay.name!r} has round trips, of which a half is taken",) if is_named else ()
    return _delays(header, rows, (time, delay), notes, half=is_named or kind == "round-trip")


def _delays(
    header: Row,
    rows: Sequence[Row],
    columns: tuple[TraceColumn, TraceColumn],
    notes: tuple[str, ...],
    *,
    half: bool,
) -> DelayTrace:
    time, delay = columns
    most = Decimal(MAX_MS * NS_PER_MS)

    def delay_ns(row: Row, text: str) -> Decimal | None:
        if text in MISSING or text.lower() in LOST:
            return None
        value = row.number(text, delay.name) * delay.unit.size
        if value > most:
            raise row.error(f"{text} {delay.unit.name}", f"0 to {MAX_MS:,} ms")
        return value / 2 if half else value

    samples = over_time(header, rows, time, delay, delay_ns)
    source = Source(words_of(time, delay, "delays"), samples.equal_times, (*notes, *_lost(samples)))
    times, delays, duration, *_ = samples
    return DelayTrace(header.path.name, times, delays, duration, source)


def _lost(samples: Samples) -> Iterator[str]:
    """Yield that values are missing, and how to make the longest period of them an outage."""
    if not samples.missing_ns:
        return
    ends = (*samples.times_ns[1:], samples.duration_ns)
    periods = [
        (next(times), ends[place - 1])
        for place, times in groupby(samples.missing_ns, lambda time: bisect(samples.times_ns, time))
    ]
    begin, end = max(periods, key=lambda period: period[1] - period[0])
    total = len(samples.missing_ns) + len(samples.times_ns)
    yield (
        f"{len(samples.missing_ns)} of {total} values are missing or lost, where the delay before "
        f"holds and no outage is (outages: [[{begin / NS_PER_S:g}, {end / NS_PER_S:g}]] makes one "
        "of the longest)"
    )


class Echo(NamedTuple):
    """An echo of ping that was answered: its line, when it was sent (s), its round trip in ms."""

    line: int
    sent_s: Decimal | None
    ms: str


def _echoes(path: Path, text: str) -> dict[int, Echo]:
    """Return the first answer to each echo of ping's output, by its number; none of another file.

    Raises:
        TraceError: some echoes have a time of the clock, and others have none.
    """
    echoes: dict[int, Echo] = {}
    if ANSWER not in text:
        return echoes
    check_lines(path, text.count(ANSWER))
    last = None
    for line, words in enumerate(text.splitlines(), start=1):
        if (match := ECHO.match(words)) is None:
            continue
        number = int(match["number"]) % SEQUENCES
        if last is not None:  # the number of this echo that is nearest to the one before
            number = last + (number - last + SEQUENCES // 2) % SEQUENCES - SEQUENCES // 2
        last, ms, clock = number, match["ms"], match["clock"]
        sent_s = Decimal(clock) - Decimal(ms) / 1000 if clock else None
        first = next(iter(echoes.values()), None)
        if first is not None and (first.sent_s is None) != (sent_s is None):
            what = "an echo with a time among echoes without" if clock else "an echo without a time"
            raise TraceError(path, line, what, "ping -D for all of them, or for none")
        echoes.setdefault(number, Echo(line, sent_s, ms))
    return echoes


def _echo_rows(path: Path, echoes: Mapping[int, Echo]) -> list[Row]:
    """Return rows of a time (s) and a round trip (ms) by the time; lost echoes have no value.

    They are sent in equal steps between those before and behind them, all others 1 s apart unless
    they have a time.
    """
    times = {
        number: Decimal(number) if echo.sent_s is None else echo.sent_s
        for number, echo in sorted(echoes.items())
    }
    timed = [(times[number], echo.line, echo.ms) for number, echo in echoes.items()]
    for before, behind in pairwise(times):
        step = (times[behind] - times[before]) / (behind - before)
        line = echoes[behind].line
        timed += [(times[before] + step * n, line, "") for n in range(1, behind - before)]
    return [Row(path, line, [str(time), ms]) for time, line, ms in sorted(timed)]
