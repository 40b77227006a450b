"""The kernel's view of a TCP or MPTCP socket: congestion control and subflows.

Sources: linux/tcp.h (struct tcp_info), linux/mptcp.h (struct mptcp_info, mptcp_subflow_data and
mptcp_subflow_addrs); MPTCP_TCPINFO and MPTCP_SUBFLOW_ADDRS are there since Linux 5.16.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
import termios
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from minitopo_dc.runners.addresses import address_family
from minitopo_dc.runners.processes.process import socket_numbers

AVAILABLE_SCHEDULERS = Path("/proc/sys/net/mptcp/available_schedulers")
IPPROTO_MPTCP = 262
TcpProtocol = Literal["tcp", "mptcp"]
PROTOCOLS: dict[TcpProtocol, int] = {"tcp": socket.IPPROTO_TCP, "mptcp": IPPROTO_MPTCP}
SO_PROTOCOL = 38
SOL_MPTCP = 284
MPTCP_INFO = 1
MPTCP_TCPINFO = 2
MPTCP_SUBFLOW_ADDRS = 3
MPTCP_INFO_FLAG_FALLBACK = 1

TCP_INFO = struct.Struct("@2B14xI4x4I28x4I16xI16x2QI8xI48x2Q")
"""struct tcp_info to tcpi_bytes_retrans (Linux 4.19): tcpi_state, tcpi_ca_state; tcpi_snd_mss;
tcpi_unacked, tcpi_sacked, tcpi_lost, tcpi_retrans; tcpi_rtt, tcpi_rttvar, tcpi_snd_ssthresh,
tcpi_snd_cwnd; tcpi_total_retrans; tcpi_bytes_acked, tcpi_bytes_received, tcpi_segs_out;
tcpi_min_rtt; tcpi_bytes_sent, tcpi_bytes_retrans."""
CA_STATES = ("open", "disorder", "cwr", "recovery", "loss")
"""enum tcp_ca_state."""
INFINITE_SSTHRESH = 0x7FFFFFFF
"""TCP_INFINITE_SSTHRESH of linux/net/tcp.h: no threshold was set yet."""
NO_MIN_RTT = 0xFFFFFFFF
"""tcpi_min_rtt before the first sample."""
TCP_ESTABLISHED = 1
"""linux/net/tcp_states.h."""
MPTCP_FLAGS_OFFSET = 8
"""struct mptcp_info: mptcpi_flags stands behind six octets and two of padding."""
# struct mptcp_subflow_data; struct sockaddr_storage, twice in struct mptcp_subflow_addrs
SUBFLOW_DATA = struct.Struct("@4I")
SOCKADDR_BYTES = 128
SOCKADDR_FAMILY = struct.Struct("@H")
SOCKADDR_PORT = struct.Struct("!2xH")
SOCKADDR_IN = struct.Struct("!4x4s")
SOCKADDR_IN6 = struct.Struct("!8x16s")
MAX_SUBFLOWS = 16

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Subflow:
    """One TCP connection, or one subflow of an MPTCP connection, seen from the sender."""

    local: str
    remote: str
    remote_port: int
    is_open: bool  # established, and neither end has begun to close it
    bytes_sent: int  # payload, retransmissions included
    bytes_retransmitted: int
    retransmissions: int  # segments
    bytes_acked: int
    bytes_received: int
    segments_sent: int
    cwnd_bytes: int
    in_flight_bytes: int
    smoothed_rtt_ms: float
    rtt_variation_ms: float  # RTTVAR of RFC 6298
    least_rtt_ms: float | None  # None: no sample yet
    ssthresh_bytes: int | None  # None: the first slow start has not ended
    congestion_state: str  # one of CA_STATES

    @property
    def key(self) -> tuple[str, str, int]:
        """Return what tells it from the others of its connection, also from earlier ones."""
        return self.local, self.remote, self.remote_port


def tcp_socket(address: str, protocol: TcpProtocol) -> socket.socket:
    """Return a socket of an address' family that sends small packets at once (TCP_NODELAY)."""
    family = address_family(address)
    made = socket.socket(family, socket.SOCK_STREAM, PROTOCOLS[protocol])
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # As asyncio resolves addresses for protocols that it knows only, MPTCP's is not named to it.
    return socket.socket(family, socket.SOCK_STREAM, 0, fileno=made.detach())


