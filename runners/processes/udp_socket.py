"""UDP sockets: to wait, also for a signal, to read in batches, the receive buffer and its drops."""

from __future__ import annotations

import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, TypeVar

from minitopo_dc.interruption import heed

T = TypeVar("T")
Address = tuple[Any, ...]
"""A socket's address: host and port, with IPv6 also flow label and scope."""

# linux/socket.h and asm-generic/socket.h, which the socket module does not name
SO_RCVBUFFORCE = 33
SO_MEMINFO = 55
IP_RECVTOS = 13  # linux/in.h
SK_MEMINFO_DROPS = 8

DATAGRAM_BYTES = 2048
"""An Ethernet frame's largest UDP payload is 1472 bytes."""
BATCH = 64
"""Datagrams taken in before a transmission: a bound, so that acknowledgements are never late."""


def set_receive_buffer(udp: socket.socket, size_bytes: int) -> None:
    """Ask for a receive buffer of `size_bytes` as the kernel counts it (overhead included).

    The kernel doubles what SO_RCVBUF and SO_RCVBUFFORCE ask for (socket(7)), whereas
    net.core.rmem_default, which the papers changed, is taken as it is.
    """
    try:
        udp.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, size_bytes // 2)
    except PermissionError:  # not root: net.core.rmem_max bounds it
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size_bytes // 2)


def socket_drops(udp: socket.socket) -> int:
    """Return how many datagrams the kernel dropped because a socket's receive buffer was full."""
    memory = udp.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 4 * (SK_MEMINFO_DROPS + 1))
    return int(struct.unpack("@9I", memory)[SK_MEMINFO_DROPS])


def use_ecn(udp: socket.socket, code_point: int) -> None:
    """Send with an ECN code point (RFC 3168), and have that of what arrives be told."""
    level, option, told = _traffic_class(udp)
    udp.setsockopt(level, option, code_point)
    udp.setsockopt(level, told, 1)


def _traffic_class(udp: socket.socket) -> tuple[int, int, int]:
    """Return the level and the options of type of service (IPv4) or traffic class (IPv6)."""
    if udp.family == socket.AF_INET6:
        return socket.IPPROTO_IPV6, socket.IPV6_TCLASS, socket.IPV6_RECVTCLASS
    return socket.IPPROTO_IP, socket.IP_TOS, IP_RECVTOS


def receive_batch(udp: socket.socket) -> Iterator[tuple[bytes, Address]]:
    """Yield the datagrams that wait in a socket, at most `BATCH` of them."""
    return _batch(lambda: udp.recvfrom(DATAGRAM_BYTES, socket.MSG_DONTWAIT))


def receive_with_ecn(udp: socket.socket) -> Iterator[tuple[bytes, Address, int]]:
    """Yield the same of a socket of `use_ecn`, with the code point of each."""

    def receive() -> tuple[bytes, Address, int]:
        data, told, _flags, source = udp.recvmsg(
            DATAGRAM_BYTES, socket.CMSG_SPACE(4), socket.MSG_DONTWAIT
        )
        return data, source, (told[0][2][0] & 3 if told else 0)

    return _batch(receive)


def _batch(receive: Callable[[], T]) -> Iterator[T]:
    for _ in range(BATCH):
        try:
            yield receive()
        except BlockingIOError:
            return
        except ConnectionRefusedError:
            continue  # an ICMP error of an earlier datagram; QUIC's own timers decide


def send_marked(udp: socket.socket, data: bytes, destination: Address, field: int) -> None:
    """Send a datagram whose IP header has a DS field (RFC 2474) with its ECN bits.

    Raises:
        OSError: as of `sendto`.
    """
    level, option, _ = _traffic_class(udp)
    udp.sendmsg([data], [(level, option, struct.pack("@i", field))], 0, destination)


def wait_readable(sockets: Sequence[socket.socket], until: float | None) -> list[socket.socket]:
    """Sleep until something waits in one of the sockets or the monotonic time `until` has come.

    Returns:
        those in which something waits.
    """
    timeout = None if until is None else max(0.0, until - time.monotonic())
    return select.select(sockets, [], [], timeout)[0]


class StopSignal:
    """Notes whether one of some signals came, which alone would not end a select call (PEP 475)."""

    def __init__(self, *numbers: signal.Signals) -> None:
        """Catch these from now on, unless they are ignored."""
        self.requested = False
        self.waiting, self._waker = socket.socketpair()
        """Readable from the first signal on."""
        self._waker.setblocking(False)
        signal.set_wakeup_fd(self._waker.fileno())
        heed(self._request, *numbers)

    def _request(self, _signal: int, _frame: FrameType | None) -> None:
        self.requested = True
