"""A client that sends requests at a steady pace on one HTTP/2 connection, sans-IO."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

from minitopo_dc.runners.payload.certificate import SERVER_NAME
from minitopo_dc.runners.payload.content import blocks
from minitopo_dc.runners.payload.requests import RequestPlan, Requests, RequestsOutcome, WrongAnswer

OPEN_REQUESTS = 100
"""The least that a server should allow (RFC 9113, section 6.5.2); until it has said more."""
# What the server may send unacknowledged, on a stream and in all: as much as runner `quic` lets it.
# (The protocol's own 65,535 bytes, RFC 9113, section 6.9.2, would limit large answers.)
WINDOW_BYTES = 16 * 1024 * 1024
FIRST_WINDOW_BYTES = 65_535


class Http2Requests:
    """One HTTP/2 connection, and a stream of it for each request of a plan; TLS is below.

    A request that the server does not let the client open yet waits here, and counts as sent: so
    it is in aioquic, too.
    """

    def __init__(self, plan: RequestPlan, clock: Callable[[], float] = time.monotonic) -> None:
        """Take what to ask for, and a clock in s."""
        self.closing = False  # nothing counts any more: close the connection
        self._plan = plan
        self._clock = clock
        self._requests = Requests(plan)
        self._content = b"".join(blocks(plan.request_bytes))
        self._http = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        self._most_open = OPEN_REQUESTS
        self._unopened: deque[int] = deque()
        self._numbers: dict[int, int] = {}  # of open requests, by their streams
        self._bodies: dict[int, memoryview] = {}  # what is left to send of them

    @property
    def outcome(self) -> RequestsOutcome:
        """What has become of the requests until now."""
        return self._requests.outcome

    def connecting(self) -> None:
        """The client begins to connect."""
        self._requests.connecting(self._clock())

    def connected(self) -> None:
        """TLS is there: requests may be sent."""
        now = self._clock()
        self._requests.connected(now)
        windows = {SettingCodes.INITIAL_WINDOW_SIZE: WINDOW_BYTES, SettingCodes.ENABLE_PUSH: 0}
        self._http.local_settings = Settings(client=True, initial_values=windows)
        self._http.initiate_connection()
        self._http.increment_flow_control_window(WINDOW_BYTES - FIRST_WINDOW_BYTES)
        self.on_time(now)

    def timeout(self) -> float:
        """When `on_time` is to be called; infinity: it need not."""
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

    def receive(self, data: bytes) -> None:
        """Bytes arrived from the server."""
        try:
            for event in self._http.receive_data(data):
                if not self.closing:
                    self._handle(event)
        except WrongAnswer as wrong:
            self._fail(str(wrong))
        except ProtocolError as error:
            self._fail(f"the server broke HTTP/2: {type(error).__name__} ({error})")
        if not self.closing:
            self._send()

    def lost(self, reason: str) -> None:
        """The connection has ended."""
        self._fail(reason)

    def data_to_send(self) -> bytes:
        """Bytes for the server."""
        return self._http.data_to_send()

    def _handle(self, event: Event) -> None:
        if isinstance(event, RemoteSettingsChanged):
            self._most_open = self._http.remote_settings.max_concurrent_streams
        elif isinstance(event, ResponseReceived):
            number = self._numbers[event.stream_id]
            self._requests.status(number, int(dict(event.headers)[b":status"]))
        elif isinstance(event, DataReceived):
            self._requests.arrived(self._numbers[event.stream_id], event.data)
            self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded):
            now = self._clock()
            self._requests.answered(self._numbers.pop(event.stream_id), now)
            if self._requests.ended(now):
                self._finish()
        elif isinstance(event, StreamReset) and event.stream_id in self._numbers:
            self._fail(f"request {self._numbers[event.stream_id]} was reset by the server")
        elif isinstance(event, ConnectionTerminated):
            self._fail("connection ended by the server")

    def _send(self) -> None:
        """Open as many requests as the server allows, and send as much as it has room for."""
        while self._unopened and len(self._numbers) < self._most_open:
            self._open(self._unopened.popleft())
        for stream_id, body in list(self._bodies.items()):
            rest = self._send_body(stream_id, body)
            if rest:
                self._bodies[stream_id] = rest
            else:
                del self._bodies[stream_id]

    def _open(self, number: int) -> None:
        stream_id = self._http.get_next_available_stream_id()
        headers = [
            (b":method", b"POST"),
            (b":scheme", b"https"),
            (b":authority", SERVER_NAME.encode()),
            (b":path", self._plan.path.encode()),
            (b"content-length", str(len(self._content)).encode()),
        ]
        self._http.send_headers(stream_id, headers)
        self._numbers[stream_id] = number
        self._bodies[stream_id] = memoryview(self._content)

    def _send_body(self, stream_id: int, body: memoryview) -> memoryview:
        """Send what fits of a request's body; returns the rest."""
        while body:
            room = self._http.local_flow_control_window(stream_id)
            size = min(len(body), room, self._http.max_outbound_frame_size)
            if size <= 0:  # a window may be negative (RFC 9113, section 6.9.2)
                break
            piece, body = body[:size], body[size:]
            self._http.send_data(stream_id, piece.tobytes(), end_stream=not body)
        return body

    def _fail(self, reason: str) -> None:
        if not self.closing:
            self.outcome.error = reason
            self._finish()

    def _finish(self) -> None:
        self.closing = True
        self._http.close_connection()
