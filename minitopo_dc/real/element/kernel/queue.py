"""A kernel packet queue (NFQUEUE), made so that neither its length nor its socket loses packets."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from netfilterqueue import COPY_PACKET, NetfilterQueue

from minitopo_dc.real.element.kernel.realtime import ElementError

QUEUE_LENGTH = 1 << 18
"""Packets the kernel holds for us. The kernel's own 1,024 over 200 ms of t-Reordering let only
5,100 PDU/s pass after a loss; this is 3 s (the longest finite t-Reordering) at 87,000 PDU/s."""
SOCKET_BUFFER = 64 << 20
"""Bytes of netlink socket buffer: about 25,000 packets of 1,500 bytes as the kernel counts them,
one second at the highest rate aimed at."""
WHOLE_PACKET = 0xFFFF
HEADER_ONLY = 64
"""Bytes copied where only the IP header is read: IPv4's has up to 60 (RFC 791), IPv6's 40."""
BUDGET = 64
"""Packets read from one queue before the others get a turn (as the kernel's NAPI weight)."""

SOL_NETLINK, NETLINK_NO_ENOBUFS = 270, 5  # linux/socket.h, linux/netlink.h: not in Python's socket
NFQUEUE_STATE = Path("/proc/net/netfilter/nfnetlink_queue")


class KernelPacket(Protocol):
    """What an element uses of a queued packet, which waits in the kernel for its verdict."""

    indev: int

    def get_payload(self) -> bytes:
        """Return the IP datagram, or its first bytes; it works only in the callback."""

    def set_payload(self, payload: bytes) -> None:
        """Replace the datagram by other bytes."""

    def set_mark(self, mark: int) -> None:
        """Set the firewall mark with which the packet goes on."""

    def accept(self) -> None:
        """Let the packet go on."""

    def drop(self) -> None:
        """Discard the packet for good."""


class QueueDrops(NamedTuple):
    """Packets that the kernel dropped instead of queueing them; both must stay 0."""

    queue_full: int
    socket_full: int


class _Ration(socket.socket):
    """A second view of a queue's socket, which runs dry after `BUDGET` packets."""

    left = 0

    def __init__(self, descriptor: int) -> None:
        super().__init__(fileno=socket.dup(descriptor))

    def recv(self, size: int, flags: int = 0) -> bytes:
        if not self.left:
            raise BlockingIOError(errno.EAGAIN, "turn over")
        self.left -= 1
        return super().recv(size, flags | socket.MSG_DONTWAIT)


class KernelQueue:
    """One numbered NFQUEUE of this network namespace, with one callback per packet."""

    def __init__(self, number: int, callback: Callable[[KernelPacket], None], copy: int) -> None:
        self.number = number
        self._queue = NetfilterQueue()
        try:
            # sock_len is halved because the kernel doubles it (socket(7), SO_RCVBUF).
            self._queue.bind(
                number,
                callback,
                max_len=QUEUE_LENGTH,
                mode=COPY_PACKET,
                range=copy,
                sock_len=SOCKET_BUFFER // 2,
            )
        except OSError as error:
            raise ElementError(
                f"NFQUEUE {number}: {error}; is another element running here?"
            ) from None
        self._ration = _Ration(self.fileno())
        # A full socket buffer must not end the element; the kernel still counts the drops.
        self._ration.setsockopt(SOL_NETLINK, NETLINK_NO_ENOBUFS, 1)

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return int(self._queue.get_fd())

    def read(self) -> None:
        """Call back for the packets that wait, at most `BUDGET` of them."""
        self._ration.left = BUDGET
        self._queue.run_socket(self._ration)

    def close(self) -> None:
        """Unbind the queue; the kernel drops what is still held."""
        self._queue.unbind()
        self._ration.close()


def read_drops() -> dict[int, QueueDrops]:
    """Return the drops of each queue of this network namespace.

    Columns of the kernel's file: queue, port id, waiting, copy mode, copy range, dropped because
    the queue was full, dropped because the socket was full, last id, 1.
    """
    rows = [line.split() for line in NFQUEUE_STATE.read_text(encoding="ascii").splitlines()]
    return {int(row[0]): QueueDrops(int(row[5]), int(row[6])) for row in rows}
