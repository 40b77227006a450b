"""HTTP/3 server on aioquic: answers ``GET /bytes/N`` with N deterministic bytes.

It serves one connection at a time, which is all that a run needs, and ends on SIGTERM or SIGINT
after it has closed its connection and written its qlog.
"""

from __future__ import annotations

import argparse
import gc
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from aioquic.h3.connection import H3_ALPN, ErrorCode, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, ProtocolNegotiated, QuicEvent
from aioquic.quic.logger import QuicFileLogger

from runners.addresses import address_family
from runners.content import blocks, requested_size
from runners.quic_endpoint import (
    Transmit,
    advance,
    events,
    receive_batch,
    transmit,
    wait_readable,
)

# The body is handed to aioquic in pieces, so that the first packet need not wait for 40 MB to be
# copied. 1 MiB is more than a congestion window on the emulated legs ever holds.
LOW_WATER_BYTES = 1024 * 1024


class Session:
    """One HTTP/3 connection and the response that it sends."""

    def __init__(self, connection: QuicConnection) -> None:
        self.connection = connection
        self.ended = False
        self._http: H3Connection | None = None
        self._stream_id = 0
        self._body: Iterator[bytes] = iter(())
        self._more = False
        self._unsent = 0

    def drive(self, now: float, transmit: Transmit) -> None:
        """Act on what arrived and on what is due, and send."""
        advance(self.connection, now)
        for event in events(self.connection):
            self._handle(event)
        self._refill()
        # Headers and retransmissions make this too small, never too large: refills come early.
        self._unsent -= transmit(self.connection)

    def _handle(self, event: QuicEvent) -> None:
        if isinstance(event, ConnectionTerminated):
            self.ended = True
        elif isinstance(event, ProtocolNegotiated):
            self._http = H3Connection(self.connection)
        if self._http is not None:
            for received in self._http.handle_event(event):
                if isinstance(received, HeadersReceived):
                    self._respond(self._http, received)

    def _refill(self) -> None:
        """Give the connection more of the body when little of it is left to send."""
        while self._more and self._unsent < LOW_WATER_BYTES:
            block = next(self._body, None)
            self._more = block is not None
            assert self._http is not None
            self._http.send_data(self._stream_id, block or b"", end_stream=not self._more)
            self._unsent += len(block or b"")

    def _respond(self, http: H3Connection, request: HeadersReceived) -> None:
        size = requested_size(dict(request.headers).get(b":path", b"").decode())
        if size is None:
            http.send_headers(request.stream_id, [(b":status", b"404")], end_stream=True)
            return
        headers = [(b":status", b"200"), (b"content-length", str(size).encode())]
        http.send_headers(request.stream_id, headers)
        self._stream_id, self._body, self._more = request.stream_id, blocks(size), True


class Server:
    """Accepts a connection, serves it to its end, then accepts the next."""

    def __init__(self, udp: socket.socket, configuration: QuicConfiguration) -> None:
        self._udp = udp
        self._configuration = configuration
        self._session: Session | None = None
        self._stopping = False
        # A signal alone would not end a select call (PEP 475), a byte in this socket does.
        self._wake, self._waker = socket.socketpair()
        self._waker.setblocking(False)

    def stop_on(self, *numbers: signal.Signals) -> None:
        """Let signals call `stop`."""
        signal.set_wakeup_fd(self._waker.fileno())
        for number in numbers:
            signal.signal(number, self.stop)

    def stop(self, _signal: int, _frame: FrameType | None) -> None:
        """Signal handler: have the connection closed, then end."""
        self._stopping = True

    def run(self) -> None:
        """Serve until `stop` was called."""
        while not (self._stopping and self._session is None):
            timer = None if self._session is None else self._session.connection.get_timer()
            wait_readable([self._udp] if self._stopping else [self._udp, self._wake], timer)
            self._receive()
            if self._session is not None:
                self._drive(self._session)

    def _receive(self) -> None:
        now = time.monotonic()
        for data, address in receive_batch(self._udp):
            if self._session is None:
                self._session = self._accept(data)
            if self._session is not None:
                self._session.connection.receive_datagram(data, address, now)

    def _drive(self, session: Session) -> None:
        if self._stopping:
            session.connection.close(error_code=ErrorCode.H3_NO_ERROR)  # once; then it does nothing
        session.drive(time.monotonic(), lambda connection: transmit(connection, self._udp))
        if session.ended:
            self._session = None

    def _accept(self, data: bytes) -> Session | None:
        destination = initial_destination(data)
        if destination is None:
            return None
        connection = QuicConnection(
            configuration=self._configuration, original_destination_connection_id=destination
        )
        return Session(connection)


def initial_destination(data: bytes) -> bytes | None:
    """The destination connection ID of a client's first packet; None if it is no such packet.

    An Initial packet of version 1 (RFC 9000, section 17.2.2) in a datagram of 1,200 bytes or more
    (section 14.1).
    """
    if len(data) < 1200 or data[0] & 0xF0 != 0xC0 or data[1:5] != b"\0\0\0\1":
        return None
    return data[6 : 6 + data[5]]


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    options = _options()
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=H3_ALPN,
        congestion_control_algorithm=options.congestion_control,
        max_datagram_size=options.max_datagram,
        quic_logger=QuicFileLogger(str(options.qlog)) if options.qlog else None,
    )
    configuration.load_cert_chain(options.certificate, options.key)
    udp = socket.socket(address_family(options.address), socket.SOCK_DGRAM)
    udp.bind((options.address, options.port))
    server = Server(udp, configuration)
    server.stop_on(signal.SIGTERM, signal.SIGINT)
    gc.freeze()  # what was imported is never garbage: full collections need not visit it
    server.run()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--certificate", type=Path, required=True)
    parser.add_argument("--key", type=Path, required=True)
    parser.add_argument("--congestion-control", choices=("reno", "cubic"), required=True)
    parser.add_argument("--max-datagram", type=int, required=True, help="bytes of UDP payload")
    parser.add_argument("--qlog", type=Path, help="directory for the qlog file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
