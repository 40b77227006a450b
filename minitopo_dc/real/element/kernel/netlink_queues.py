"""The kernel's packet queues (NFQUEUE) on one netlink socket, which C reads and answers.

The settings are those of `kernel.queue`, which uses the package NetfilterQueue; with one socket a
single call reads all packets that wait, and another gives all verdicts.
"""

from __future__ import annotations

import os
import socket
import struct

from minitopo_dc.real.element.kernel.queue import (
    NETLINK_NO_ENOBUFS,
    QUEUE_LENGTH,
    SOCKET_BUFFER,
    SOL_NETLINK,
)
from minitopo_dc.real.element.kernel.realtime import ElementError

NETLINK_NETFILTER = 12
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
"""linux/netlink.h, asm/socket.h: not in Python's socket."""
CONFIGURE = 3 << 8 | 2
"""NFNL_SUBSYS_QUEUE and NFQNL_MSG_CONFIG (linux/netfilter/nfnetlink_queue.h)."""
NLM_F_REQUEST, NLM_F_ACK, NLMSG_ERROR = 1, 4, 2
COMMAND, PARAMETERS, MAX_PACKETS = 1, 2, 3
"""Attributes NFQA_CFG_CMD, NFQA_CFG_PARAMS and NFQA_CFG_QUEUE_MAXLEN."""
BIND, COPY_PACKET = 1, 2
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
            self._configure(number, PARAMETERS, struct.pack("!IB", copy, COPY_PACKET))
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
        number = self._answer()
        if number:
            raise OSError(number, os.strerror(number))

    def _answer(self) -> int:
        """Return the error in the kernel's answer, 0 for none; no rule sends packets yet."""
        while True:
            answer = self._socket.recv(4096)
            _, kind, *_ = _header.unpack_from(answer)
            if kind == NLMSG_ERROR:
                return -int(struct.unpack_from("=i", answer, _header.size)[0])
