"""One aioquic connection over one UDP socket: the loop that the server and the client share.

aioquic's own asyncio protocol transmits after every datagram that it receives and its timers are
rounded up to a millisecond. Here all datagrams that wait are handed over before one transmission
follows, and timers are kept to the microsecond: fewer calls per packet, and pacing as computed.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import QuicEvent
from aioquic.quic.stream import QuicStream

Address = tuple[Any, ...]
"""A socket's address: host and port, with IPv6 also flow label and scope."""
Transmit = Callable[[QuicConnection], int]
"""Sends what a connection has to send now; returns the number of bytes."""

DATAGRAM_BYTES = 2048
"""An Ethernet frame's largest UDP payload is 1472 bytes."""
BATCH = 64
"""Datagrams taken in before a transmission: a bound, so that acknowledgements are never late."""


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


def receive_batch(udp: socket.socket) -> Iterator[tuple[bytes, Address]]:
    """The datagrams that wait in a socket, at most `BATCH` of them."""
    for _ in range(BATCH):
        try:
            yield udp.recvfrom(DATAGRAM_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except ConnectionRefusedError:
            continue  # an ICMP error of an earlier datagram; QUIC's own timers decide


def wait_readable(sockets: Sequence[socket.socket], until: float | None) -> None:
    """Sleep until something waits in one of the sockets or the monotonic time `until` has come."""
    timeout = None if until is None else max(0.0, until - time.monotonic())
    select.select(sockets, [], [], timeout)


def advance(connection: QuicConnection, now: float) -> None:
    """Let a connection handle its timer if it is due."""
    timer = connection.get_timer()
    if timer is not None and timer <= now:
        connection.handle_timer(now)


def events(connection: QuicConnection) -> Iterator[QuicEvent]:
    """The events of a connection that were not taken yet."""
    while (event := connection.next_event()) is not None:
        yield event


def transmit(connection: QuicConnection, udp: socket.socket) -> int:
    """Send what a connection has to send now; returns the number of bytes."""
    sent = 0
    for data, address in connection.datagrams_to_send(time.monotonic()):
        udp.sendto(data, address)
        sent += len(data)
    return sent
