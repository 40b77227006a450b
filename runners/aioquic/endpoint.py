"""One aioquic connection over one UDP socket: the loop that the server and the client share.

aioquic's own asyncio protocol transmits after every datagram that it receives and its timers are
rounded up to a millisecond. Here all datagrams that wait are handed over before one transmission
follows, and timers are kept to the microsecond: fewer calls per packet, and pacing as computed.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter

from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import QuicEvent
from aioquic.quic.stream import QuicStream

Transmit = Callable[[QuicConnection], int]
"""Sends what a connection has to send now; returns the number of bytes."""


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


def advance(connection: QuicConnection, now: float) -> None:
    """Let a connection handle its timer if it is due."""
    timer = connection.get_timer()
    if timer is not None and timer <= now:
        connection.handle_timer(now)


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
