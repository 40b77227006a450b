"""Server on aioquic for any workload: over HTTP/3, or over bare streams where it asks for them.

The server has one connection at a time, which is all that a run needs, and ends on SIGTERM or
SIGINT after it has closed its connection and written its qlog.
"""

from __future__ import annotations

import gc
import math
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from http import HTTPStatus

from aioquic.h3.connection import ErrorCode, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import (
    ConnectionTerminated,
    ProtocolNegotiated,
    QuicEvent,
    StopSendingReceived,
)
from aioquic.quic.logger import QuicFileLogger

from minitopo_dc.runners.addresses import address_family
from minitopo_dc.runners.aioquic.connection import (
    BareStreams,
    Transmit,
    advance,
    earlier_timer,
    events,
    make_connection,
    tell,
    to_ns,
    transmit,
)
from minitopo_dc.runners.aioquic.runner import (
    BARE_STREAMS,
    AioquicOptions,
    Tuning,
    configuration,
)
from minitopo_dc.runners.base import Transfer
from minitopo_dc.runners.processes.udp_socket import (
    StopSignal,
    receive_batch,
    set_receive_buffer,
    wait_readable,
)
from minitopo_dc.runners.quic import qlog_directory, server_options
from minitopo_dc.workloads import Workload
from minitopo_dc.workloads.exchange import Answers, Content, ContentServer, Request
from minitopo_dc.workloads.exchange import Server as Endpoint

LOW_WATER_BYTES = 1024 * 1024
"""The body is handed to aioquic in pieces, so that the first packet need not wait for 40 MB to be
copied. 1 MiB is more than a congestion window on the emulated legs ever holds."""


