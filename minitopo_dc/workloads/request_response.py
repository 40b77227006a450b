"""Small requests and answers on one connection, at a steady pace, to measure their delay."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import model_validator

from minitopo_dc.settings.ranges import Seconds, within
from minitopo_dc.workloads.base import (
    Column,
    Measurement,
    Row,
    RowsFigure,
    Workload,
    workload,
)

MAX_BYTES = 10**9
MAX_REQUESTS = 10**6
"""Of one run: limits that catch a wrong unit."""
Content = Annotated[int, *within(1, MAX_BYTES, "bytes")]
Requests = Annotated[int, *within(1, MAX_REQUESTS)]


@workload("request-response")
class RequestResponse(Workload):
    """A request every `interval_s`, whether or not the ones before were answered.

    The defaults are those of the handover experiment of "Multipath QUIC: Design and Evaluation"
    (CoNEXT 2017) and of its authors' scripts: 750 bytes each way every 400 ms, for 30 s.

    An answer that has not come `patience_s` after the last request leaves its request unanswered:
    a row without a delay, counted. A run in which nothing was answered has failed.
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("answered", "answered", count=True),
        Column("unanswered", "no\nanswer", count=True),
        Column("delay_median_ms", "median\ndelay\nms"),
        Column("delay_p95_ms", "95th\npercentile\nms"),
        Column("delay_max_ms", "longest\ndelay\nms"),
    )
    figure: ClassVar[RowsFigure | None] = RowsFigure(
        x="sent_s",
        y="delay_ms",
        x_label="sent (s since the client began to connect)",
        y_label="delay (ms)",
        title="Delay of each request",
    )
    has_goodput: ClassVar[bool] = False

    request_bytes: Content = 750
    response_bytes: Content = 750
    interval_s: Seconds = 0.4
    count: Requests | None = None
    """How many requests; this or `duration_s`."""
    duration_s: Seconds | None = None
    """Send requests for so long; neither: 30 s."""
    patience_s: Seconds = 10.0
    """For the last answers: this project's choice, far above any delay of a path that works."""

    @model_validator(mode="after")
    def _check_end(self) -> Self:
        if self.count is not None and self.duration_s is not None:
            raise ValueError("give count or duration_s, not both")
        if self.requests > MAX_REQUESTS:
            raise ValueError(f"{self.requests} requests; allowed: at most {MAX_REQUESTS}")
        return self

    @property
    def requests(self) -> int:
        """Return the number of requests."""
        if self.count is not None:
            return self.count
        return math.ceil((self.duration_s or DEFAULT_DURATION_S) / self.interval_s)

    @property
    def size_bytes(self) -> int:
        """Return the bytes of all answers."""
        return self.requests * self.response_bytes

    @property
    def lasts_s(self) -> float | None:
        """Return the time (s) to the last request, and for the answers to come."""
        return (self.requests - 1) * self.interval_s + self.patience_s

    @property
    def reported_measures(self) -> tuple[str, ...]:
        """Return the names of the numbers in `details`."""
        return (*super().reported_measures, "requests", "delay_mean_ms")

    def failure(self, measured: Measurement) -> str | None:
        """Return an error if requests were not sent, or none was answered, else None."""
        if len(measured.rows) != self.requests:
            return f"client sent {len(measured.rows)} of {self.requests} requests"
        if not any(True for _ in delays_ms(measured.rows)):
            return f"none of {self.requests} requests was answered"
        return None

    def details(self, measured: Measurement) -> dict[str, Any]:
        """Return numbers of requests, and mean, median, 95th percentile, maximum of delays (ms)."""
        delays = sorted(delays_ms(measured.rows))
        return {
            "requests": len(measured.rows),
            "answered": len(delays),
            "unanswered": len(measured.rows) - len(delays),
            "delay_mean_ms": statistics.fmean(delays),
            "delay_median_ms": statistics.median(delays),
            "delay_p95_ms": delays[math.ceil(0.95 * len(delays)) - 1],  # nearest rank
            "delay_max_ms": delays[-1],
        }


DEFAULT_DURATION_S = 30.0
"""Of the authors' scripts (above)."""


def request_rows(times: Sequence[tuple[float, float | None]]) -> list[Row]:
    """Return one row for each request, of when it was sent and answered (s; None: it was not)."""
    return [
        {
            "request": number,
            "sent_s": sent,
            "answered_s": answered,
            "delay_ms": None if answered is None else (answered - sent) * 1e3,
        }
        for number, (sent, answered) in enumerate(times, start=1)
    ]


def delays_ms(rows: Sequence[Row]) -> Iterator[float]:
    """Yield the delays (ms) of the requests that were answered."""
    for row in rows:
        delay = row["delay_ms"]
        if delay is not None:
            yield delay
