"""The receiver's reports on real packets: UDP datagrams on a leg, like any others."""

from __future__ import annotations

import socket
import struct
from ipaddress import IPv4Address, IPv6Address

from minitopo_dc.real.element.drivers import RealTransmitLeg
from minitopo_dc.real.element.kernel.injection import Injected
from minitopo_dc.real.element.kernel.loop import clock
from minitopo_dc.real.element.kernel.process import ElementError
from minitopo_dc.real.element.kernel.queues import BUDGET
from minitopo_dc.router.echoes import Send
from minitopo_dc.router.icmp import checksum
from minitopo_dc.scenario.element import ReportLeg

Address = IPv4Address | IPv6Address
HOP_LIMIT = 64
"""Of what a host sends itself (RFC 1700)."""
MAX_BYTES = 0xFFFF
NO_CHECKSUM = bytes(2)
"""RFC 768: such a one is sent as all ones."""


def report_sender(outlet: RealTransmitLeg, ends: ReportLeg, port: int) -> Send:
    """Return what puts a bearer's reports, or echoes, on a leg.

    Args:
        outlet: of the leg.
        ends: the addresses on it.
        port: at both ends.
    """

    def send(report: bytes, now: int) -> None:
        datagram = udp_datagram(ends.source, ends.destination, port, report)
        outlet.push(Injected(datagram, outlet.injector), len(datagram), now)

    return send


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
                data = self._socket.recv(MAX_BYTES)
            except BlockingIOError:
                return
            self._take(data, clock())

    def close(self) -> None:
        """Close the socket of the reports."""
        self._socket.close()


def udp_datagram(source: Address, destination: Address, port: int, payload: bytes) -> bytes:
    """Return a UDP datagram (RFC 768) from `port` to the same port, in an IP datagram."""
    length = 8 + len(payload)
    addresses = source.packed + destination.packed
    pseudo = addresses + struct.pack("!II", length, socket.IPPROTO_UDP)  # RFC 8200, section 8.1
    without = struct.pack("!HHHH", port, port, length, 0) + payload
    own = checksum(pseudo + without)
    if own == NO_CHECKSUM:
        own = b"\xff\xff"
    udp = without[:6] + own + payload
    if source.version == 6:
        head = struct.pack("!IHBB", 6 << 28, length, socket.IPPROTO_UDP, HOP_LIMIT)
    else:
        head = struct.pack("!BBHHHBB", 0x45, 0, 20 + length, 0, 0, HOP_LIMIT, socket.IPPROTO_UDP)
        head += checksum(head + bytes(2) + addresses)
    return head + addresses + udp
