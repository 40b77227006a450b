"""HTTP/3 server on aioquic: answers with N deterministic bytes.

`GET /bytes/N` is answered at once, `POST /respond/N` when its body is complete. The server has
one connection at a time, which is all that a run needs, and ends on SIGTERM or SIGINT after it has
closed its connection and written its qlog.
"""

from __future__ import annotations

import gc
import math
import signal
import socket
import time
from collections import deque
from collections.abc import Iterator
from http import HTTPStatus

from aioquic.h3.connection import H3_ALPN, ErrorCode, H3Connection
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
from minitopo_dc.runners.aioquic.call import AioquicPipe, earlier_timer, tell, to_ns
from minitopo_dc.runners.aioquic.endpoint import (
    Transmit,
    advance,
    events,
    transmit,
)
from minitopo_dc.runners.aioquic.settings import ServerSettings
from minitopo_dc.runners.aioquic.tuned import make_connection
from minitopo_dc.runners.aioquic.tuning import MODERN, Tuning
from minitopo_dc.runners.payload.call import ALPN as CALL
from minitopo_dc.runners.payload.call import CallServer
from minitopo_dc.runners.payload.content import Content, Find, Posted, blocks, requested_content
from minitopo_dc.runners.processes.stop_signal import StopSignal
from minitopo_dc.runners.processes.udp_socket import receive_batch, wait_readable

LOW_WATER_BYTES = 1024 * 1024
"""The body is handed to aioquic in pieces, so that the first packet need not wait for 40 MB to be
copied. 1 MiB is more than a congestion window on the emulated legs ever holds."""


class Session:
    """One HTTP/3 connection and the responses that it sends, any number of them at once."""

    def __init__(self, connection: QuicConnection, find: Find = requested_content) -> None:
        """Take the connection and the function that finds the content of GET requests."""
        self.connection = connection
        self._find = find
        self.ended = False
        self._http: H3Connection | None = None
        self._call: CallServer | None = None
        self._posted: dict[int, Posted] = {}  # by stream: requests whose body arrives
        # The bodies that were not handed over to their ends, by stream, in turn.
        self._bodies: deque[tuple[int, Iterator[bytes]]] = deque()
        self._unsent = 0

    def drive(self, now: float, transmit: Transmit) -> None:
        """Act on what arrived and on what is due, and send."""
        advance(self.connection, now)
        for event in events(self.connection):
            self._handle(event, now)
        if self._call is not None:
            self._call.on_time(to_ns(now))
        self._refill()
        # Headers and retransmissions make this too small, never too large: refills come early.
        self._unsent = max(0, self._unsent - transmit(self.connection))

    def timer(self) -> float | None:
        """Return when to drive it next (s), None for never."""
        timeout = math.inf if self._call is None else self._call.next_timeout()
        return earlier_timer(self.connection.get_timer(), timeout)

    def _handle(self, event: QuicEvent, now: float) -> None:
        if isinstance(event, ConnectionTerminated):
            self.ended = True
        elif isinstance(event, ProtocolNegotiated) and event.alpn_protocol == CALL:
            self._call = CallServer(AioquicPipe(self.connection))
        elif isinstance(event, ProtocolNegotiated):
            self._http = H3Connection(self.connection)
        elif isinstance(event, StopSendingReceived):
            self._give_up(event.stream_id)
        if self._call is not None:
            tell(self._call, event, to_ns(now))
        if self._http is not None:
            for received in self._http.handle_event(event):
                self._receive(self._http, received)

    def _receive(self, http: H3Connection, event: H3Event) -> None:
        if isinstance(event, HeadersReceived):
            self._open(http, event)
        if not isinstance(event, HeadersReceived | DataReceived):
            return
        stream_id = event.stream_id
        if isinstance(event, DataReceived) and stream_id in self._posted:
            self._posted[stream_id].take(event.data)
        if event.stream_ended and stream_id in self._posted:
            status, size = self._posted.pop(stream_id).answer()
            is_wanted = status is HTTPStatus.OK
            answer = Content(size, blocks(size)) if is_wanted else status
            self._respond(http, stream_id, answer)

    def _open(self, http: H3Connection, request: HeadersReceived) -> None:
        headers = dict(request.headers)
        path = headers.get(b":path", b"").decode()
        if headers.get(b":method") == b"POST":
            self._posted[request.stream_id] = Posted(path, headers)
        else:
            self._respond(http, request.stream_id, self._find(path) or HTTPStatus.NOT_FOUND)

    def _respond(self, http: H3Connection, stream_id: int, answer: Content | HTTPStatus) -> None:
        if isinstance(answer, HTTPStatus):
            status = str(answer.value).encode()
            http.send_headers(stream_id, [(b":status", status)], end_stream=True)
            return
        length = (b"content-length", str(answer.size_bytes).encode())
        http.send_headers(stream_id, [(b":status", b"200"), length, *answer.headers])
        # Two blocks at once, a small body with its end: no response waits behind another one.
        body = iter(answer.pieces)
        if self._give_next(http, stream_id, body) and self._give_next(http, stream_id, body):
            self._bodies.append((stream_id, body))

    def _give_up(self, stream_id: int) -> None:
        """Send no more of a body; aioquic has reset the stream, and has dropped what was unsent."""
        self._bodies = deque(each for each in self._bodies if each[0] != stream_id)
        self._unsent = 0  # of others there may be more: then refills come early

    def _refill(self) -> None:
        """Give the connection more of the bodies when little of them is left to send."""
        while self._bodies and self._unsent < LOW_WATER_BYTES:
            assert self._http is not None
            stream_id, body = self._bodies.popleft()
            if self._give_next(self._http, stream_id, body):
                self._bodies.append((stream_id, body))

    def _give_next(self, http: H3Connection, stream_id: int, body: Iterator[bytes]) -> bool:
        """Give the connection a block of a body, or its end; return whether there is more."""
        block = next(body, None)
        http.send_data(stream_id, block or b"", end_stream=block is None)
        self._unsent += len(block or b"")
        return block is not None


