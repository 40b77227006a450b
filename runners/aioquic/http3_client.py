"""A client's HTTP/3 connection on aioquic: the common parts of downloads and requests."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from aioquic.h3.connection import ErrorCode, H3Connection
from aioquic.h3.events import H3Event
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, QuicEvent

from minitopo_dc.runners.aioquic.endpoint import Transmit, events
from minitopo_dc.runners.payload.certificate import SERVER_NAME
from minitopo_dc.runners.processes.udp_socket import Address


class Http3Client(ABC):
    """One HTTP/3 connection, from its handshake to its end, without input or output.

    A subclass decides what is asked for, and when.

    What is asked for, and when, is a subclass's.
    """

    def __init__(
        self,
        connection: QuicConnection,
        transmit: Transmit,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take how to send, and a clock in s."""
        self.ended = False
        self._connection = connection
        self._transmit = transmit
        self._clock = clock
        self._http = H3Connection(connection)
        # While this side sends nothing but acknowledgements; see `_advance`.
        self._only_receives = False

    def start(self, server: Address) -> float | None:
        """Connect; return when to be called again (s)."""
        now = self._clock()
        self._on_start(now)
        self._connection.connect(server, now)
        self._transmit(self._connection)
        return self._next(self._connection.get_timer())

    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Take in what arrived, send what is due; return when to be called again (s)."""
        self._on_time(now)
        return self._next(self._advance(now, datagrams))

    @abstractmethod
    def _on_start(self, now: float) -> None:
        """Note that the connection is about to begin."""

    @abstractmethod
    def _on_time(self, now: float) -> None:
        """Do what is due at `now` (s)."""

    @abstractmethod
    def _timeout(self) -> float:
        """Return when `_on_time` is to be called next (s), infinity for never."""

    @abstractmethod
    def _on_handshake(self) -> None:
        """Send requests, as the handshake is complete."""

    @abstractmethod
    def _on_event(self, event: H3Event) -> None:
        """Act on an HTTP event."""

    @abstractmethod
    def _on_end(self, reason: str) -> None:
        """Note that the connection has ended; `reason` is the words of the side that closed it."""

    def _next(self, timer: float | None) -> float | None:
        timeout = self._timeout()
        if timeout == math.inf:
            return timer
        return timeout if timer is None else min(timer, timeout)

    def _advance(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Take in what arrived, send what is due; return the connection's timer (s).

        While the body of a download arrives, all that this side sends is acknowledgements, and
        aioquic sends them when its timer says so (1 ms after the first datagram that they cover):
        asking it for datagrams earlier costs a third of the client's time and yields none.
        """
        connection = self._connection
        for data, address in datagrams:
            connection.receive_datagram(data, address, now)
        timer = connection.get_timer()
        due = timer is not None and timer <= now
        if due:
            connection.handle_timer(now)
        for event in events(connection):
            self._handle(event)
        if self._only_receives and not due:
            return timer
        self._transmit(connection)
        return connection.get_timer()

    def _handle(self, event: QuicEvent) -> None:
        if isinstance(event, HandshakeCompleted):
            self._on_handshake()
        elif isinstance(event, ConnectionTerminated):
            self.ended = True
            self._on_end(f"connection ended: {event.reason_phrase or event.error_code}")
        for received in self._http.handle_event(event):
            self._on_event(received)

    def _request(self, method: str, path: str, body: bytes | None = None) -> int:
        """Ask for `path`; return the stream's ID."""
        stream_id = self._connection.get_next_available_stream_id()
        headers = [
            (b":method", method.encode()),
            (b":scheme", b"https"),
            (b":authority", SERVER_NAME.encode()),
            (b":path", path.encode()),
        ]
        if body is not None:
            headers.append((b"content-length", str(len(body)).encode()))
        self._http.send_headers(stream_id, headers, end_stream=body is None)
        if body is not None:
            self._http.send_data(stream_id, body, end_stream=True)
        return stream_id

    def _close(self) -> None:
        self._only_receives = False
        self._connection.close(error_code=ErrorCode.H3_NO_ERROR)
