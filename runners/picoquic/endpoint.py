"""A session of picoquic on the real clock: the loop over its UDP sockets that both ends share."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from minitopo_dc.picoquic.configuration import Configuration
from minitopo_dc.picoquic.connection import Datagram
from minitopo_dc.picoquic.path import Address
from minitopo_dc.runners.addresses import address_family
from minitopo_dc.runners.payload.certificate import SERVER_NAME
from minitopo_dc.runners.picoquic.session import ALPN, Session
from minitopo_dc.runners.picoquic.settings import EndSettings, congestion_control, most_paths
from minitopo_dc.runners.processes.udp_socket import (
    receive_batch,
    set_receive_buffer,
    socket_drops,
    wait_readable,
)
from minitopo_dc.units import NS_PER_S

NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EPERM, errno.ENOBUFS)
"""Of sending: what is as good as a loss on the way. A path that is gone must not end the others."""


class Sockets:
    """A UDP socket for each of an end's addresses, all with one port or one each."""

    def __init__(
        self, hosts: Sequence[str], port: int = 0, receive_buffer: int | None = None
    ) -> None:
        """Bind them; port 0: the kernel's choice, `receive_buffer` None: the kernel's."""
        self.sent = self.received = 0
        """Datagrams, so far."""
        self._by_address: dict[Address, socket.socket] = {}
        for host in hosts:
            udp = socket.socket(address_family(host), socket.SOCK_DGRAM)
            if receive_buffer is not None:
                set_receive_buffer(udp, receive_buffer)
            udp.bind((host, port))
            self._by_address[udp.getsockname()[:2]] = udp
        self._addresses = {udp: address for address, udp in self._by_address.items()}
        self._first = next(iter(self._by_address.values()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        for udp in self._addresses:
            udp.close()

    @property
    def addresses(self) -> list[Address]:
        """In the order of the hosts."""
        return list(self._by_address)

    @property
    def all(self) -> list[socket.socket]:
        """To wait for."""
        return list(self._addresses)

    @property
    def drops(self) -> int:
        """Datagrams that the kernel dropped because a receive buffer was full."""
        return sum(socket_drops(udp) for udp in self._addresses)

    @property
    def receive_buffer_bytes(self) -> int:
        """Of each, as the kernel counts it."""
        return self._first.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)

    def receive(
        self, readable: Iterable[socket.socket]
    ) -> Iterator[tuple[bytes, Address, Address]]:
        """What waits in some of them, `BATCH` datagrams of each at most: payload, from and to."""
        for udp in readable:
            own = self._addresses.get(udp)
            if own is None:  # another one that was waited for
                continue
            for data, source in receive_batch(udp):
                self.received += 1
                yield data, source[:2], own

    def send(self, datagrams: Iterable[Datagram]) -> None:
        """Send now, in this order."""
        for data, source, destination in datagrams:
            udp = self._first if source is None else self._by_address[source]
            try:
                udp.sendto(data, destination)
                self.sent += 1
            except OSError as error:
                if error.errno not in NO_WAY:
                    raise


def drive(
    session: Session,
    sockets: Sockets,
    *others: socket.socket,
    until: Callable[[], bool],
) -> None:
    """Let a session go on until something is true; also when one of `others` can be read."""
    waited_for = [*sockets.all, *others]
    while not until():
        timeout = session.next_timeout()
        ready = wait_readable(waited_for, None if timeout is None else timeout / NS_PER_S)
        now = time.monotonic_ns()
        for data, source, destination in sockets.receive(ready):
            session.receive(data, source, destination, now)
        sockets.send(session.drive(time.monotonic_ns()))


def configuration(told: EndSettings, key: Path | None, datagram_frame: int = 0) -> Configuration:
    """Of a server with its key, of a client without one but with what DATAGRAM frames it takes."""
    return Configuration(
        is_client=key is None,
        certificate=told.certificate,
        key=key,
        alpn=ALPN,
        server_name=SERVER_NAME,
        congestion_control=congestion_control(told.congestion_control),
        max_paths=most_paths(len(told.clients)),
        max_data=told.options.max_data,
        max_stream_data=told.options.max_stream_data,
        datagram_bytes=told.options.max_datagram_bytes,
        qlog=told.qlog,
        datagram_frame=datagram_frame,
    )
