"""A client without input or output that sends requests at a steady pace over HTTP/3."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.connection import QuicConnection

from minitopo_dc.runners.aioquic.endpoint import Transmit
from minitopo_dc.runners.aioquic.http3_client import Http3Client
from minitopo_dc.runners.payload.content import blocks
from minitopo_dc.runners.payload.requests import RequestPlan, Requests, RequestsOutcome, WrongAnswer


class RequestClient(Http3Client):
    """One HTTP/3 connection, and a stream of it for each request of a plan.

    Without a server it ends when aioquic's idle timeout is over (60 s by default); once connected,
    when the plan is, or by the first wrong answer.
    """

    def __init__(
        self,
        connection: QuicConnection,
        plan: RequestPlan,
        transmit: Transmit,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(connection, transmit, clock)
        self._plan = plan
        self._requests = Requests(plan)
        self._body = b"".join(blocks(plan.request_bytes))
        self._numbers: dict[int, int] = {}  # of requests, by their streams
        self._closing = False

    @property
    def outcome(self) -> RequestsOutcome:
        """Return what has become of the requests until now."""
        return self._requests.outcome

    def _on_start(self, now: float) -> None:
        self._requests.connecting(now)

    def _on_time(self, now: float) -> None:
        if self._closing:
            return
        for number in self._requests.due(now):
            self._numbers[self._request("POST", self._plan.path, self._body)] = number
            self._requests.sent(number, self._clock())
        if self._requests.ended(now):
            self._finish()

    def _timeout(self) -> float:
        return math.inf if self._closing else self._requests.next_timeout()

    def _on_handshake(self) -> None:
        now = self._clock()
        self._requests.connected(now)
        self._on_time(now)

    def _on_event(self, event: H3Event) -> None:
        if self._closing or not isinstance(event, HeadersReceived | DataReceived):
            return
        try:
            self._receive(self._numbers[event.stream_id], event)
        except WrongAnswer as wrong:
            self.outcome.error = str(wrong)
            self._finish()

    def _receive(self, number: int, event: HeadersReceived | DataReceived) -> None:
        if isinstance(event, HeadersReceived):
            self._requests.status(number, int(dict(event.headers)[b":status"]))
        else:
            self._requests.arrived(number, event.data)
        if event.stream_ended:
            now = self._clock()
            self._requests.answered(number, now)
            if self._requests.ended(now):
                self._finish()

    def _finish(self) -> None:
        self._closing = True
        self._close()

    def _on_end(self, reason: str) -> None:
        if not self._closing:
            self.outcome.error = reason
        self._closing = True
