"""Packets of the element's own: copies for a second leg, reports that it sends, and those it gets.

Copies are needed as the kernel holds one packet and gives one verdict.
"""

from __future__ import annotations

import socket

from minitopo_dc.fields import IpVersion
from minitopo_dc.real.element.loop import ElementError, clock, inside
from minitopo_dc.real.element.queues import BUDGET
from minitopo_dc.real.element.rules import leg_mark
from minitopo_dc.router.drivers import Send
from minitopo_dc.router.ip import Address

TTL_OFFSET = 8
"""RFC 791, section 3.1."""
HOP_LIMIT_OFFSET = 7
"""RFC 8200, section 3."""
MAX_DATAGRAM = 0xFFFF


class Injector:
    """Sends whole IP datagrams out of one leg, marked as having been through it, or unmarked.

    A version's socket is opened with its first datagram: most legs never send one, and a kernel may
    be without IPv6.
    """

    def __init__(self, leg: int | None, host: int | None = None) -> None:
        """Take the leg's number, None for no leg.

        `host` is a process of the host, None for this process' own.
        """
        self._mark = 0 if leg is None else leg_mark(leg)
        self._host = host
        self._sockets: dict[socket.AddressFamily, socket.socket] = {}
        self.refused = 0

    def send(self, datagram: bytes) -> None:
        """Send a datagram; the kernel writes IPv4's checksum (raw(7)).

        Refused datagrams are counted: a full buffer, a destination without a route, too many bytes.
        """
        if _is_ipv6(datagram):
            family, destination = socket.AF_INET6, datagram[24:40]
        else:
            family, destination = socket.AF_INET, datagram[16:20]
        opened = self._socket(family)
        try:
            opened.sendto(datagram, (socket.inet_ntop(family, destination), 0))
        except OSError:
            self.refused += 1

    def descriptor(self, version: IpVersion) -> int:
        """Return the descriptor of the socket of an IP version, for a sender in C."""
        return self._socket(socket.AF_INET if version == 4 else socket.AF_INET6).fileno()

    def close(self) -> None:
        """Close the sockets of both IP versions."""
        for opened in self._sockets.values():
            opened.close()

    def _socket(self, family: socket.AddressFamily) -> socket.socket:
        if family not in self._sockets:
            # With this protocol the datagram begins with its header, of either version.
            with inside(self._host):
                opened = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, self._mark)
            opened.setblocking(False)
            self._sockets[family] = opened
        return self._sockets[family]


def one_hop_further(datagram: bytes) -> bytes:
    """Return a datagram whose TTL is one lower, as of an original that the kernel forwards."""
    offset = HOP_LIMIT_OFFSET if _is_ipv6(datagram) else TTL_OFFSET
    return datagram[:offset] + bytes((datagram[offset] - 1,)) + datagram[offset + 1 :]


def _is_ipv6(datagram: bytes) -> bool:
    return datagram[0] >> 4 == 6


class ReportReceiver:
    """The socket that reports or echoes over one leg reach; a source of packets.

    Raises:
        ElementError: this host has not the address, or something else has the port.
    """

    def __init__(self, destination: Address, port: int, take: Send) -> None:
        """Open the socket; `take` gets the data of each datagram, and its time (ns)."""
        self._take = take
        family = socket.AF_INET if destination.version == 4 else socket.AF_INET6
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            self._socket.bind((str(destination), port))
        except OSError as error:
            self._socket.close()
            where = f"{destination} port {port}"
            raise ElementError(f"reports cannot reach {where}: {error.strerror}") from None

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._socket.fileno()

    def read(self) -> None:
        """Take the reports that wait, at most `BUDGET` of them."""
        for _ in range(BUDGET):
            try:
                data = self._socket.recv(MAX_DATAGRAM)
            except BlockingIOError:
                return
            self._take(data, clock())

    def close(self) -> None:
        """Close the socket of the reports."""
        self._socket.close()
