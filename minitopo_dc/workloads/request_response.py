"""Requests and answers on one connection at a steady pace, and echoes (ping): their delay."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import model_validator

from minitopo_dc.fields.ranges import Seconds, within
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads.base import (
    Column,
    Measurement,
    Row,
    RowsFigure,
    Workload,
    measurement,
    nearest_rank,
    workload,
)
from minitopo_dc.workloads.exchange import Client, Received, Requests, WrongAnswer, blocks

MAX_BYTES = 10**9
MAX_REQUESTS = 10**6
"""Of one run: limits that catch a wrong unit."""
Content = Annotated[int, *within(1, MAX_BYTES, "bytes")]
Count = Annotated[int, *within(1, MAX_REQUESTS)]
DELAYS = RowsFigure(
    x="sent_s",
    y="delay_ms",
    x_label="sent (s since the client began to connect)",
    y_label="delay (ms)",
    title="Delay of each request",
)


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
    more_measures: ClassVar[tuple[str, ...]] = ("requests", "delay_mean_ms")
    figure: ClassVar[RowsFigure | None] = DELAYS
    has_goodput: ClassVar[bool] = False

    request_bytes: Content = 750
    response_bytes: Content = 750
    interval_s: Seconds = 0.4
    count: Count | None = None
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

    def make_client(self, connection: Requests) -> Client:
        """Return the client, which sends them at their times."""
        return RequestClient(self, connection)

    def measured(self, report: Mapping[str, Any]) -> Measurement:
        """Return the measurement in a client's report (`RequestClient`)."""
        details = dict(report) | {"rows": request_rows(report["requests"])}
        del details["requests"], details["completion_s"]
        ended = [row["answered_s"] for row in details["rows"] if row["answered_s"] is not None]
        return measurement(details, report["bytes_received"], max(ended, default=0.0))

    def failure(self, measured: Measurement) -> str | None:
        """Return an error if requests were not sent, or none was answered, else None."""
        if len(measured.rows) != self.requests:
            return f"client sent {len(measured.rows)} of {self.requests} requests"
        if not delays_ms(measured.rows):
            return f"none of {self.requests} requests was answered"
        return None

    def details(self, measured: Measurement) -> dict[str, Any]:
        """Return numbers of requests, and mean, median, 95th percentile, maximum of delays (ms)."""
        delays = delays_ms(measured.rows)
        return {
            "requests": len(measured.rows),
            "answered": len(delays),
            "unanswered": len(measured.rows) - len(delays),
            "delay_mean_ms": statistics.fmean(delays),
            "delay_median_ms": statistics.median(delays),
            "delay_p95_ms": nearest_rank(delays, 0.95),
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


def delays_ms(rows: Iterable[Row]) -> list[float]:
    """Return the delays (ms) of what was answered or came, in ascending order."""
    return sorted(delay for row in rows if (delay := row["delay_ms"]) is not None)


class RequestClient(Client):
    """A client that sends requests at a steady pace, and notes when each was answered.

    The first request is due when the connection is there, the k-th one k intervals later: a late
    one delays none of the others.
    """

    eager: ClassVar[bool] = False

    def __init__(self, workload: RequestResponse, connection: Requests) -> None:
        super().__init__()
        self.requests: list[tuple[float, float | None]] = []
        """Of each request that was sent: when it was handed to the transport, and when the last
        byte of its answer arrived (None: it had not when the client's patience was over)."""
        self._workload = workload
        self._connection = connection
        self._path = f"/respond/{workload.response_bytes}"
        self._body = b"".join(blocks(workload.request_bytes))
        self._start_s = 0.0
        self._first_s = math.inf  # when the first request was due
        self._last_sent_s = math.inf
        self._waiting: dict[int, Received] = {}  # what has arrived of answers, by stream

    def connecting(self, now: int) -> None:
        """Note that the client begins to connect."""
        self._start_s = now / NS_PER_S

    def connected(self, now: int) -> None:
        """Send the first request at once."""
        self._first_s = now / NS_PER_S
        self.outcome.handshake_s = self._first_s - self._start_s
        self.on_time(now)

    def data(self, stream: int, data: bytes, now: int) -> None:  # noqa: ARG002
        """Take a piece of an answer's body that arrived."""
        self.outcome.bytes_received += len(data)
        self._waiting[stream].take(data)

    def end(self, stream: int, now: int) -> None:
        """Note that an answer is complete, and check its bytes.

        Raises:
            WrongAnswer: it has not the bytes asked for.
        """
        expected, got = self._workload.response_bytes, self._waiting.pop(stream)
        number = self._request_numbers.pop(stream)
        if not got.is_content(expected):
            what = "not those sent" if got.size_bytes == expected else f"not {expected}"
            raise WrongAnswer(f"request {number} was answered with {got.size_bytes} bytes, {what}")
        sent_s, _ = self.requests[number]
        self.requests[number] = (sent_s, now / NS_PER_S - self._start_s)

    def reset(self, stream: int, now: int) -> None:
        """Refuse that the server gives an answer up that is not complete."""
        if stream in self._request_numbers:
            super().reset(stream, now)

    def on_time(self, now: int) -> None:
        """Send what is due, and end when all was answered or patience is over."""
        now_s = now / NS_PER_S
        while not self.ended and self._left and self._due_s() <= now_s:
            self._send(now_s)
        if not self._left and (not self._waiting or now_s >= self._timeout_s()):
            self.ended = True

    def next_timeout(self) -> float:
        """Return when a request is due or patience is over (ns)."""
        return math.inf if self.ended else self._timeout_s() * NS_PER_S

    def report(self) -> dict[str, Any]:
        """Return also what became of each request; the bytes are those of answers."""
        return {**super().report(), "requests": self.requests}

    @property
    def _left(self) -> int:
        return self._workload.requests - len(self.requests)

    def _timeout_s(self) -> float:
        return self._due_s() if self._left else self._last_sent_s + self._workload.patience_s

    def _due_s(self) -> float:
        return self._first_s + len(self.requests) * self._workload.interval_s

    def _send(self, now_s: float) -> None:
        stream = self._connection.request("POST", self._path, self._body)
        self._request_numbers[stream] = len(self.requests)
        self._waiting[stream] = Received()
        self.requests.append((now_s - self._start_s, None))
        if not self._left:
            self._last_sent_s = now_s


SHORTEST_S = 0.002
"""The shortest interval of ping(8)."""
LONGEST_S = 3600.0
MAX_ECHOES = 1_000_000
"""Per pair of addresses: each has a row."""
Echoes = Annotated[int, *within(1, MAX_ECHOES)]


@workload("ping")
class Ping(Workload):
    """`count` echoes on every leg and backhaul link, all at the same time."""

    columns: ClassVar[tuple[Column, ...]] = (
        Column("sent", "sent", count=True),
        Column("received", "received", count=True),
        Column("rtt_min_ms", "shortest\nround trip\nms"),
        Column("rtt_median_ms", "median\nround trip\nms"),
        Column("rtt_max_ms", "longest\nround trip\nms"),
    )
    figure: ClassVar[RowsFigure | None] = RowsFigure(
        x="time_s",
        y="rtt_ms",
        x_label="sent (s since the start)",
        y_label="round-trip time (ms)",
        title="Round-trip times",
        lines=("leg", "backhaul"),
    )
    has_goodput: ClassVar[bool] = False

    count: Echoes = 5
    """Of echoes per pair of addresses; Minitopo's default."""
    interval_s: Annotated[float, *within(SHORTEST_S, LONGEST_S, "s")] = 1.0
    """Between echoes of a pair; ping(8)'s default."""

    @property
    def lasts_s(self) -> float | None:
        """Return the time (s) to the last echo of the pair that begins last."""
        return self.count * self.interval_s

    def failure(self, measured: Measurement) -> str | None:
        """Return an error if some pair of addresses had no answer at all, else None."""
        silent = [pair for pair in measured.details["round_trips"] if not pair["received"]]
        if not silent:
            return None
        places = ", ".join(f"leg {pair['leg']}{_link(pair['backhaul'])}" for pair in silent)
        return f"no echo came back on {places}"

    def details(self, measured: Measurement) -> dict[str, Any]:
        """Return numbers of echoes, and their round-trip times (ms)."""
        pairs = measured.details["round_trips"]
        times = [row["rtt_ms"] for row in measured.rows if row["rtt_ms"] is not None]
        return {
            "sent": sum(pair["sent"] for pair in pairs),
            "received": sum(pair["received"] for pair in pairs),
            "rtt_min_ms": min(times),
            "rtt_median_ms": statistics.median(times),
            "rtt_max_ms": max(times),
        }


def _link(backhaul: int) -> str:
    return f" and backhaul link {backhaul}" if backhaul else ""
