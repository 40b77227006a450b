"""A client's HTTP/2 connection with any workload, without input or output; TLS is below."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
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

from minitopo_dc.runners.addresses import request_headers
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Workload
from minitopo_dc.workloads.exchange import WrongAnswer

# What the server may send unacknowledged, on a stream and in all: as much as runner `quic` lets it.
# (The protocol's own 65,535 bytes, RFC 9113, section 6.9.2, would limit large answers.)
WINDOW_BYTES = 16 * 1024 * 1024
FIRST_WINDOW_BYTES = 65_535
OPEN_REQUESTS = 100
"""The least that a server should allow (RFC 9113, section 6.5.2); until it has said more."""


@dataclass(slots=True)
class _Body:
    """A request's body, as far as it was not sent."""

    rest: memoryview
    is_whole: bool
    """Whether nothing more of it will be written."""


class Http2Client:
    """One HTTP/2 connection, which is that of a workload's client (`Requests`).

    A request that the server does not let the client open yet waits here, and counts as sent: so
    it is in aioquic, too. Its number is therefore not that of its stream in HTTP/2.
    """

    def __init__(self, workload: Workload, clock: Callable[[], float] = time.monotonic) -> None:
        """Take what to do, and a clock in s."""
        self.closing = False
        """Whether nothing counts any more, and the connection is to be closed."""
        self._clock = clock
        self._http = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        self._most_open = OPEN_REQUESTS
        self._count = 0  # of requests
        self._unopened: dict[int, list[tuple[bytes, bytes]]] = {}  # headers, by request
        self._opened: dict[int, int] = {}  # requests that have not ended, by their streams
        self._streams: dict[int, int] = {}  # and the other way round
        self._cancelled: set[int] = set()  # streams
        self._bodies: dict[int, _Body] = {}  # by request
        self.client = workload.make_client(self)

    def request(
        self, method: str, path: str, body: bytes | None = None, *, length: int | None = None
    ) -> int:
        """Ask for something; return the request's number."""
        number, self._count = self._count, self._count + 1
        size = length if body is None else len(body)
        if size is not None:
            self._bodies[number] = _Body(memoryview(body or b""), is_whole=body is not None)
        self._unopened[number] = request_headers(method, path, size)
        return number

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send the next piece of a body."""
        body = self._bodies[stream]
        body.rest = memoryview(body.rest.tobytes() + data)
        body.is_whole = end

    def cancel(self, stream: int) -> None:
        """Tell the server that no more of an answer is wanted, if it knows of the request."""
        self._bodies.pop(stream, None)
        self._unopened.pop(stream, None)
        if stream in self._streams:
            self._cancelled.add(self._streams[stream])
            self._http.reset_stream(self._streams[stream], ErrorCodes.CANCEL)

    def connecting(self) -> None:
        """Note that the client begins to connect."""
        self.client.connecting(self._now())

    def connected(self) -> None:
        """Begin HTTP/2, as TLS is established."""
        windows = {SettingCodes.INITIAL_WINDOW_SIZE: WINDOW_BYTES, SettingCodes.ENABLE_PUSH: 0}
        self._http.local_settings = Settings(client=True, initial_values=windows)
        self._http.initiate_connection()
        self._http.increment_flow_control_window(WINDOW_BYTES - FIRST_WINDOW_BYTES)
        self.client.connected(self._now())
        self.on_time()

    def receive(self, data: bytes) -> None:
        """Take bytes that arrived from the server."""
        try:
            for event in self._http.receive_data(data):
                if not self.closing:
                    self._handle(event, self._now())
        except WrongAnswer as wrong:
            self.lost(str(wrong))
        except ProtocolError as error:
            self.lost(f"the server broke HTTP/2: {type(error).__name__} ({error})")
        self.on_time()

    def timeout(self) -> float:
        """Return when `on_time` is to be called (s), infinity for never."""
        return math.inf if self.closing else self.client.next_timeout() / NS_PER_S

    def on_time(self) -> None:
        """Do what is due; end when the client has ended."""
        if self.closing:
            return
        self.client.on_time(self._now())
        if self.client.ended:
            self._finish()

    def lost(self, reason: str) -> None:
        """End with an error, as the connection has ended or is of no use any more."""
        if not self.closing:
            self.client.failed(reason)
            self._finish()

    def data_to_send(self) -> bytes:
        """Return the bytes for the server: as many requests as it allows, as it has room for."""
        if not self.closing:
            self._send()
        return self._http.data_to_send()

    def _handle(self, event: Event, now: int) -> None:
        if isinstance(event, ConnectionTerminated):
            self.lost("connection ended by the server")
        elif isinstance(event, RemoteSettingsChanged):
            self._most_open = self._http.remote_settings.max_concurrent_streams
        elif isinstance(event, DataReceived):
            self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if event.stream_id in self._opened:
                self.client.data(self._opened[event.stream_id], event.data, now)
        elif isinstance(event, ResponseReceived):
            status = int(dict(event.headers)[b":status"])
            self.client.headers(self._opened[event.stream_id], status, now)
        elif isinstance(event, StreamEnded):
            self.client.end(self._closed(event.stream_id), now)
        elif isinstance(event, StreamReset) and event.stream_id in self._opened:
            self.client.reset(self._closed(event.stream_id), now)

    def _closed(self, stream: int) -> int:
        number = self._opened.pop(stream)
        self._bodies.pop(number, None)
        del self._streams[number]
        return number

    def _send(self) -> None:
        while self._unopened and len(self._opened.keys() - self._cancelled) < self._most_open:
            number = next(iter(self._unopened))
            headers = self._unopened.pop(number)
            stream = self._http.get_next_available_stream_id()
            self._http.send_headers(stream, headers, end_stream=number not in self._bodies)
            self._opened[stream], self._streams[number] = number, stream
        for number in [number for number in self._bodies if number in self._streams]:
            body = self._bodies[number]
            self._send_body(self._streams[number], body)
            if body.is_whole and not body.rest:
                del self._bodies[number]

    def _send_body(self, stream: int, body: _Body) -> None:
        """Send what fits into the windows, and with the last byte the end of the stream."""
        while body.rest:
            room = self._http.local_flow_control_window(stream)
            size = min(len(body.rest), room, self._http.max_outbound_frame_size)
            if size <= 0:  # a window may be negative (RFC 9113, section 6.9.2)
                return
            piece, body.rest = body.rest[:size], body.rest[size:]
            is_last = body.is_whole and not body.rest
            self._http.send_data(stream, piece.tobytes(), end_stream=is_last)

    def _finish(self) -> None:
        self.closing = True
        self._http.close_connection()

    def _now(self) -> int:
        return round(self._clock() * NS_PER_S)
