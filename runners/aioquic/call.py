"""A call over aioquic: its connection as the ends see it, and the client."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable

from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import (
    ConnectionTerminated,
    DatagramFrameReceived,
    HandshakeCompleted,
    QuicEvent,
    StreamDataReceived,
    StreamReset,
)

from minitopo_dc.runners.aioquic.endpoint import Transmit, advance, events
from minitopo_dc.runners.payload.call import LATE, CallClient, CallOutcome, CallServer
from minitopo_dc.runners.processes.udp_socket import Address
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Realtime


class AioquicPipe:
    """A connection of aioquic as both ends of a call see it."""

    def __init__(self, connection: QuicConnection) -> None:
        self._connection = connection

    def open(self, *, unidirectional: bool) -> int:
        """Return a new stream of this end, which exists when something is written on it."""
        return self._connection.get_next_available_stream_id(is_unidirectional=unidirectional)

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send bytes on a stream."""
        self._connection.send_stream_data(stream, data, end_stream=end)

    def reset(self, stream: int) -> None:
        """Give a stream up; nothing when all was acknowledged."""
        self._connection.reset_stream(stream, LATE)

    def send_datagram(self, data: bytes) -> None:
        """Send bytes in a DATAGRAM frame."""
        self._connection.send_datagram_frame(data)


def tell(call: CallClient | CallServer, event: QuicEvent, now: int) -> None:
    """Tell an end of a call what happened on its connection."""
    if isinstance(event, StreamDataReceived):
        call.on_stream(event.stream_id, event.data, event.end_stream, now)
    elif isinstance(event, StreamReset):
        call.on_reset(event.stream_id)
    elif isinstance(event, DatagramFrameReceived):
        call.on_datagram(event.data, now)


class CallingClient:
    """The client of a call, from its handshake to its end."""

    def __init__(
        self,
        connection: QuicConnection,
        workload: Realtime,
        transmit: Transmit,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take how to send, and a clock in s."""
        self.ended = False
        self._connection = connection
        self._transmit = transmit
        self._clock = clock
        self._call = CallClient(workload, AioquicPipe(connection))
        self._closing = False

    @property
    def outcome(self) -> CallOutcome:
        """Return what has become of the call until now."""
        return self._call.outcome

    def start(self, server: Address) -> float | None:
        """Connect; return when to be called again (s)."""
        now = self._clock()
        self._call.connecting(to_ns(now))
        self._connection.connect(server, now)
        self._transmit(self._connection)
        return self._connection.get_timer()

    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Take in what arrived, send what is due; return when to be called again (s)."""
        connection, call = self._connection, self._call
        for data, address in datagrams:
            connection.receive_datagram(data, address, now)
        advance(connection, now)
        for event in events(connection):
            self._handle(event, to_ns(now))
        call.on_time(to_ns(now))
        if call.ended and not self._closing:
            self._closing = True
            connection.close()
        self._transmit(connection)
        return earlier_timer(connection.get_timer(), call.next_timeout())

    def _handle(self, event: QuicEvent, now: int) -> None:
        if isinstance(event, HandshakeCompleted):
            self._call.connected(now)
        elif isinstance(event, ConnectionTerminated):
            self.ended = True
            self._call.failed(f"connection ended: {event.reason_phrase or event.error_code}")
        else:
            tell(self._call, event, now)


def to_ns(seconds: float) -> int:
    """Return a moment in ns, as calls count it."""
    return round(seconds * NS_PER_S)


def earlier_timer(timer: float | None, timeout_ns: float) -> float | None:
    """Return the earlier one of a connection's timer (s) and a call's (ns; infinity: none)."""
    if timeout_ns == math.inf:
        return timer
    # One ns later, so that rounding to a float never makes it too early.
    timeout = (timeout_ns + 1) / NS_PER_S
    return timeout if timer is None else min(timer, timeout)
