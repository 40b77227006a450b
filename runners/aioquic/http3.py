"""HTTP/3 on aioquic: both ends of a flow, over requests or, where a workload asks, bare streams."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from functools import cached_property
from http import HTTPStatus
from typing import Any, ClassVar

from aioquic.h3.connection import ErrorCode, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.events import StreamDataReceived

from minitopo_dc.quic.connection import Datagram
from minitopo_dc.quic.events import Event, StreamData, StreamReset
from minitopo_dc.runners.addresses import request_headers
from minitopo_dc.runners.aioquic.connection import TIMER_MARGIN_NS, AioquicConnection
from minitopo_dc.runners.sans_io.ends import ClientSession, ServerSession
from minitopo_dc.runners.sans_io.session import MarkedSession, Pipe
from minitopo_dc.runners.virtual import NO_CONGESTION, Congestion
from minitopo_dc.workloads.exchange import Client, Content, End, Request, Server

LOW_WATER_BYTES = 1024 * 1024
"""A body is handed to aioquic in pieces, so that the first packet need not wait for 40 MB to be
copied. 1 MiB is more than a congestion window on the emulated legs ever holds."""


class Http3Pipe(Pipe):
    """A connection with HTTP/3, on which a client asks and a server answers."""

    def __init__(self, connection: AioquicConnection) -> None:
        super().__init__(connection)
        self._aioquic = connection
        # The bodies that were not handed over to their ends, by stream, in turn.
        self._bodies: deque[tuple[int, Iterator[bytes]]] = deque()
        self.unsent = 0
        connection.on_negotiated = lambda: self.http
        if connection.is_client:  # which knows its protocol from the beginning
            connection.on_negotiated()

    @cached_property
    def http(self) -> H3Connection:
        """Return HTTP/3 of this end, which sends its settings when it is asked for first."""
        return H3Connection(self._aioquic.quic)

    def request(
        self, method: str, path: str, body: bytes | None = None, *, length: int | None = None
    ) -> int:
        """Ask for something; return the number of its stream."""
        stream = self._connection.open_stream()
        size = length if body is None else len(body)
        self.http.send_headers(stream, request_headers(method, path, size), end_stream=size is None)
        if body is not None:
            self.write(stream, body, end=True)
        return stream

    def cancel(self, stream: int) -> None:
        """Tell the server that no more of an answer is wanted."""
        self._connection.stop_sending(stream, ErrorCode.H3_REQUEST_CANCELLED)

    def answer(self, stream: int, answer: Content | HTTPStatus) -> None:
        """Answer a request with content, or with a status alone."""
        if isinstance(answer, HTTPStatus):
            status = str(answer.value).encode()
            self.http.send_headers(stream, [(b":status", status)], end_stream=True)
            return
        length = (b"content-length", str(answer.size_bytes).encode())
        self.http.send_headers(stream, [(b":status", b"200"), length, *answer.headers])
        # Two blocks at once, a small body with its end: no response waits behind another one.
        body = iter(answer.pieces)
        if self._give_next(stream, body) and self._give_next(stream, body):
            self._bodies.append((stream, body))

    def begin(self, stream: int) -> None:
        """Begin an answer whose content `write` gives piece by piece."""
        self.http.send_headers(stream, [(b":status", b"200")])

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send the next piece of a body."""
        self.http.send_data(stream, data, end_stream=end)
        self.unsent += len(data)

    def tell(self, end: End, event: Event, now: int, *, marked: bool = False) -> None:
        """Tell an end of a workload what came."""
        if isinstance(event, StreamReset):
            # aioquic has given this end's part up, too, and has dropped what was unsent.
            self._bodies = deque(body for body in self._bodies if body[0] != event.stream_id)
            self.unsent = 0  # of others there may be more: then refills come early
        if not isinstance(event, StreamData):
            super().tell(end, event, now, marked=marked)
            return
        data = StreamDataReceived(event.data, event.end_stream, event.stream_id)
        for received in self.http.handle_event(data):
            _tell(end, received, now)

    def refill(self) -> None:
        """Give the connection more of the bodies when little of them is left to send."""
        while self._bodies and self.unsent < LOW_WATER_BYTES:
            stream, body = self._bodies.popleft()
            if self._give_next(stream, body):
                self._bodies.append((stream, body))

    def _give_next(self, stream: int, body: Iterator[bytes]) -> bool:
        """Give the connection a block of a body, or its end; return whether there is more."""
        block = next(body, None)
        self.write(stream, block or b"", end=block is None)
        return block is not None


