"""A connection of aioquic without input or output: what both ends do with it.

aioquic's own asyncio protocol transmits after every datagram that it receives and its timers are
rounded up to a millisecond. Here all datagrams that wait are handed over before one transmission
follows, and timers are kept to the microsecond: fewer calls per packet, and pacing as computed.
"""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter

from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import (
    DatagramFrameReceived,
    QuicEvent,
    StreamDataReceived,
    StreamReset,
)
from aioquic.quic.stream import QuicStream

from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads.exchange import End

Transmit = Callable[[QuicConnection], int]
"""Sends what a connection has to send now; returns the number of bytes."""
LATE = 1
"""The error code of a stream that is given up."""


class _Queue(list[QuicStream]):
    """Streams that wait for their turn; those that just had it come last, the oldest first."""

    def extend(self, streams: Iterable[QuicStream]) -> None:
        super().extend(sorted(streams, key=attrgetter("stream_id")))


class OrderedConnection(QuicConnection):
    """aioquic's connection, in which streams take turns in the order of their IDs.

    aioquic keeps the streams that had their turn in a set (1.7), whose order is that of their
    addresses in memory: with several streams, no two runs would send the same packets.
    """

    @property
    def _streams_queue(self) -> _Queue:
        return self._ordered_streams

    @_streams_queue.setter
    def _streams_queue(self, streams: list[QuicStream]) -> None:
        self._ordered_streams = _Queue(streams)


class BareStreams:
    """A connection of aioquic without HTTP, as the ends of a workload see it (`Streams`)."""

    def __init__(self, connection: QuicConnection) -> None:
        self._connection = connection

    def open(self, *, unidirectional: bool, marked: bool = False) -> int:  # noqa: ARG002
        """Return a new stream of this end, which exists when something is written on it."""
        return self._connection.get_next_available_stream_id(is_unidirectional=unidirectional)

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send bytes on a stream."""
        self._connection.send_stream_data(stream, data, end_stream=end)

    def reset(self, stream: int) -> None:
        """Give a stream up; nothing when all was acknowledged."""
        self._connection.reset_stream(stream, LATE)

    def send_datagram(self, data: bytes, *, marked: bool = False) -> None:  # noqa: ARG002
        """Send bytes in a DATAGRAM frame."""
        self._connection.send_datagram_frame(data)


def tell(end: End, event: QuicEvent, now: int) -> None:
    """Tell an end of a workload what happened on its connection without HTTP."""
    if isinstance(event, StreamDataReceived):
        end.data(event.stream_id, event.data, now)
        if event.end_stream:
            end.end(event.stream_id, now)
    elif isinstance(event, StreamReset):
        end.reset(event.stream_id, now)
    elif isinstance(event, DatagramFrameReceived):
        end.datagram(event.data, now)


def advance(connection: QuicConnection, now: float) -> bool:
    """Let a connection handle its timer if it is due; return whether it was."""
    timer = connection.get_timer()
    if timer is None or timer > now:
        return False
    connection.handle_timer(now)
    return True


def events(connection: QuicConnection) -> Iterator[QuicEvent]:
    """Yield the events of a connection that were not taken yet."""
    while (event := connection.next_event()) is not None:
        yield event


def transmit(connection: QuicConnection, udp: socket.socket) -> int:
    """Send what a connection has to send now; return the number of bytes."""
    sent = 0
    for data, address in connection.datagrams_to_send(time.monotonic()):
        udp.sendto(data, address)
        sent += len(data)
    return sent


def to_ns(seconds: float) -> int:
    """Return a moment in ns, as workloads count it."""
    return round(seconds * NS_PER_S)


def earlier_timer(timer: float | None, timeout_ns: float) -> float | None:
    """Return the earlier one of a connection's timer (s) and an end's (ns; infinity: none)."""
    if timeout_ns == math.inf:
        return timer
    # One ns later, so that rounding to a float never makes it too early.
    timeout = (timeout_ns + 1) / NS_PER_S
    return timeout if timer is None else min(timer, timeout)
