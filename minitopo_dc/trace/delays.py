"""A delay over time from a file: a table of seconds and ms, or what ping(8) printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Literal

from minitopo_dc.trace.formats.fields import is_number, rows_of, text_of
from minitopo_dc.trace.model import EndRule, TraceError
from minitopo_dc.units import NS_PER_MS, NS_PER_S

DelayBetween = Literal["hold", "linear"]
"""What is between two values: the former one, or a line."""
LINE_STEP_NS = 10 * NS_PER_MS
"""Of a line: far below a round trip's, and a hundred changes a second."""
MAX_MS = 3_600_000
"""An hour: the longest delay that a leg may have (`Milliseconds`)."""
ECHO = re.compile(
    r"(?:\[(?P<clock>\d+\.\d+)\] )?\d+ bytes from .*icmp_seq=(?P<number>\d+) .*"
    r"time=(?P<ms>[\d.]+) ms"
)
"""A line of ping(8) of iputils; `-D` prints the clock. Without it echoes are 1 s apart, ping's own
interval."""


@dataclass(frozen=True, slots=True)
class DelayTrace:
    """Delays and their moments, both in ns, the first one at 0; the last one lasts as long."""

    moments: tuple[int, ...]
    delays: tuple[int, ...]

    @property
    def duration_ns(self) -> int:
        """Return the time after which it is over; the last value lasts as long as the one before.

        A trace of one value lasts 1 s.
        """
        last = self.moments[-1]
        return last + (last - self.moments[-2] if len(self.moments) > 1 else NS_PER_S)

    def steps(
        self, between: DelayBetween, end: EndRule, offset_ns: int = 0
    ) -> Iterator[tuple[int, int]]:
        """Yield each moment (ns, from 0) and the delay (ns) from then on, for ever with `loop`.

        Args:
            between: what is between two values.
            end: `loop`: it begins again; else the last value stays.
            offset_ns: the moment of the trace that is time 0.
        """
        begun = False
        before = self.delays[0]
        for cycle in count() if end == "loop" else (0,):
            for moment, delay in self._once(between):
                time = cycle * self.duration_ns + moment - offset_ns
                if time > 0:
                    if not begun:
                        yield 0, before
                    begun = True
                    yield time, delay
                before = delay
        if not begun:
            yield 0, before

    def _once(self, between: DelayBetween) -> Iterator[tuple[int, int]]:
        points = list(zip(self.moments, self.delays, strict=True))
        for (since, first), (until, second) in pairwise(points):
            steps = range(since, until, LINE_STEP_NS if between == "linear" else until - since)
            for moment in steps:
                yield moment, first + (second - first) * (moment - since) // (until - since)
        yield points[-1]


def read_delays(path: Path, *, round_trip: bool = False) -> DelayTrace:
    """Return the one-way delays of a file; those of ping are half of its round trips.

    Args:
        path: lines of seconds and ms, maybe with a header, or the output of ping(8).
        round_trip: whether the ms of a table are round trips, too.

    Raises:
        TraceError: it is neither, or its times do not ascend.
        OSError: it cannot be opened.
    """
    text = text_of(path)
    echoes = [echo for line in text.splitlines() if (echo := ECHO.match(line))]
    if echoes:
        half = True
        values = [
            (round(float(echo["clock"] or echo["number"]) * NS_PER_S), float(echo["ms"]))
            for echo in echoes
        ]
    else:
        half, values = round_trip, list(_table(path, text))
    begin = values[0][0]
    moments = tuple(moment - begin for moment, _ in values)
    if any(later <= earlier for earlier, later in pairwise(moments)):
        raise TraceError(path, 0, "a time is not after the one before", "ascending times")
    return DelayTrace(moments, tuple(round(ms * NS_PER_MS / (1 + half)) for _, ms in values))


def _table(path: Path, text: str) -> Iterator[tuple[int, float]]:
    rows = rows_of(path, text)
    for row in rows if is_number(rows[0].fields[0]) else rows[1:]:
        row.check_width(2, "seconds and ms, or the output of ping")
        seconds, ms = (row.number(field, "seconds and ms") for field in row.fields)
        if ms > MAX_MS:
            raise row.error(f"{ms} ms", f"0 to {MAX_MS:,} ms")
        yield round(seconds * NS_PER_S), float(ms)