def set_congestion_control(connection: socket.socket, name: str) -> None:
    """Set a socket's congestion control; sockets that a listening one accepts inherit it.

    Raises:
        OSError: the kernel has no such algorithm (ENOENT) or reserves it to root (EPERM).
    """
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())


def congestion_control_obstacle(name: str) -> str | None:
    """Return why this user's TCP sockets cannot have a congestion control, None if they can."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        try:
            set_congestion_control(probe, name)
        except OSError as error:
            advice = f"as root: modprobe tcp_{name}"
            if error.errno == errno.EPERM:
                advice = "as root, or with it in sysctl net.ipv4.tcp_allowed_congestion_control"
            return f"the kernel refuses {name}: {error.strerror} ({advice})"
    return None


def mptcp_obstacle() -> str | None:
    """Return why there are no MPTCP sockets here, None when there are."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP).close()
    except OSError as error:
        advice = "CONFIG_MPTCP and sysctl net.mptcp.enabled=1 are needed"
        return f"the kernel refuses an MPTCP socket: {error.strerror} ({advice})"
    return None


def schedulers() -> list[str]:
    """Return the packet schedulers of MPTCP that one can choose here."""
    try:
        return AVAILABLE_SCHEDULERS.read_text(encoding="ascii").split()
    except OSError:
        return []  # the kernel has no MPTCP, or is older than 6.10


def congestion_control(connection: socket.socket) -> str:
    """Return the congestion control that the kernel uses for a socket."""
    name = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return name.split(b"\0", 1)[0].decode()


def is_multipath(connection: socket.socket) -> bool:
    """Return whether a socket speaks MPTCP and has not fallen back to TCP (RFC 8684, 3.7)."""
    if connection.getsockopt(socket.SOL_SOCKET, SO_PROTOCOL) != IPPROTO_MPTCP:
        return False
    info = connection.getsockopt(SOL_MPTCP, MPTCP_INFO, 12)
    (flags,) = struct.unpack_from("@I", info, MPTCP_FLAGS_OFFSET)
    return not flags & MPTCP_INFO_FLAG_FALLBACK


def subflows(connection: socket.socket, peer: tuple[str, int]) -> list[Subflow]:
    """Return the subflows of an MPTCP connection, or a TCP connection to `peer` as the only one.

    An initial subflow that the kernel has disconnected, which leaves no port, is not among them.

    Raises:
        OSError: an MPTCP connection is closed. (A TCP connection's counters outlive it.)
    """
    if is_multipath(connection):
        infos = _subflow_structures(connection, MPTCP_TCPINFO, TCP_INFO.size)
        pairs = _subflow_structures(connection, MPTCP_SUBFLOW_ADDRS, 2 * SOCKADDR_BYTES)
        every = (subflow(*ends(pair), info) for info, pair in zip(infos, pairs, strict=True))
        return [flow for flow in every if flow.remote_port]
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO.size)
    return [subflow(connection.getsockname()[0], peer, info)]


def has_delivered(connection: socket.socket) -> bool:
    """Return whether the peer acknowledged all that was written, or closed the connection.

    After a reset the kernel keeps the last count of unacknowledged bytes (SIOCOUTQ of tcp(7)), so
    the count alone would never come to zero.
    """
    if is_closed_by_peer(connection):
        return True
    answer = fcntl.ioctl(connection, termios.TIOCOUTQ, struct.pack("@i", 0))
    return bool(struct.unpack("@i", answer)[0] == 0)


def is_closed_by_peer(connection: socket.socket) -> bool:
    """Return whether the peer will send nothing more: it closed or reset the connection."""
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return bool(poll.poll(0))


