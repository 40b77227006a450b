"""Requests at a steady pace: when each is due, was sent, and was answered.

The handover experiment of "Multipath QUIC: Design and Evaluation" (De Coninck and Bonaventure,
CoNEXT 2017) has such a client: 750 bytes each way, again and again, whether or not the requests
before were answered. This module does no input or output; HTTP/2 and HTTP/3 share it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.runners.payload.content import Received


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """A client's requests on its connection.

    Raises:
        ValueError: a field has a value that cannot be.
    """

    request_bytes: int  # of each request's body
    response_bytes: int  # of each answer's
    interval_s: float  # from one request to the next
    count: int
    patience_s: float  # how long after the last request answers may come

    def __post_init__(self) -> None:
        for field_ in fields(self):
            value = getattr(self, field_.name)
            if not 0 < value < math.inf:
                raise ValueError(f"{field_.name} must be positive and finite, not {value}")

    @property
    def path(self) -> str:
        """Return the path of the requests."""
        return f"/respond/{self.response_bytes}"


class WrongAnswer(MinitopoDcError):  # noqa: N818 (it is the server's, not this program's)
    """Error: an answer is not the one asked for; the text says of which request and why."""


@dataclass
class RequestsOutcome:
    """The client's results; times in seconds since it began to connect."""

    # Of each request that was sent: when it was handed to the transport, and when the last byte of
    # its answer arrived (None: it had not when the client's patience was over).
    requests: list[tuple[float, float | None]] = field(default_factory=list)
    bytes_received: int = 0  # of answers
    handshake_s: float | None = None
    receive_buffer_bytes: int | None = None  # the socket's; None: not a UDP socket
    socket_drops: int | None = None
    error: str | None = None


class Requests:
    """The schedule of a plan's requests, and the record of what became of them.

    Times are seconds on one clock of the caller's. The first request is due when the connection is
    there, the k-th one k intervals later: a late one delays none of the others.
    """

    def __init__(self, plan: RequestPlan) -> None:
        self.plan = plan
        self.outcome = RequestsOutcome()
        self._start = 0.0
        self._first = math.inf  # when the first request was due
        self._last_sent = math.inf
        self._waiting: dict[int, Received] = {}  # what has arrived of answers, by request

    def connecting(self, now: float) -> None:
        """Note that the client begins to connect at `now` (s)."""
        self._start = now

    def connected(self, now: float) -> None:
        """Note that requests may be sent from `now` (s) on."""
        self._first = now
        self.outcome.handshake_s = now - self._start

    def due(self, now: float) -> range:
        """Return the numbers of the requests to be sent now, from 0 on."""
        sent = end = len(self.outcome.requests)
        while end < self.plan.count and self._due_at(end) <= now:
            end += 1
        return range(sent, end)

    def next_timeout(self) -> float:
        """Return when a request is due or patience is over (s), infinity before `connected`."""
        sent = len(self.outcome.requests)
        if sent < self.plan.count:
            return self._due_at(sent)
        return self._last_sent + self.plan.patience_s

    def sent(self, number: int, now: float) -> None:
        """Note that a request was handed to the transport at `now` (s).

        Raises:
            ValueError: it is not the next one.
        """
        if number != len(self.outcome.requests) or number >= self.plan.count:
            raise ValueError(f"request {number} is not the next one of {self.plan.count}")
        self.outcome.requests.append((now - self._start, None))
        self._waiting[number] = Received()
        if number == self.plan.count - 1:
            self._last_sent = now

    def status(self, number: int, status: int) -> None:
        """Check the HTTP status with which an answer begins.

        Raises:
            WrongAnswer: it is not 200.
        """
        if status != 200:
            raise WrongAnswer(f"request {number} got status {status}, not 200")

    def arrived(self, number: int, data: bytes) -> None:
        """Take a piece of an answer's body that arrived."""
        self.outcome.bytes_received += len(data)
        self._waiting[number].take(data)

    def answered(self, number: int, now: float) -> None:
        """Note that an answer is complete at `now` (s), and check its bytes.

        Raises:
            WrongAnswer: it has not the bytes asked for.
        """
        wanted, got = self.plan.response_bytes, self._waiting.pop(number)
        if not got.is_content(wanted):
            what = "not those sent" if got.size_bytes == wanted else f"not {wanted}"
            raise WrongAnswer(f"request {number} was answered with {got.size_bytes} bytes, {what}")
        sent_s, _ = self.outcome.requests[number]
        self.outcome.requests[number] = (sent_s, now - self._start)

    def ended(self, now: float) -> bool:
        """Return whether all requests were sent, and were answered or patience is over."""
        if len(self.outcome.requests) < self.plan.count:
            return False
        return not self._waiting or now >= self.next_timeout()

    def _due_at(self, number: int) -> float:
        return self._first + number * self.plan.interval_s
