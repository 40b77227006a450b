"""A client without input or output that sends requests at a steady pace over HTTP/2."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

from h2.events import (
    DataReceived,
    Event,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)

from minitopo_dc.runners.payload.content import blocks
from minitopo_dc.runners.payload.requests import RequestPlan, Requests, RequestsOutcome
from minitopo_dc.runners.tcp.http2_client import Http2Client

OPEN_REQUESTS = 100
"""The least that a server should allow (RFC 9113, section 6.5.2); until it has said more."""


class Http2Requests(Http2Client):
    """One HTTP/2 connection, and a stream of it for each request of a plan; TLS is below.

    A request that the server does not let the client open yet waits here, and counts as sent: so
    it is in aioquic, too.
    """

    def __init__(self, plan: RequestPlan, clock: Callable[[], float] = time.monotonic) -> None:
        """Take what to ask for, and a clock in s."""
        super().__init__(clock)
        self._plan = plan
        self._requests = Requests(plan)
        self._content = b"".join(blocks(plan.request_bytes))
        self._most_open = OPEN_REQUESTS
        self._unopened: deque[int] = deque()
        self._numbers: dict[int, int] = {}  # of open requests, by their streams
        self._bodies: dict[int, memoryview] = {}  # what is left to send of them

    @property
    def outcome(self) -> RequestsOutcome:
        """Return what has become of the requests until now."""
        return self._requests.outcome

    def connecting(self) -> None:
        """Note that the client begins to connect."""
        self._requests.connecting(self._clock())

    def _on_connected(self, now: float) -> None:
        self._requests.connected(now)
        self.on_time(now)

    def timeout(self) -> float:
        """Return when `on_time` is to be called (s), infinity for never."""
        return math.inf if self.closing else self._requests.next_timeout()

    def on_time(self, now: float) -> None:
        """Send what is due, or end when patience is over."""
        if self.closing:
            return
        for number in self._requests.due(now):
            self._unopened.append(number)
            self._requests.sent(number, self._clock())
        self._send()
        if self._requests.ended(now):
            self._finish()

    def lost(self, reason: str) -> None:
        """End with an error, as the connection has ended or is of no use any more."""
        if not self.closing:
            self.outcome.error = reason
            self._finish()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, RemoteSettingsChanged):
            self._most_open = self._http.remote_settings.max_concurrent_streams
        elif isinstance(event, ResponseReceived):
            number = self._numbers[event.stream_id]
            self._requests.status(number, int(dict(event.headers)[b":status"]))
        elif isinstance(event, DataReceived):
            self._requests.arrived(self._numbers[event.stream_id], event.data)
        elif isinstance(event, StreamEnded):
            now = self._clock()
            self._requests.answered(self._numbers.pop(event.stream_id), now)
            if self._requests.ended(now):
                self._finish()
        elif isinstance(event, StreamReset) and event.stream_id in self._numbers:
            self.lost(f"request {self._numbers[event.stream_id]} was reset by the server")

    def _after_events(self) -> None:
        self._send()

    def _send(self) -> None:
        """Open as many requests as the server allows, and send as much as it has room for."""
        while self._unopened and len(self._numbers) < self._most_open:
            number = self._unopened.popleft()
            stream_id = self._open("POST", self._plan.path, len(self._content))
            self._numbers[stream_id] = number
            self._bodies[stream_id] = memoryview(self._content)
        for stream_id, body in list(self._bodies.items()):
            rest = self._send_body(stream_id, body)
            if rest:
                self._bodies[stream_id] = rest
            else:
                del self._bodies[stream_id]

    def _send_body(self, stream_id: int, body: memoryview) -> memoryview:
        """Send what fits of a request's body; return the rest."""
        while body:
            room = self._http.local_flow_control_window(stream_id)
            size = min(len(body), room, self._http.max_outbound_frame_size)
            if size <= 0:  # a window may be negative (RFC 9113, section 6.9.2)
                break
            piece, body = body[:size], body[size:]
            self._http.send_data(stream_id, piece.tobytes(), end_stream=not body)
        return body
