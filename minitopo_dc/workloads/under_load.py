"""Small requests before and beside a download: what a loaded connection adds to a round trip."""

from __future__ import annotations

import math
import statistics
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from pydantic import model_validator

from minitopo_dc.fields.ranges import Seconds
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads.base import Column, Measurement, Row, RowsFigure, nearest_rank, workload
from minitopo_dc.workloads.download import ENDLESS_BYTES
from minitopo_dc.workloads.exchange import Client, Received, Requests, WrongAnswer
from minitopo_dc.workloads.request_response import (
    DELAYS,
    Content,
    RequestClient,
    RequestResponse,
    delays_ms,
)

TRIMMED = 0.05
"""Of the round trips, the longest, which are not in the mean (TMP of the draft)."""
MS_PER_MINUTE = 60_000
PHASES = ("idle", "warm-up", "loaded")
"""Of requests, by the number in their rows."""
IDLE, WARM_UP, LOADED = range(3)


@workload("under-load")
class UnderLoad(RequestResponse):
    """Requests every `interval_s`, beside which a download begins after `idle_s`.

    Both are on one connection: these are the probes of draft-ietf-ippm-responsiveness on
    connections that bear the load. Its probes on connections of their own are left out.
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("loaded_p95_ms", "loaded\np95\nms"),
        Column("loaded_delay_ms", "loaded\nms"),
        Column("idle_delay_ms", "idle\nms"),
        Column("loaded_ratio", "ratio\n"),
        Column("responsiveness_rpm", "round\ntrips\n/min"),
        Column("load_mbps", "load\nMbit/s"),
        Column("unanswered", "no\nanswer", count=True),
    )
    figure: ClassVar[RowsFigure | None] = replace(
        DELAYS, lines=("phase",), words={"phase": dict(enumerate(PHASES))}
    )
    more_measures: ClassVar[tuple[str, ...]] = ("requests", "answered", "loaded_mean_ms")
    takes_turns: ClassVar[bool] = True

    request_bytes: Content = 1
    response_bytes: Content = 1
    """The draft's probes are of one byte."""
    interval_s: Seconds = 0.1
    """The draft allows 100 probes a second, this project's choice is a tenth."""
    idle_s: Seconds = 2.0
    """Without a load: 20 round trips of the default interval."""
    warm_up_s: Seconds = 4.0
    """For the load to fill the legs: the draft's least time until it is stable, 4 intervals of 1 s.
    Requests that are sent in this time are neither idle nor loaded."""
    duration_s: Seconds | None = 16.0
    """Of all: 10 s behind the warm-up."""

    @model_validator(mode="after")
    def _check_load(self) -> Self:
        idle_s, last_s = self.idle_s, (self.requests - 1) * self.interval_s
        if idle_s + self.warm_up_s >= last_s:
            raise ValueError(
                f"the last request is sent after {last_s:g} s; allowed: after idle_s and "
                f"warm_up_s, {idle_s + self.warm_up_s:g} s together"
            )
        return self

    @property
    def size_bytes(self) -> int:
        """Return 0, as time decides how much the load is."""
        return 0

    def make_client(self, connection: Requests) -> Client:
        """Return the client, which has both on its connection."""
        return UnderLoadClient(self, connection)

    def measured(self, report: Mapping[str, Any]) -> Measurement:
        """Return the measurement in a client's report; each row has its phase."""
        measured = super().measured(report)
        began_s = measured.details["load_began_s"]
        begins = (began_s, began_s + self.warm_up_s) if began_s is not None else ()
        rows = [
            {**row, "phase": bisect(begins, float(row["sent_s"] or 0))} for row in measured.rows
        ]
        return replace(measured, rows=rows)

    def failure(self, measured: Measurement) -> str | None:
        """Return an error also if no request was answered without the load, or under it."""
        silent = [phase for phase in (IDLE, LOADED) if not _delays(measured.rows, phase)]
        words = (f"no {PHASES[phase]} request was answered" for phase in silent)
        return super().failure(measured) or next(words, None)

    def details(self, measured: Measurement) -> dict[str, Any]:
        """Return medians and their ratio, the draft's round trips per minute, the load's rate."""
        idle, loaded = (_delays(measured.rows, phase) for phase in (IDLE, LOADED))
        mean = statistics.fmean(loaded[: math.ceil((1 - TRIMMED) * len(loaded))])
        medians = statistics.median(idle), statistics.median(loaded)
        load = measured.details
        counts = super().details(measured)
        return {
            **{name: counts[name] for name in ("requests", "answered", "unanswered")},
            "idle_delay_ms": medians[0],
            "loaded_delay_ms": medians[1],
            "loaded_p95_ms": nearest_rank(loaded, 0.95),
            "loaded_mean_ms": mean,
            "loaded_ratio": medians[1] / medians[0],
            "responsiveness_rpm": MS_PER_MINUTE / mean,
            "load_mbps": 8 * load["load_bytes"] / load["load_s"] / 1e6,
        }


