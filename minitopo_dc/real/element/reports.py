"""The receiver's reports on real packets: UDP datagrams on a leg, like any others."""

from __future__ import annotations

import socket
import struct
from ipaddress import IPv4Address, IPv6Address

from minitopo_dc.real.element.drivers import Outlet
from minitopo_dc.real.element.kernel.injection import Injected
from minitopo_dc.real.element.kernel.loop import clock
from minitopo_dc.real.element.kernel.process import ElementError
from minitopo_dc.real.element.kernel.queues import BUDGET
from minitopo_dc.router.echoes import Send
from minitopo_dc.scenario.element import ReportLeg

Address = IPv4Address | IPv6Address
HOP_LIMIT = 64
"""Of what a host sends itself (RFC 1700)."""
MAX_BYTES = 0xFFFF


class ReportOutlet:
    """Puts a bearer's reports, or echoes, on one leg.

    Args:
        outlet: of the leg.
        ends: the addresses on it.
        port: at both ends.
    """

    def __init__(self, outlet: Outlet, ends: ReportLeg, port: int) -> None:
        self._outlet = outlet
        self._ends = ends
        self._port = port

    def send(self, report: bytes, now: int) -> None:
        """Put a report on the leg at `now` (ns)."""
        datagram = udp_datagram(self._ends.source, self._ends.destination, self._port, report)
        self._outlet.push(Injected(datagram, self._outlet.injector), len(datagram), now)


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
    checksum = _checksum(pseudo + without) or 0xFFFF  # 0 says that there is none (RFC 768)
    udp = without[:6] + checksum.to_bytes(2, "big") + payload
    if source.version == 6:
        head = struct.pack("!IHBB", 6 << 28, length, socket.IPPROTO_UDP, HOP_LIMIT)
    else:
        head = struct.pack("!BBHHHBB", 0x45, 0, 20 + length, 0, 0, HOP_LIMIT, socket.IPPROTO_UDP)
        head += _checksum(head + bytes(2) + addresses).to_bytes(2, "big")
    return head + addresses + udp


def _checksum(data: bytes) -> int:
    """Return the Internet checksum of `data` (RFC 1071)."""
    words = struct.iter_unpack("!H", data + bytes(len(data) % 2))
    total: int = sum(word for (word,) in words)
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total
