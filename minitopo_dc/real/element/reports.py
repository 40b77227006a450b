"""The receiver's reports on real packets: UDP datagrams on a leg, like any others."""

from __future__ import annotations

import socket

from minitopo_dc.real.element.kernel.loop import clock
from minitopo_dc.real.element.kernel.process import ElementError
from minitopo_dc.real.element.kernel.queues import BUDGET
from minitopo_dc.router.echoes import Send
from minitopo_dc.router.ip import Address, udp_datagram
from minitopo_dc.scenario.element import ReportLeg

MAX_BYTES = 0xFFFF


def report_sender(put: Send, ends: ReportLeg, port: int) -> Send:
    """Return what puts a bearer's reports, or echoes, on a leg.

    Args:
        put: puts a datagram on the leg.
        ends: the addresses on it.
        port: at both ends.
    """
    return lambda report, now: put(udp_datagram(ends.source, ends.destination, port, report), now)


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
