"""A session on the real clock: the loop over its UDP sockets that both ends share."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from minitopo_dc.quic.connection import Connection, Datagram
from minitopo_dc.quic.events import Address
from minitopo_dc.runners.addresses import address_family
from minitopo_dc.runners.processes.udp_socket import (
    receive_batch,
    receive_with_ecn,
    send_marked,
    set_receive_buffer,
    socket_drops,
    use_ecn,
    wait_readable,
)
from minitopo_dc.runners.sans_io.runner import EndSettings, congestion_control
from minitopo_dc.runners.sans_io.session import Session, configuration
from minitopo_dc.units import NS_PER_S

UNREACHABLE_ERRORS = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EPERM, errno.ENOBUFS)
"""Of sending: what is as good as a loss on the way. A path that is gone must not end the others."""


class Sockets:
    """A UDP socket for each of an end's addresses, all with one port or one each."""

    def __init__(
        self,
        hosts: Sequence[str],
        port: int = 0,
        receive_buffer: int | None = None,
        *,
        ecn: int = 0,
    ) -> None:
        """Bind sockets; the kernel chooses port 0 and, without one, the receive buffer.

        `ecn` is the code point (RFC 3168) of all datagrams; with 0 theirs is not read either.
        """
        self.sent = self.received = 0
        """Datagrams sent and received so far."""
        self.code_points: dict[Address, int] = {}
        """DSCPs of all datagrams from an address, or to one."""
        self._receive_buffer, self._ecn = receive_buffer, ecn
        self._by_address: dict[Address, socket.socket] = {}
        self._addresses: dict[socket.socket, Address] = {}
        for host in hosts:
            self.add(host, port)
        self._first = next(iter(self._addresses))

    def add(self, host: str, port: int = 0) -> Address:
        """Bind another socket; return its address."""
        udp = socket.socket(address_family(host), socket.SOCK_DGRAM)
        if self._receive_buffer is not None:
            set_receive_buffer(udp, self._receive_buffer)
        if self._ecn:
            use_ecn(udp, self._ecn)
        udp.bind((host, port))
        address: Address = udp.getsockname()[:2]
        self._by_address[address], self._addresses[udp] = udp, address
        return address

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close all of the sockets."""
        for udp in self._addresses:
            udp.close()

    @property
    def addresses(self) -> list[Address]:
        """Return the addresses of the sockets, in the order of the hosts."""
        return list(self._by_address)

    @property
    def all(self) -> list[socket.socket]:
        """Return all sockets, to wait for."""
        return list(self._addresses)

    @property
    def drops(self) -> int:
        """Return how many datagrams the kernel dropped because a receive buffer was full."""
        return sum(socket_drops(udp) for udp in self._addresses)

    @property
    def receive_buffer_bytes(self) -> int:
        """Return the receive buffer of each socket, as the kernel counts it."""
        return self._first.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)

    def receive(
        self, readable: Iterable[socket.socket]
    ) -> Iterator[tuple[bytes, Address, Address, int]]:
        """Yield what waits in these sockets, up to `BATCH` datagrams of each.

        That is payload, source, destination and code point.
        """
        for udp in readable:
            own = self._addresses.get(udp)
            if own is None:  # another one that was waited for
                continue
            batch = receive_with_ecn(udp) if self._ecn else receive_batch(udp)
            for data, source, *ecn in batch:
                self.received += 1
                yield data, source[:2], own, ecn[0] if ecn else 0

    def send(self, datagrams: Iterable[Datagram]) -> None:
        """Send datagrams now, in this order."""
        for data, source, destination in datagrams:
            udp = self._first if source is None else self._by_address[source]
            marks = self.code_points
            dscp = marks.get(destination, 0) or (marks.get(source, 0) if source else 0)
            try:
                if dscp:
                    send_marked(udp, data, destination, dscp << 2 | self._ecn)
                else:
                    udp.sendto(data, destination)
                self.sent += 1
            except OSError as error:
                if error.errno not in UNREACHABLE_ERRORS:
                    raise


def drive(
    session: Session,
    sockets: Sockets,
    *others: socket.socket,
    until: Callable[[], bool],
) -> None:
    """Run a session until a condition is true; it wakes also when one of `others` can be read."""
    waited_for = [*sockets.all, *others]
    while not until():
        timeout = session.next_timeout()
        ready = wait_readable(waited_for, None if timeout is None else timeout / NS_PER_S)
        now = time.monotonic_ns()
        session.receive_all(sockets.receive(ready), now)
        sockets.send(session.drive(time.monotonic_ns()))


def code_point(settings: EndSettings) -> int:
    """Return the ECN code point of an end's datagrams; 0 without the option."""
    if not settings.options.ecn:
        return 0
    return settings.stack.ecn_of(congestion_control(settings.congestion_control))


def make_connection(settings: EndSettings, key: Path | None = None) -> Connection:
    """Return a connection of a server with its key or, without one, of a client."""
    made = configuration(
        settings.stack,
        settings.workload,
        settings.congestion_control,
        settings.options,
        addresses=len(settings.clients),
        certificate=settings.certificate,
        key=key,
        qlog=settings.qlog,
    )
    return Connection(made, time.monotonic_ns())