def socket_with_peer(peer: tuple[str, int]) -> socket.socket | None:
    """Return a duplicate of this process' socket connected to `peer`, which the caller closes."""
    for connection in _process_sockets():
        try:
            if connection.getpeername()[:2] == peer:
                return connection
        except OSError:
            pass  # not connected
        connection.close()
    return None


def shut_down_all() -> None:
    """End all connections of this process, with what they have not sent yet."""
    for connection in _process_sockets():
        with closing(connection), suppress(OSError):  # which is not connected
            if connection.family != socket.AF_UNIX:  # by these an event loop wakes itself
                connection.shutdown(socket.SHUT_RDWR)


def _process_sockets() -> Iterator[socket.socket]:
    for number in socket_numbers(os.getpid()):
        with suppress(OSError):  # closed meanwhile
            yield socket.socket(fileno=os.dup(number))


def subflow(local: str, remote: tuple[str, int], info: bytes) -> Subflow:
    """Return the subflow between two addresses that a `struct tcp_info` describes."""
    state, congestion_state, mss, unacked, sacked, lost, again, *others = TCP_INFO.unpack_from(info)
    rtt_us, rtt_variation_us, ssthresh, cwnd, retransmissions, *others = others
    acked, received, segments, least_rtt_us, sent, retransmitted = others
    return Subflow(
        local=local,
        remote=remote[0],
        remote_port=remote[1],
        is_open=state == TCP_ESTABLISHED,
        bytes_sent=sent,
        bytes_retransmitted=retransmitted,
        retransmissions=retransmissions,
        bytes_acked=acked,
        bytes_received=received,
        segments_sent=segments,
        cwnd_bytes=cwnd * mss,
        # tcp_packets_in_flight() of net/tcp.h
        in_flight_bytes=max(0, unacked - sacked - lost + again) * mss,
        smoothed_rtt_ms=rtt_us / 1000,
        rtt_variation_ms=rtt_variation_us / 1000,
        least_rtt_ms=None if least_rtt_us == NO_MIN_RTT else least_rtt_us / 1000,
        ssthresh_bytes=None if ssthresh >= INFINITE_SSTHRESH else ssthresh * mss,
        congestion_state=CA_STATES[congestion_state],
    )


def _subflow_structures(connection: socket.socket, option: int, size: int) -> list[bytes]:
    # The kernel reads the header (how large the caller's structures are), which
    # socket.getsockopt cannot pass; hence the call through ctypes.
    buffer = ctypes.create_string_buffer(SUBFLOW_DATA.size + MAX_SUBFLOWS * size)
    SUBFLOW_DATA.pack_into(buffer, 0, SUBFLOW_DATA.size, 0, 0, size)
    length = ctypes.c_uint32(len(buffer))
    failed = _libc.getsockopt(connection.fileno(), SOL_MPTCP, option, buffer, ctypes.byref(length))
    if failed:
        error = ctypes.get_errno()
        raise OSError(error, f"getsockopt(SOL_MPTCP, {option}): {os.strerror(error)}")
    _, count, _, _ = SUBFLOW_DATA.unpack_from(buffer)
    data = buffer.raw[SUBFLOW_DATA.size :]
    return [data[i * size : (i + 1) * size] for i in range(min(count, MAX_SUBFLOWS))]


def ends(pair: bytes) -> tuple[str, tuple[str, int]]:
    """Return the local and the remote end of a `struct mptcp_subflow_addrs`."""
    return _address(pair)[0], _address(pair[SOCKADDR_BYTES:])


def _address(sockaddr: bytes) -> tuple[str, int]:
    (family,) = SOCKADDR_FAMILY.unpack_from(sockaddr)
    layout = SOCKADDR_IN6 if family == socket.AF_INET6 else SOCKADDR_IN
    (port,) = SOCKADDR_PORT.unpack_from(sockaddr)
    return socket.inet_ntop(family, *layout.unpack_from(sockaddr)), port
