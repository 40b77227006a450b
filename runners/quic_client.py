"""HTTP/3 client on aioquic: downloads ``/bytes/N`` and prints one line of JSON about it."""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import math
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aioquic.h3.connection import H3_ALPN, ErrorCode, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, QuicEvent
from aioquic.quic.logger import QuicFileLogger

from runners.addresses import address_family, socket_address
from runners.certificate import SERVER_NAME
from runners.quic_endpoint import (
    Address,
    Transmit,
    events,
    receive_batch,
    transmit,
    wait_readable,
)
from runners.udp_socket import set_receive_buffer, socket_drops


@dataclass
class Outcome:
    """What the client saw; times in seconds from the first datagram it sent."""

    status: int = 0
    bytes_received: int = 0
    sha256: str = ""
    completion_s: float | None = None
    stopped_s: float | None = None  # in place of completion_s: the duration was over before
    handshake_s: float | None = None
    first_byte_s: float | None = None
    receive_buffer_bytes: int = 0
    socket_drops: int = 0
    error: str | None = None


class Download:
    """One HTTP/3 connection that downloads one resource; sans-IO."""

    def __init__(
        self,
        connection: QuicConnection,
        path: str,
        transmit: Transmit,
        clock: Callable[[], float] = time.monotonic,
        *,
        duration_s: float = math.inf,
    ) -> None:
        """Take what to download, how to send, and when to stop: s after the start."""
        self.outcome = Outcome()
        self.ended = False
        self._connection = connection
        self._transmit = transmit
        self._clock = clock
        self._http = H3Connection(connection)
        self._path = path
        self._digest = hashlib.sha256()
        self._body_arrives = False
        self._start = 0.0
        self._duration = duration_s
        self._deadline = math.inf

    def start(self, server: Address) -> float | None:
        """Connect; returns when to be called again."""
        self._start = self._clock()
        self._deadline = self._start + self._duration
        self._connection.connect(server, self._start)
        self._transmit(self._connection)
        return self._next(self._connection.get_timer())

    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Take in what arrived, send what is due; returns when to be called again.

        From the deadline on nothing counts any more, and the connection is closed.
        """
        if now >= self._deadline:
            self._deadline = math.inf
            self._stop()
        return self._next(self._advance(now, datagrams))

    def _next(self, timer: float | None) -> float | None:
        if self._deadline == math.inf:
            return timer
        return self._deadline if timer is None else min(timer, self._deadline)

    def _stop(self) -> None:
        if self.outcome.completion_s is None:
            self.outcome.stopped_s = self._elapsed()
            self._close()

    def _advance(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Take in what arrived, send what is due; returns the connection's timer.

        While the body arrives, all that this side sends is acknowledgements, and aioquic sends
        them when its timer says so (1 ms after the first datagram that they cover): asking it
        for datagrams earlier costs a third of the client's time and yields none.
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
        if self._body_arrives and not due:
            return timer
        self._transmit(connection)
        return connection.get_timer()

    def _handle(self, event: QuicEvent) -> None:
        if isinstance(event, HandshakeCompleted):
            self.outcome.handshake_s = self._elapsed()
            self._request()
        elif isinstance(event, ConnectionTerminated):
            self.ended = True
            if self.outcome.completion_s is None and self.outcome.stopped_s is None:
                self.outcome.error = f"connection ended: {event.reason_phrase or event.error_code}"
        for received in self._http.handle_event(event):
            self._receive(received)

    def _request(self) -> None:
        headers = [
            (b":method", b"GET"),
            (b":scheme", b"https"),
            (b":authority", SERVER_NAME.encode()),
            (b":path", self._path.encode()),
        ]
        stream_id = self._connection.get_next_available_stream_id()
        self._http.send_headers(stream_id, headers, end_stream=True)

    def _receive(self, received: H3Event) -> None:
        if self.outcome.stopped_s is not None:
            return
        if isinstance(received, HeadersReceived):
            self.outcome.status = int(dict(received.headers)[b":status"])
            self.outcome.first_byte_s = self._elapsed()
            self._body_arrives = True
        elif isinstance(received, DataReceived):
            self._digest.update(received.data)
            self.outcome.bytes_received += len(received.data)
        if isinstance(received, HeadersReceived | DataReceived) and received.stream_ended:
            self.outcome.completion_s = self._elapsed()
            self._close()

    def _close(self) -> None:
        self.outcome.sha256 = self._digest.hexdigest()
        self._body_arrives = False
        self._connection.close(error_code=ErrorCode.H3_NO_ERROR)

    def _elapsed(self) -> float:
        return self._clock() - self._start


def run(download: Download, udp: socket.socket, server: Address) -> Outcome:
    """Connect, download, close; returns when the connection has ended."""
    timer = download.start(server)
    while not download.ended:
        wait_readable([udp], timer)
        timer = download.step(time.monotonic(), receive_batch(udp))
    return download.outcome


def main() -> None:
    """Download once and print the outcome as one line of JSON."""
    options = _options()
    configuration = QuicConfiguration(
        is_client=True,
        alpn_protocols=H3_ALPN,
        congestion_control_algorithm=options.congestion_control,
        max_datagram_size=options.max_datagram,
        max_data=options.max_data,
        max_stream_data=options.max_stream_data,
        server_name=SERVER_NAME,
        quic_logger=QuicFileLogger(str(options.qlog)) if options.qlog else None,
    )
    configuration.load_verify_locations(str(options.certificate))
    with socket.socket(address_family(options.bind), socket.SOCK_DGRAM) as udp:
        if options.receive_buffer:
            set_receive_buffer(udp, options.receive_buffer)
        udp.bind((options.bind, 0))
        download = Download(
            QuicConnection(configuration=configuration),
            options.path,
            lambda connection: transmit(connection, udp),
            duration_s=options.duration,
        )
        gc.freeze()  # what was imported is never garbage: full collections need not visit it
        started_ns = time.monotonic_ns()
        outcome = run(download, udp, socket_address(options.address, options.port))
        outcome.receive_buffer_bytes = udp.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        outcome.socket_drops = socket_drops(udp)
    _report(asdict(outcome) | {"started_ns": started_ns})


def _report(outcome: dict[str, Any]) -> None:
    print(json.dumps(outcome), flush=True)  # noqa: T201


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", required=True, help="the server's")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--bind", required=True, help="the client's address")
    parser.add_argument("--path", required=True)
    parser.add_argument("--certificate", type=Path, required=True)
    parser.add_argument("--congestion-control", choices=("reno", "cubic"), required=True)
    parser.add_argument("--receive-buffer", type=int, help="bytes; without: the kernel's default")
    parser.add_argument("--max-data", type=int, required=True, help="bytes")
    parser.add_argument("--max-stream-data", type=int, required=True, help="bytes")
    parser.add_argument("--max-datagram", type=int, required=True, help="bytes of UDP payload")
    parser.add_argument("--qlog", type=Path, help="directory for the qlog file")
    parser.add_argument("--duration", type=float, default=math.inf, help="s; without: to the end")
    return parser.parse_args()


if __name__ == "__main__":
    main()
