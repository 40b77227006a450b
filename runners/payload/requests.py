"""Requests at a steady pace: when each is due, when it was sent and when its answer was there.

The handover experiment of "Multipath QUIC: Design and Evaluation" (De Coninck and Bonaventure,
CoNEXT 2017) has such a client: 750 bytes each way, again and again, whether or not the requests
before were answered. What is here does no input or output; HTTP/2 and HTTP/3 share it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.runners.payload.content import Received


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """What a client asks for on its connection.

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
        """What is asked for."""
        return f"/respond/{self.response_bytes}"


class WrongAnswer(MinitopoDcError):  # noqa: N818 (it is the server's, not this program's)
    """An answer is not the one that was asked for; the text says of which request and why."""


@dataclass
class RequestsOutcome:
    """What the client saw; times in seconds since it began to connect."""

    # Of each request that was sent: when it was handed to the transport, and when the last byte of
    # its answer arrived (None: it had not when the client's patience was over).
    requests: list[tuple[float, float | None]] = field(default_factory=list)
    bytes_received: int = 0  # of answers
    handshake_s: float | None = None
    receive_buffer_bytes: int | None = None  # the socket's; None: not a UDP socket
    socket_drops: int | None = None
    error: str | None = None


class Requests:
    """The schedule of a plan's requests and the record of what became of them; sans-IO.

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
        """The client begins to connect."""
        self._start = now

    def connected(self, now: float) -> None:
        """Requests may be sent."""
        self._first = now
        self.outcome.handshake_s = now - self._start

    def due(self, now: float) -> range:
        """The numbers of the requests to be sent now, from 0 on."""
        sent = end = len(self.outcome.requests)
        while end < self.plan.count and self._due_at(end) <= now:
            end += 1
        return range(sent, end)

    def next_timeout(self) -> float:
        """When the next request is due, or when patience is over; infinity before `connected`."""
        sent = len(self.outcome.requests)
        if sent < self.plan.count:
            return self._due_at(sent)
        return self._last_sent + self.plan.patience_s

    def sent(self, number: int, now: float) -> None:
        """A request was handed to the transport.

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
        """An answer begins with a status of HTTP.

        Raises:
            WrongAnswer: it is not 200.
        """
        if status != 200:
            raise WrongAnswer(f"request {number} got status {status}, not 200")

    def arrived(self, number: int, data: bytes) -> None:
        """A piece of an answer's body arrived."""
        self.outcome.bytes_received += len(data)
        self._waiting[number].take(data)

    def answered(self, number: int, now: float) -> None:
        """An answer is complete.

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
        """Whether all were sent, and all were answered or the client's patience is over."""
        if len(self.outcome.requests) < self.plan.count:
            return False
        return not self._waiting or now >= self.next_timeout()

    def _due_at(self, number: int) -> float:
        return self._first + number * self.plan.interval_s
