"""Client on aioquic for any workload: over HTTP/3, or over bare streams where it asks for them.

As a program it prints one line of JSON about what it saw. An error is in there too (`error`): the
exit code is 0 all the same.
"""

from __future__ import annotations

import gc
import json
import math
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, Protocol

from aioquic.h3.connection import ErrorCode, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, QuicEvent, StreamReset
from aioquic.quic.logger import QuicFileLogger
from aioquic.quic.packet import QuicErrorCode

from minitopo_dc.runners.addresses import address_family, request_headers, socket_address
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
from minitopo_dc.runners.aioquic.runner import AioquicOptions, configuration
from minitopo_dc.runners.base import Transfer
from minitopo_dc.runners.processes.udp_socket import (
    Address,
    receive_batch,
    set_receive_buffer,
    socket_drops,
    wait_readable,
)
from minitopo_dc.runners.programs import wait_for_start
from minitopo_dc.runners.quic import qlog_directory
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Workload
from minitopo_dc.workloads.exchange import Client, WrongAnswer

Clock = Callable[[], float]
"""Returns the time in s."""


class SteppedClient(Protocol):
    """A client without input or output, of either aioquic."""

    ended: bool

    def start(self, server: Address) -> float | None:
        """Connect; return when to be called again (s)."""

    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Take in what arrived, do what is due; return when to be called again (s)."""

    def report(self) -> dict[str, Any]:
        """Return what it has seen until now."""


class AioquicClient(ABC):
    """A workload's client and its connection, from the handshake to the end."""

    close_code: ClassVar[int]
    """The error code with which the connection is closed in order."""

    def __init__(
        self,
        connection: QuicConnection,
        workload: Workload,
        transmit: Transmit,
        clock: Clock = time.monotonic,
    ) -> None:
        """Take a connection that has not begun, what to do on it, how to send, and a clock."""
        self.ended = False
        """Whether the connection is over."""
        self._connection = connection
        self._transmit = transmit
        self._clock = clock
        self._closing = False
        self.client = self._make_client(workload)

    @abstractmethod
    def _make_client(self, workload: Workload) -> Client:
        """Return the workload's client on this connection."""

    def start(self, server: Address) -> float | None:
        """Connect; return when to be called again (s)."""
        now = self._clock()
        self.client.connecting(to_ns(now))
        self._connection.connect(server, now)
        self._transmit(self._connection)
        return self._next(self._connection.get_timer())

    @abstractmethod
    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Take in what arrived, do what is due; return when to be called again (s)."""

    def report(self) -> dict[str, Any]:
        """Return what the client has seen until now."""
        return self.client.report()

    @abstractmethod
    def _next(self, timer: float | None) -> float | None:
        """Return the earlier one of the connection's timer and the client's (s)."""

    @abstractmethod
    def _on_connected(self, now: int) -> None:
        """Tell the client that it may begin."""

    @abstractmethod
    def _on_event(self, event: QuicEvent, now: int) -> None:
        """Tell the client what has happened."""

    def _receive(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> bool:
        """Take in what arrived; return whether the connection's timer was due."""
        for data, address in datagrams:
            self._connection.receive_datagram(data, address, now)
        was_due = advance(self._connection, now)
        for event in events(self._connection):
            self._handle(event)
        return was_due

    def _handle(self, event: QuicEvent) -> None:
        now = to_ns(self._clock())
        if isinstance(event, HandshakeCompleted):
            self._on_connected(now)
        elif isinstance(event, ConnectionTerminated):
            self.ended = self._closing = True
            self.client.failed(f"connection ended: {event.reason_phrase or event.error_code}")
        self._on_event(event, now)

    def _act(self, now: int) -> None:
        """Do what is due of the workload, and close the connection when that has ended."""
        if not self._closing:
            self.client.on_time(now)
            self._close_if_ended()

    def _close_if_ended(self) -> None:
        if self.client.ended and not self._closing:
            self._closing = True
            self._connection.close(error_code=self.close_code)


