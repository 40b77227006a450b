"""The program of either end of a flow over a QUIC stack on the real clock.

It prints one line of JSON, times in s on the monotonic clock: a client about what it saw, with an
error if there was one (`error`; the exit code is 0 all the same); a server, at the end on SIGTERM
or SIGINT, about its one connection and each of its paths.
"""

from __future__ import annotations

import errno
import gc
import json
import signal
import socket
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Self

from minitopo_dc.quic.connection import Datagram, Received, StackError
from minitopo_dc.quic.events import Address
from minitopo_dc.runners.addresses import address_family
from minitopo_dc.runners.base import Transfer, get_runner
from minitopo_dc.runners.processes.udp_socket import (
    StopSignal,
    receive_batch,
    receive_with_ecn,
    send_marked,
    set_receive_buffer,
    socket_drops,
    use_ecn,
    wait_readable,
)
from minitopo_dc.runners.programs import wait_for_start
from minitopo_dc.runners.quic import server_options
from minitopo_dc.runners.sans_io.runner import Role, StackRunner
from minitopo_dc.runners.sans_io.session import MarkedSession, Session
from minitopo_dc.units import NS_PER_MS, NS_PER_S
from minitopo_dc.workloads import Realtime
from minitopo_dc.workloads.path_reports import PATHS

SAMPLE_NS = 100 * NS_PER_MS
"""Of each path; as often as the subflows of MPTCP are looked at."""

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
        for host in hosts:
            self.add(host, port)
        self._first = self.all[0]

    def add(self, host: str, port: int = 0) -> Address:
        """Bind another socket; return its address."""
        udp = socket.socket(address_family(host), socket.SOCK_DGRAM)
        if self._receive_buffer is not None:
            set_receive_buffer(udp, self._receive_buffer)
        if self._ecn:
            use_ecn(udp, self._ecn)
        udp.bind((host, port))
        address: Address = udp.getsockname()[:2]
        self._by_address[address] = udp
        return address

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close all of the sockets."""
        for udp in self.all:
            udp.close()

    @property
    def addresses(self) -> list[Address]:
        """Return the addresses of the sockets, in the order of the hosts."""
        return list(self._by_address)

    @property
    def all(self) -> list[socket.socket]:
        """Return all sockets, to wait for."""
        return list(self._by_address.values())

    @property
    def drops(self) -> int:
        """Return how many datagrams the kernel dropped because a receive buffer was full."""
        return sum(socket_drops(udp) for udp in self.all)

    @property
    def receive_buffer_bytes(self) -> int:
        """Return the receive buffer of each socket, as the kernel counts it."""
        return self._first.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)

    def receive(self, readable: Collection[socket.socket]) -> Iterator[Received]:
        """Yield what waits in those that are readable, up to `BATCH` datagrams of each."""
        for own, udp in self._by_address.items():
            if udp not in readable:
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
    session: Session, sockets: Sockets, *others: socket.socket, until: Callable[[], bool]
) -> None:
    """Run a session until a condition is true; it wakes also when one of `others` can be read."""
    waited_for = [*sockets.all, *others]
    while not until():
        timeout = session.next_timeout()
        ready = wait_readable(waited_for, None if timeout is None else timeout / NS_PER_S)
        now = time.monotonic_ns()
        session.receive_all(sockets.receive(ready), now)
        sockets.send(session.drive(time.monotonic_ns()))


def main() -> None:
    """Do what the workload asks of this end, and print the report."""
    transfer = Transfer.given()
    role, transport = sys.argv[2:]
    runner = get_runner(transport)
    assert isinstance(runner, StackRunner)  # whose program this is
    session, report = (_serve if role == "server" else _ask)(runner, transfer)
    for connection in session.connections:
        connection.free()  # and write its log
    print(json.dumps(report), flush=True)  # noqa: T201


def _ask(runner: StackRunner, transfer: Transfer) -> tuple[Session, dict[str, Any]]:
    buffer_bytes = runner.options(transfer).receive_buffer_bytes
    ecn, addresses = runner.code_point(transfer), runner.addresses(transfer)
    with Sockets(addresses, receive_buffer=buffer_bytes, ecn=ecn) as sockets:
        gc.freeze()  # what was imported is never garbage: full collections need not visit it
        begin_ns = wait_for_start()
        client, _ = runner.sessions()
        session = client(
            runner.connection(transfer, "client", time.monotonic_ns),
            runner.plan(transfer),
            sockets.addresses,
            (transfer.server_address, transfer.port),
            begin_ns,
            make=transfer.workload.make_client,
            marked=_marked(runner, transfer, "client", sockets),
        )
        started_ns = time.monotonic_ns()
        session.start(started_ns)
        sockets.send(session.drive(started_ns))
        drive(session, sockets, until=lambda: session.ended)
        return session, session.client.report() | {
            "receive_buffer_bytes": sockets.receive_buffer_bytes,
            "socket_drops": sockets.drops,
            "started_ns": started_ns,
        }


def _marked(
    runner: StackRunner, transfer: Transfer, role: Role, sockets: Sockets
) -> MarkedSession | None:
    """Return an end of the second connection, which key frames with a code point have."""
    workload, marks = transfer.workload, sockets.code_points
    dscp = workload.key_frame_dscp if isinstance(workload, Realtime) else None
    if dscp is None:
        return None
    connection = runner.connection(transfer, role, time.monotonic_ns)
    if role == "server":
        return MarkedSession(connection, on_client=lambda client: marks.update({client: dscp}))
    address = sockets.add(transfer.client_addresses[0])
    marks[address] = dscp
    return MarkedSession(connection, address)


def _serve(runner: StackRunner, transfer: Transfer) -> tuple[Session, dict[str, Any]]:
    """Serve one connection until a signal."""
    stop = StopSignal(signal.SIGTERM, signal.SIGINT)
    gc.freeze()  # as above
    workload, clients = transfer.workload, runner.addresses(transfer)
    buffer_bytes = server_options(runner.options(transfer), workload).receive_buffer_bytes
    ecn = runner.code_point(transfer)
    with Sockets([transfer.server_address], transfer.port, buffer_bytes, ecn=ecn) as sockets:
        _, server = runner.sessions()
        session = server(
            runner.connection(transfer, "server", time.monotonic_ns),
            clients,
            begin=0,
            make=workload.make_server,
            bare=workload.bare_streams,
            sample_ns=SAMPLE_NS if len(clients) > 1 else None,
            marked=_marked(runner, transfer, "server", sockets),
        )
        drive(session, sockets, stop.waiting, until=lambda: session.ended or stop.requested)
        now = time.monotonic_ns()
        session.finish(now)
        if session.ready is not None and not session.ended:
            with suppress(StackError):  # it is being closed already
                session.connection.close(now)
            sockets.send(session.drive(now))  # tell the client, and wait for no answer
        if not stop.requested:
            wait_readable([stop.waiting], None)
        return session, {
            **session.describe(),
            "server_datagrams_sent": sockets.sent,
            "server_datagrams_received": sockets.received,
            "server_socket_drops": sockets.drops,
            PATHS: session.paths.reports(),
            "path_samples": [asdict(sample) for sample in session.take_samples()],
        }


if __name__ == "__main__":
    main()