def _tell(end: End, event: H3Event, now: int) -> None:
    if not isinstance(event, HeadersReceived | DataReceived):
        return
    if isinstance(event, DataReceived):
        end.data(event.stream_id, event.data, now)
    elif isinstance(end, Client):
        end.headers(event.stream_id, int(dict(event.headers)[b":status"]), now)
    elif isinstance(end, Server):
        headers = dict(event.headers)
        method, path = (headers.get(name, b"").decode() for name in (b":method", b":path"))
        end.request(event.stream_id, Request(method, path, headers), now)
    if event.stream_ended:
        end.end(event.stream_id, now)


def congestion_of(recovery: Any) -> Congestion:
    """Return what a `QuicPacketRecovery` knows of congestion; that of aioquic 0.8 has it, too."""
    threshold = recovery._cc.ssthresh
    return Congestion(
        recovery.congestion_window,
        recovery.bytes_in_flight,
        "" if threshold is None else threshold,
        f"{recovery._rtt_smoothed * 1000:.3f}",
    )


class AioquicClient(ClientSession):
    """A client over HTTP/3, or over bare streams where its workload asks for them."""

    connection: AioquicConnection
    margin_ns: ClassVar[int] = TIMER_MARGIN_NS

    def _make_pipe(self, marked: MarkedSession | None) -> Pipe:
        made = self.connection
        return Http3Pipe(made) if made.has_http else super()._make_pipe(marked)

    def _timeout(self) -> float:
        due = math.inf if self._closing else self.client.next_timeout()
        return due if due == math.inf else math.floor(due)

    def _drive(self, now: int) -> list[Datagram]:
        self._was_due = self.connection.advance(now)
        return super()._drive(now)

    def _send(self, now: int) -> list[Datagram]:
        """Return what is to be sent, if that can be anything.

        While the body of a download arrives, all that this side sends is acknowledgements, and
        aioquic sends them when its timer says so (1 ms after the first datagram that they cover):
        asking it for datagrams earlier costs a third of the client's time and yields none.
        """
        if self._was_due or self._closing or not self.client.only_receives:
            return super()._send(now)
        return []


class AioquicServer(ServerSession):
    """A server over HTTP/3, or over bare streams, of one connection."""

    connection: AioquicConnection
    margin_ns: ClassVar[int] = TIMER_MARGIN_NS

    def describe(self) -> dict[str, Any]:
        """Return nothing: nothing is negotiated."""
        return {}

    def congestion(self) -> Congestion:
        """Read from aioquic's own fields: it shows them in qlog only."""
        connection = self.connection
        return congestion_of(connection.quic._loss) if connection.has_begun else NO_CONGESTION

    def _make_pipe(self, marked: MarkedSession | None) -> Pipe:
        made = self.connection
        return Http3Pipe(made) if made.has_http else super()._make_pipe(marked)

    def _on_event(self, event: Event, now: int) -> None:
        if isinstance(event, StreamData | StreamReset):
            self._pipe.tell(self._server, event, now)
        else:
            super()._on_event(event, now)

    def _drive(self, now: int) -> list[Datagram]:
        self.connection.advance(now)
        return super()._drive(now)

    def _send(self, now: int) -> list[Datagram]:
        if not isinstance(self._pipe, Http3Pipe):
            return super()._send(now)
        self._pipe.refill()
        sent = super()._send(now)
        # Headers and retransmissions count too, so refills come early.
        self._pipe.unsent = max(0, self._pipe.unsent - sum(len(data) for data, *_ in sent))
        return sent