class Http3Client(AioquicClient):
    """A client over HTTP/3, which is its connection (`Requests`)."""

    close_code: ClassVar[int] = ErrorCode.H3_NO_ERROR

    def _make_client(self, workload: Workload) -> Client:
        self._http = H3Connection(self._connection)
        return workload.make_client(self)

    def request(
        self, method: str, path: str, body: bytes | None = None, *, length: int | None = None
    ) -> int:
        """Ask for something; return the number of its stream."""
        stream = self._connection.get_next_available_stream_id()
        size = length if body is None else len(body)
        headers = request_headers(method, path, size)
        self._http.send_headers(stream, headers, end_stream=size is None)
        if body is not None:
            self._http.send_data(stream, body, end_stream=True)
        return stream

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send the next piece of a body."""
        self._http.send_data(stream, data, end_stream=end)

    def cancel(self, stream: int) -> None:
        """Tell the server that no more of an answer is wanted."""
        self._connection.stop_stream(stream, ErrorCode.H3_REQUEST_CANCELLED)

    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Take in what arrived, send what is due; return when to be called again (s).

        While the body of a download arrives, all that this side sends is acknowledgements, and
        aioquic sends them when its timer says so (1 ms after the first datagram that they cover):
        asking it for datagrams earlier costs a third of the client's time and yields none.
        """
        self._act(to_ns(now))
        was_due = self._receive(now, datagrams)
        if was_due or self._closing or not self.client.only_receives:
            self._transmit(self._connection)
        return self._next(self._connection.get_timer())

    def _next(self, timer: float | None) -> float | None:
        timeout = math.inf if self._closing else self.client.next_timeout() / NS_PER_S
        if timeout == math.inf:
            return timer
        return timeout if timer is None else min(timer, timeout)

    def _on_connected(self, now: int) -> None:
        self.client.connected(now)
        self._act(now)

    def _on_event(self, event: QuicEvent, now: int) -> None:
        for received in self._http.handle_event(event):
            self._take(received, now)
        if isinstance(event, StreamReset) and not self._closing:
            self._judge(self.client.reset, event.stream_id, now)
            self._close_if_ended()

    def _take(self, event: H3Event, now: int) -> None:
        if self._closing or not isinstance(event, HeadersReceived | DataReceived):
            return
        if isinstance(event, HeadersReceived):
            status = int(dict(event.headers)[b":status"])
            self._judge(self.client.headers, event.stream_id, status, now)
        else:
            self._judge(self.client.data, event.stream_id, event.data, now)
        if event.stream_ended and not self.client.ended:
            self._judge(self.client.end, event.stream_id, now)
        self._act(now)

    def _judge(self, take: Callable[..., None], *what: Any) -> None:
        """Tell the client something; a wrong answer ends it."""
        try:
            take(*what)
        except WrongAnswer as wrong:
            self.client.failed(str(wrong))


class StreamsClient(AioquicClient):
    """A client over bare streams."""

    close_code: ClassVar[int] = QuicErrorCode.NO_ERROR

    def _make_client(self, workload: Workload) -> Client:
        return workload.make_stream_client(BareStreams(self._connection))

    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Take in what arrived, send what is due; return when to be called again (s)."""
        self._receive(now, datagrams)
        self._act(to_ns(now))
        self._transmit(self._connection)
        return self._next(self._connection.get_timer())

    def _next(self, timer: float | None) -> float | None:
        return earlier_timer(timer, self.client.next_timeout())

    def _on_connected(self, now: int) -> None:
        self.client.connected(now)

    def _on_event(self, event: QuicEvent, now: int) -> None:
        try:
            tell(self.client, event, now)
        except WrongAnswer as wrong:
            self.client.failed(str(wrong))


def make_client(
    workload: Workload,
    connection: QuicConnection,
    transmit: Transmit,
    clock: Clock = time.monotonic,
) -> AioquicClient:
    """Return the client of a workload on a connection that has not begun."""
    kind = StreamsClient if workload.bare_streams else Http3Client
    return kind(connection, workload, transmit, clock)


def run(client: SteppedClient, udp: socket.socket, server: Address) -> None:
    """Connect, do what the client is for, close; print the report when the connection has ended."""
    gc.freeze()  # what was imported is never garbage: full collections need not visit it
    wait_for_start()
    started_ns = time.monotonic_ns()
    timer = client.start(server)
    while not client.ended:
        wait_readable([udp], timer)
        timer = client.step(time.monotonic(), receive_batch(udp))
    report = client.report() | {
        "receive_buffer_bytes": udp.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
        "socket_drops": socket_drops(udp),
        "started_ns": started_ns,
    }
    print(json.dumps(report), flush=True)  # noqa: T201


def bound_socket(address: str, receive_buffer: int | None) -> socket.socket:
    """Return a client's socket; the kernel chooses its port and, without one, its buffer."""
    udp = socket.socket(address_family(address), socket.SOCK_DGRAM)
    if receive_buffer:
        set_receive_buffer(udp, receive_buffer)
    udp.bind((address, 0))
    return udp


def main() -> None:
    """Do what the workload asks for, and print the outcome as one line of JSON."""
    transfer = Transfer.given()
    options = AioquicOptions.check(transfer.options, "runner quic")
    qlog = qlog_directory(transfer, options, "client")
    made = configuration(
        transfer.workload,
        transfer.congestion_control,
        options,
        is_client=True,
        logger=QuicFileLogger(str(qlog)) if qlog else None,
    )
    made.load_verify_locations(str(transfer.certificate))
    connection = make_connection(made, options.tuning)
    with bound_socket(transfer.client_addresses[0], options.receive_buffer_bytes) as udp:
        client = make_client(transfer.workload, connection, partial(transmit, udp=udp))
        run(client, udp, socket_address(transfer.server_address, transfer.port))


if __name__ == "__main__":
    main()
