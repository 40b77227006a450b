"""The kernel's packet queues (NFQUEUE): neither their length nor their socket loses packets.

In Python a queue is the package NetfilterQueue's. For C all queues are on one netlink socket, so
that a single call reads all packets that wait, and another gives all verdicts.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path

from netfilterqueue import COPY_PACKET, NetfilterQueue, Packet

from minitopo_dc.real.element.loop import ElementError

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

    def __init__(self, number: int, callback: Callable[[Packet], None], copy: int) -> None:
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


def read_drops() -> dict[int, dict[str, int]]:
    """Return the packets that the kernel dropped instead of queueing them, of each queue here.

    All must stay 0: `queue_full` and `socket_full`.
    Columns of the kernel's file: queue, port id, waiting, copy mode, copy range, dropped because
    the queue was full, dropped because the socket was full, last id, 1.
    """
    rows = [line.split() for line in NFQUEUE_STATE.read_text(encoding="ascii").splitlines()]
    return {int(row[0]): {"queue_full": int(row[5]), "socket_full": int(row[6])} for row in rows}


NETLINK_NETFILTER = 12
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
"""linux/netlink.h, asm/socket.h: not in Python's socket."""
CONFIGURE = 3 << 8 | 2
"""NFNL_SUBSYS_QUEUE and NFQNL_MSG_CONFIG (linux/netfilter/nfnetlink_queue.h)."""
NLM_F_REQUEST, NLM_F_ACK, NLMSG_ERROR = 1, 4, 2
COMMAND, PARAMETERS, MAX_PACKETS = 1, 2, 3
"""Attributes NFQA_CFG_CMD, NFQA_CFG_PARAMS and NFQA_CFG_QUEUE_MAXLEN."""
BIND, COPY = 1, 2
VERDICTS = 1 << 20
"""Bytes of verdicts that are sent at once, and more."""
_header = struct.Struct("=IHHII")
"""struct nlmsghdr: length, type, flags, number, port."""


class NetlinkQueues:
    """The queues of one element; each is open once it is added.

    Raises:
        ElementError: the kernel has no such sockets for this process.
    """

    def __init__(self) -> None:
        try:
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
            self._socket.bind((0, 0))
        except OSError as error:
            raise ElementError(f"NFQUEUE: {error.strerror}") from None
        self._count = 0
        # A full socket buffer must not end the element; the kernel still counts the drops.
        self._socket.setsockopt(SOL_NETLINK, NETLINK_NO_ENOBUFS, 1)
        self._set_buffer(SO_SNDBUFFORCE, socket.SO_SNDBUF, VERDICTS)

    def fileno(self) -> int:
        """Return the descriptor from which packets are read and to which verdicts are written."""
        return self._socket.fileno()

    def add(self, copy: int) -> int:
        """Open the next queue, which gives `copy` bytes of each packet; return its number.

        Raises:
            ElementError: it is somebody else's, or this process may not.
        """
        number = self._count
        self._count += 1
        # The kernel doubles it (socket(7), SO_RCVBUF).
        size = self._count * SOCKET_BUFFER // 2
        self._set_buffer(SO_RCVBUFFORCE, socket.SO_RCVBUF, size)
        try:
            self._configure(number, COMMAND, struct.pack("!BxH", BIND, socket.AF_INET))
            self._configure(number, PARAMETERS, struct.pack("!IB", copy, COPY))
            self._configure(number, MAX_PACKETS, struct.pack("!I", QUEUE_LENGTH))
        except OSError as error:
            raise ElementError(
                f"NFQUEUE {number}: {error.strerror}; is another element running here?"
            ) from None
        return number

    def close(self) -> None:
        """Unbind all queues; the kernel drops what is still held."""
        self._socket.close()

    def _set_buffer(self, forced: int, limited: int, size: int) -> None:
        """Ask for `size` bytes; in a user namespace the machine's limit caps what it gets."""
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, forced, size)
        except PermissionError:
            self._socket.setsockopt(socket.SOL_SOCKET, limited, size)

    def _configure(self, queue: int, kind: int, value: bytes) -> None:
        attribute = struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)
        body = struct.pack("!BBH", socket.AF_UNSPEC, 0, queue) + attribute
        length = _header.size + len(body)
        flags = NLM_F_REQUEST | NLM_F_ACK
        self._socket.send(_header.pack(length, CONFIGURE, flags, 0, 0) + body)
        answer = self._socket.recv(4096)
        while _header.unpack_from(answer)[1] != NLMSG_ERROR:  # no rule sends packets yet
            answer = self._socket.recv(4096)
        (error,) = struct.unpack_from("=i", answer, _header.size)
        if error:
            raise OSError(-error, os.strerror(-error))


NET = Path("/proc/net")
REFUSALS = {
    *("InHdrErrors", "InAddrErrors", "InUnknownProtos", "InDiscards", "InNoRoutes"),
    *("InTruncatedPkts", "InTooBigErrors", "OutDiscards", "OutNoRoutes"),
    *("ReasmFails", "FragFails", "InCsumErrors"),
}
"""What the IP layer of this network namespace refuses before the queues or behind them, as Linux
calls counters of RFC 4293 (ipSystemStatsTable); the last one is Linux's own."""
_IPV4 = ("Ip:", "IpExt:")
_IPV6 = "Ip6"


def read_refusals() -> dict[str, int]:
    """Return how many packets were refused since the namespace was made, by version and counter.

    IPv4's counters are in pairs of lines, IPv6's in single ones (proc(5)).
    """
    counters: dict[str, str] = {}
    for file in ("snmp", "netstat"):
        lines = [line.split() for line in (NET / file).read_text(encoding="ascii").splitlines()]
        for (kind, *names), (_, *values) in zip(lines[::2], lines[1::2], strict=True):
            if kind in _IPV4:
                counters |= zip((f"IPv4 {name}" for name in names), values, strict=True)
    ipv6 = NET / "snmp6"
    for row in ipv6.read_text(encoding="ascii").splitlines() if ipv6.exists() else ():
        name, value = row.split()
        counters[name.replace(_IPV6, "IPv6 ", 1)] = value  # of others, as ICMP's, none is asked for
    wanted = {f"{version} {name}" for version in ("IPv4", "IPv6") for name in REFUSALS}
    return {name: int(count) for name, count in counters.items() if name in wanted}


def refused_since(before: dict[str, int]) -> dict[str, int]:
    """Return what was refused since `before` was read; counters that stayed are left out."""
    grown = {name: count - before.get(name, 0) for name, count in read_refusals().items()}
    return {name: count for name, count in grown.items() if count}
