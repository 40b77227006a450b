"""A client's HTTP/2 connection: the common parts of requests, a video and a call.

It does no input or output.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, Event
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

from minitopo_dc.runners.payload.certificate import SERVER_NAME
from minitopo_dc.runners.payload.requests import WrongAnswer

# What the server may send unacknowledged, on a stream and in all: as much as runner `quic` lets it.
# (The protocol's own 65,535 bytes, RFC 9113, section 6.9.2, would limit large answers.)
WINDOW_BYTES = 16 * 1024 * 1024
FIRST_WINDOW_BYTES = 65_535


class Http2Client(ABC):
    """One HTTP/2 connection above TLS; a subclass decides what is asked for, and when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock in s, by default the monotonic one."""
        self.closing = False  # nothing counts any more: close the connection
        self._clock = clock
        self._http = H2Connection(H2Configuration(client_side=True, header_encoding=None))

    @abstractmethod
    def connecting(self) -> None:
        """Note that the client begins to connect."""

    @abstractmethod
    def timeout(self) -> float:
        """Return when `on_time` is to be called (s), infinity for never."""

    @abstractmethod
    def on_time(self, now: float) -> None:
        """Do what is due at `now` (s)."""

    @abstractmethod
    def lost(self, reason: str) -> None:
        """Note that the connection has ended; after the client's own end the reason is ignored."""

    @abstractmethod
    def _on_connected(self, now: float) -> None:
        """Send requests, as TLS is established at `now` (s)."""

    @abstractmethod
    def _on_event(self, event: Event) -> None:
        """Act on an HTTP event; it may raise `WrongAnswer`."""

    def connected(self) -> None:
        """Begin HTTP/2, as TLS is established."""
        windows = {SettingCodes.INITIAL_WINDOW_SIZE: WINDOW_BYTES, SettingCodes.ENABLE_PUSH: 0}
        self._http.local_settings = Settings(client=True, initial_values=windows)
        self._http.initiate_connection()
        self._http.increment_flow_control_window(WINDOW_BYTES - FIRST_WINDOW_BYTES)
        self._on_connected(self._clock())

    def receive(self, data: bytes) -> None:
        """Take bytes that arrived from the server."""
        try:
            for event in self._http.receive_data(data):
                if not self.closing:
                    self._handle(event)
        except WrongAnswer as wrong:
            self.lost(str(wrong))
        except ProtocolError as error:
            self.lost(f"the server broke HTTP/2: {type(error).__name__} ({error})")
        if not self.closing:
            self._after_events()

    def _handle(self, event: Event) -> None:
        if isinstance(event, ConnectionTerminated):
            self.lost("connection ended by the server")
            return
        if isinstance(event, DataReceived):
            self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        self._on_event(event)

    @abstractmethod
    def _after_events(self) -> None:
        """Act when all that arrived was handled."""

    def data_to_send(self) -> bytes:
        """Return the bytes for the server."""
        return self._http.data_to_send()

    def _open(self, method: str, path: str, body_bytes: int | None = None) -> int:
        """Ask for something, with a body to follow or None; return the stream's ID."""
        stream_id = self._http.get_next_available_stream_id()
        headers = [
            (b":method", method.encode()),
            (b":scheme", b"https"),
            (b":authority", SERVER_NAME.encode()),
            (b":path", path.encode()),
        ]
        if body_bytes is not None:
            headers.append((b"content-length", str(body_bytes).encode()))
        self._http.send_headers(stream_id, headers, end_stream=body_bytes is None)
        return stream_id

    def _finish(self) -> None:
        self.closing = True
        self._http.close_connection()