class Server:
    """Accepts a connection, serves it to its end, then accepts the next."""

    def __init__(
        self,
        udp: socket.socket,
        configuration: QuicConfiguration,
        stop: StopSignal,
        tuning: Tuning = MODERN,
    ) -> None:
        self._udp = udp
        self._configuration = configuration
        self._tuning = tuning
        self._session: Session | None = None
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
                self._session = self._accept(data)
            if self._session is not None:
                self._session.connection.receive_datagram(data, address, now)

    def _drive(self, session: Session) -> None:
        if self._stop.requested:
            session.connection.close(error_code=ErrorCode.H3_NO_ERROR)  # once; then it does nothing
        session.drive(time.monotonic(), lambda connection: transmit(connection, self._udp))
        if session.ended:
            self._session = None

    def _accept(self, data: bytes) -> Session | None:
        destination = initial_destination(data)
        if destination is None:
            return None
        return Session(make_connection(self._configuration, self._tuning, destination=destination))


def initial_destination(data: bytes) -> bytes | None:
    """Return the destination connection ID of a client's first packet, None for another.

    It has to be an Initial packet of version 1 (RFC 9000, section 17.2.2) in a datagram of 1,200
    bytes or more (section 14.1).
    """
    if len(data) < 1200 or data[0] & 0xF0 != 0xC0 or data[1:5] != b"\0\0\0\1":
        return None
    return data[6 : 6 + data[5]]


def main() -> None:
    """Serve connections until SIGTERM or SIGINT."""
    told = ServerSettings.given()
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=[*H3_ALPN, CALL],
        max_datagram_frame_size=told.datagram_frame,
        congestion_control_algorithm=told.congestion_control,
        max_datagram_size=told.options.max_datagram_bytes,
        quic_logger=QuicFileLogger(str(told.qlog)) if told.qlog else None,
    )
    configuration.load_cert_chain(told.certificate, told.key)
    udp = socket.socket(address_family(told.address), socket.SOCK_DGRAM)
    udp.bind((told.address, told.port))
    stop = StopSignal(signal.SIGTERM, signal.SIGINT)
    server = Server(udp, configuration, stop, told.options.tuning)
    gc.freeze()  # what was imported is never garbage: full collections need not visit it
    server.run()


if __name__ == "__main__":
    main()