class Http3Session:
    """One connection and the workload's server on it, whose answers (`Answers`) go over HTTP/3."""

    def __init__(
        self,
        connection: QuicConnection,
        workload: Workload | None = None,
        make_server: Callable[[Answers], Endpoint] = ContentServer,
    ) -> None:
        """Take the connection, and the workload or what makes the server's end of HTTP/3."""
        self.connection = connection
        self.ended = False
        self._workload = workload
        self._make_server = make_server if workload is None else workload.make_server
        self._server: Endpoint | None = None
        self._http: H3Connection | None = None
        # The bodies that were not handed over to their ends, by stream, in turn.
        self._bodies: deque[tuple[int, Iterator[bytes]]] = deque()
        self._unsent = 0

    def drive(self, now: float, transmit: Transmit) -> None:
        """Act on what arrived and on what is due, and send."""
        advance(self.connection, now)
        for event in events(self.connection):
            self._handle(event, to_ns(now))
        if self._server is not None:
            self._server.on_time(to_ns(now))
        self._refill()
        # Headers and retransmissions make this too small, never too large: refills come early.
        self._unsent = max(0, self._unsent - transmit(self.connection))

    def timer(self) -> float | None:
        """Return when to drive it next (s), None for never."""
        timeout = math.inf if self._server is None else self._server.next_timeout()
        return earlier_timer(self.connection.get_timer(), timeout)

    def _handle(self, event: QuicEvent, now: int) -> None:
        if isinstance(event, ConnectionTerminated):
            self.ended = True
        elif isinstance(event, ProtocolNegotiated):
            self._begin(event.alpn_protocol)
        if self._http is not None and self._server is not None:
            if isinstance(event, StopSendingReceived):
                self._give_up(event.stream_id)
                self._server.reset(event.stream_id, now)
            for received in self._http.handle_event(event):
                self._receive(self._server, received, now)
        elif self._server is not None:
            tell(self._server, event, now)

    def _begin(self, protocol: str | None) -> None:
        if protocol == BARE_STREAMS and self._workload is not None:
            self._server = self._workload.make_stream_server(BareStreams(self.connection))
        else:
            self._http = H3Connection(self.connection)
            self._server = self._make_server(self)

    def _receive(self, server: Endpoint, event: H3Event, now: int) -> None:
        if isinstance(event, HeadersReceived):
            headers = dict(event.headers)
            method, path = (headers.get(name, b"").decode() for name in (b":method", b":path"))
            server.request(event.stream_id, Request(method, path, headers), now)
        elif isinstance(event, DataReceived):
            server.data(event.stream_id, event.data, now)
        if isinstance(event, HeadersReceived | DataReceived) and event.stream_ended:
            server.end(event.stream_id, now)

    def answer(self, stream: int, answer: Content | HTTPStatus) -> None:
        """Answer a request with content, or with a status alone."""
        assert self._http is not None  # there was a request
        if isinstance(answer, HTTPStatus):
            status = str(answer.value).encode()
            self._http.send_headers(stream, [(b":status", status)], end_stream=True)
            return
        length = (b"content-length", str(answer.size_bytes).encode())
        self._http.send_headers(stream, [(b":status", b"200"), length, *answer.headers])
        # Two blocks at once, a small body with its end: no response waits behind another one.
        body = iter(answer.pieces)
        if self._give_next(stream, body) and self._give_next(stream, body):
            self._bodies.append((stream, body))

    def begin(self, stream: int) -> None:
        """Begin an answer whose content `write` gives piece by piece."""
        assert self._http is not None  # there was a request
        self._http.send_headers(stream, [(b":status", b"200")])

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send the next piece of an answer."""
        assert self._http is not None  # there was a request
        self._http.send_data(stream, data, end_stream=end)
        self._unsent += len(data)

    def _give_up(self, stream: int) -> None:
        """Send no more of a body; aioquic has reset the stream, and has dropped what was unsent."""
        self._bodies = deque(body for body in self._bodies if body[0] != stream)
        self._unsent = 0  # of others there may be more: then refills come early

    def _refill(self) -> None:
        """Give the connection more of the bodies when little of them is left to send."""
        while self._bodies and self._unsent < LOW_WATER_BYTES:
            stream, body = self._bodies.popleft()
            if self._give_next(stream, body):
                self._bodies.append((stream, body))

    def _give_next(self, stream: int, body: Iterator[bytes]) -> bool:
        """Give the connection a block of a body, or its end; return whether there is more."""
        block = next(body, None)
        self.write(stream, block or b"", end=block is None)
        return block is not None


class QuicServer:
    """Accepts a connection, serves it to its end, then accepts the next."""

    def __init__(
        self,
        udp: socket.socket,
        configuration: QuicConfiguration,
        stop: StopSignal,
        tuning: Tuning,
        workload: Workload,
    ) -> None:
        self._udp = udp
        self._configuration = configuration
        self._tuning, self._workload = tuning, workload
        self._session: Http3Session | None = None
        self._stop = stop

    def run(self) -> None:
        """Serve until the signal came; then have the connection closed, and end."""
        while not (self._stop.requested and self._session is None):
            timer = None if self._session is None else self._session.timer()
            more = [] if self._stop.requested else [self._stop.waiting]
            wait_readable([self._udp, *more], timer)
            self._receive()
            if self._session is not None:
                self._drive(self._session)

    def _receive(self) -> None:
        now = time.monotonic()
        for data, address in receive_batch(self._udp):
            if self._session is None:
                self._session = accept(data, self._configuration, self._tuning, self._workload)
            if self._session is not None:
                self._session.connection.receive_datagram(data, address, now)

    def _drive(self, session: Http3Session) -> None:
        if self._stop.requested:
            session.connection.close(error_code=ErrorCode.H3_NO_ERROR)  # once; then it does nothing
        session.drive(time.monotonic(), lambda connection: transmit(connection, self._udp))
        if session.ended:
            self._session = None


def initial_destination(data: bytes) -> bytes | None:
    """Return the destination connection ID of a client's first packet, None for another.

    It has to be an Initial packet of version 1 (RFC 9000, section 17.2.2) in a datagram of 1,200
    bytes or more (section 14.1).
    """
    if len(data) < 1200 or data[0] & 0xF0 != 0xC0 or data[1:5] != b"\0\0\0\1":
        return None
    return data[6 : 6 + data[5]]


def accept(
    data: bytes, configuration: QuicConfiguration, tuning: Tuning, workload: Workload
) -> Http3Session | None:
    """Return the session with a client whose first packet this is, None for another packet."""
    destination = initial_destination(data)
    if destination is None:
        return None
    return Http3Session(make_connection(configuration, tuning, destination=destination), workload)


def main() -> None:
    """Serve connections until SIGTERM or SIGINT."""
    transfer = Transfer.given()
    options = AioquicOptions.check(transfer.options, "runner quic")
    own = server_options(options, transfer.workload)
    qlog = qlog_directory(transfer, options, "server")
    made = configuration(
        transfer.workload,
        transfer.congestion_control,
        own,
        is_client=False,
        logger=QuicFileLogger(str(qlog)) if qlog else None,
    )
    made.load_cert_chain(transfer.certificate, transfer.key)
    udp = socket.socket(address_family(transfer.server_address), socket.SOCK_DGRAM)
    if own.receive_buffer_bytes is not None:
        set_receive_buffer(udp, own.receive_buffer_bytes)
    udp.bind((transfer.server_address, transfer.port))
    stop = StopSignal(signal.SIGTERM, signal.SIGINT)
    server = QuicServer(udp, made, stop, options.tuning, transfer.workload)
    gc.freeze()  # what was imported is never garbage: full collections need not visit it
    server.run()


if __name__ == "__main__":
    main()
