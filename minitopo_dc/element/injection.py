"""Copies of a packet for a second leg: the kernel holds one packet, so a copy is sent anew."""

from __future__ import annotations

import errno
import socket

from minitopo_dc.element.rules import leg_mark

TTL_OFFSET = 8  # RFC 791, section 3.1


class Injector:
    """Sends whole IP datagrams out of one leg, marked as having been through it."""

    def __init__(self, leg: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, leg_mark(leg))
        self._socket.setblocking(False)
        self.refused = 0

    def send(self, datagram: bytes) -> None:
        """Send; the kernel writes the header checksum (raw(7)). A full buffer counts as refused."""
        destination = socket.inet_ntoa(datagram[16:20])
        try:
            self._socket.sendto(datagram, (destination, 0))
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ENOBUFS):
                raise
            self.refused += 1

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class Copy:
    """A copied datagram that waits in a leg like a packet of the kernel's."""

    __slots__ = ("_datagram", "_injector")

    def __init__(self, datagram: bytes, injector: Injector) -> None:
        # The kernel forwards the original and lowers its TTL; the copy leaves from this host.
        ttl = datagram[TTL_OFFSET] - 1
        self._datagram = datagram[:TTL_OFFSET] + bytes((ttl,)) + datagram[TTL_OFFSET + 1 :]
        self._injector = injector

    def get_payload(self) -> bytes:
        """What is sent, but for the header checksum."""
        return self._datagram

    def accept(self) -> None:
        """Send it."""
        self._injector.send(self._datagram)

    def drop(self) -> None:
        """Forget it."""
