"""A UDP socket's receive buffer, and what was dropped because it was full."""

from __future__ import annotations

import socket
import struct

# linux/socket.h and asm-generic/socket.h, which the socket module does not name
SO_RCVBUFFORCE = 33
SO_MEMINFO = 55
SK_MEMINFO_DROPS = 8


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
    """The datagrams that the kernel dropped because a socket's receive buffer was full."""
    memory = udp.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 4 * (SK_MEMINFO_DROPS + 1))
    return int(struct.unpack("@9I", memory)[SK_MEMINFO_DROPS])