def _delays(rows: Sequence[Row], phase: int) -> list[float]:
    return delays_ms(row for row in rows if row["phase"] == phase)


class UnderLoadClient(RequestClient):
    """A client that begins a download without end between its requests."""

    def __init__(self, workload: UnderLoad, connection: Requests) -> None:
        super().__init__(workload, connection)
        self._idle_s = workload.idle_s
        self._load: int | None = None  # the streams
        self._last: int | None = None
        self._over = 0  # when to wait no longer for the last one (ns)
        self._content = Received()
        self._load_began_s: float | None = None
        self._load_s: float | None = None  # until the last request was sent
        self._load_bytes = 0

    def number(self, stream: int) -> int:
        """Return the number of a request; the load and its end have -1."""
        return -1 if stream in (self._load, self._last) else super().number(stream)

    def data(self, stream: int, data: bytes, now: int) -> None:
        """Take a piece of the load or of an answer.

        Raises:
            WrongAnswer: the load has other bytes than those sent.
        """
        if stream == self._load:
            self._content.take(data)
        elif stream != self._last:
            super().data(stream, data, now)
        if not self._content.is_right:
            raise WrongAnswer("other bytes arrived than those sent")

    def on_time(self, now: int) -> None:
        """Send what is due, begin the load, and count it with the last request."""
        if self._last is not None:
            self.ended = self.ended or now >= self._over
            return
        super().on_time(now)
        now_s = now / NS_PER_S
        if self._load is None and now_s >= self._load_due_s:
            self._load = self._connection.request("GET", f"/bytes/{ENDLESS_BYTES}")
            self._load_began_s = now_s - self._start_s
        if not self._left and self._load_s is None and self._load_began_s is not None:
            self._load_s = now_s - self._start_s - self._load_began_s
            self._load_bytes = self._content.size_bytes
        if self.ended and self._load is not None:
            self._stop(self._load, now)

    def _stop(self, load: int, now: int) -> None:
        """Stop the load, and end with an answer behind what is on its way.

        A server of TCP that still sends when its client leaves may not end.
        """
        self.ended = False
        self._connection.cancel(load)
        self._last = self._connection.request("GET", "/bytes/1")
        self._over = now + round(self._workload.patience_s * NS_PER_S)

    def end(self, stream: int, now: int) -> None:
        """Note that an answer is complete, or all of the load that was on its way."""
        if stream == self._last:
            self.ended = True
        else:
            super().end(stream, now)

    def next_timeout(self) -> float:
        """Return when something is due (ns)."""
        if self._last is not None:
            return math.inf if self.ended else self._over
        due = super().next_timeout()
        return min(due, self._load_due_s * NS_PER_S) if self._load is None else due

    def report(self) -> dict[str, Any]:
        """Return also what the load did until the last request was sent."""
        load = {"load_began_s": self._load_began_s, "load_s": self._load_s}
        return {**super().report(), **load, "load_bytes": self._load_bytes}

    @property
    def _load_due_s(self) -> float:
        return self._first_s + self._idle_s
