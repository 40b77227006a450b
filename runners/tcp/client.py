"""HTTP/2 client over TLS and TCP or MPTCP for any workload.

It prints one line of JSON about what it saw. An error is in there too (`error`): the exit code is 0
all the same.
"""

from __future__ import annotations

import asyncio
import gc
import json
import selectors
import socket
import ssl
import sys
import time
from asyncio.staggered import staggered_race
from collections.abc import Awaitable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from minitopo_dc.runners.addresses import SERVER_NAME, socket_address
from minitopo_dc.runners.base import Transfer, get_runner
from minitopo_dc.runners.processes.kernel_socket import (
    TcpProtocol,
    set_congestion_control,
    tcp_socket,
)
from minitopo_dc.runners.programs import wait_for_start
from minitopo_dc.runners.tcp.http2 import Http2Client
from minitopo_dc.runners.tcp.runner import TcpRunner

ALPN = "h2"
"""RFC 9113, section 3.2."""
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
CONNECT_S = 60.0
"""For how long to try to connect, TLS included: as long as aioquic (its idle timeout)."""
CLOSE_S = 3.0
"""For how long to wait for the server's end of the connection: as hypercorn does for its clients'.
"""


class ClientProtocol(asyncio.Protocol):
    """A client's HTTP/2 connection on asyncio's transport."""

    def __init__(self, client: Http2Client) -> None:
        self.ended = asyncio.Event()
        self._client = client
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.WriteTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin HTTP/2, as TLS is established."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        if transport.get_extra_info("ssl_object").selected_alpn_protocol() != ALPN:
            self._client.lost("the server has no HTTP/2")
            transport.abort()
            return
        self._client.connected()
        self._go_on()

    def data_received(self, data: bytes) -> None:
        """Take bytes that the server sent."""
        self._client.receive(data)
        self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the client that the connection has ended, in order or not."""
        self._client.lost("connection ended by the server" if exc is None else _words(exc))
        self._set_timer()
        self.ended.set()

    def _on_time(self) -> None:
        self._client.on_time()
        self._go_on()

    def _go_on(self) -> None:
        """Send, and be called again when something is due."""
        data = self._client.data_to_send()
        if data and not self._transport.is_closing():
            self._transport.write(data)
        if self._client.closing:
            self._transport.close()
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self._client.closing:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(self._client.timeout(), self._on_time)


Server = tuple[str, int] | tuple[str, int, int, int]


def run(
    client: Http2Client,
    attempts: Sequence[socket.socket],
    delay_s: float,
    server: Server,
    context: ssl.SSLContext,
) -> None:
    """Connect, do what the client is for, close; errors go to the client's outcome."""
    client.connecting()
    try:
        with asyncio.Runner(loop_factory=_precise_loop) as runner:
            runner.run(_exchange(client, quickest(attempts, delay_s, server), context))
    except OSError as error:
        client.lost(_words(error))


async def quickest(
    attempts: Sequence[socket.socket], delay_s: float, server: Server
) -> socket.socket:
    """Connect one socket after the other, and return the first that is ready (RFC 8305, section 5).

    Args:
        attempts: the sockets, bound; those that are not returned are closed.
        delay_s: between two attempts; the next one follows a failed one at once.
        server: where to connect to.

    Raises:
        OSError: all have failed.
    """

    async def connect(attempt: socket.socket) -> socket.socket:
        attempt.setblocking(False)
        await asyncio.get_running_loop().sock_connect(attempt, server)
        return attempt

    ready: socket.socket | None
    ready, _, errors = await staggered_race([partial(connect, one) for one in attempts], delay_s)
    for attempt in attempts:
        if attempt is not ready:
            attempt.close()
    if ready is None:
        raise errors[-1] or OSError("nothing is connected")
    return ready


async def _exchange(
    client: Http2Client, connecting: Awaitable[socket.socket], context: ssl.SSLContext
) -> None:
    deadline = time.monotonic() + CONNECT_S
    async with asyncio.timeout(CONNECT_S):
        connection = await connecting
    _, protocol = await asyncio.get_running_loop().create_connection(
        lambda: ClientProtocol(client),
        sock=connection,
        ssl=context,
        server_hostname=SERVER_NAME,
        ssl_handshake_timeout=max(0.001, deadline - time.monotonic()),
        ssl_shutdown_timeout=CLOSE_S,
    )
    await protocol.ended.wait()


def _precise_loop() -> asyncio.AbstractEventLoop:
    """Return a loop with timers to the microsecond; epoll's are rounded up to a millisecond."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


def _words(error: Exception) -> str:
    return f"connection failed: {error or type(error).__name__}"


def main() -> None:
    """Do what the workload asks for, and print the outcome as one line of JSON."""
    transfer = Transfer.given()
    runner = get_runner(sys.argv[2])
    assert isinstance(runner, TcpRunner)  # whose program this is
    client = Http2Client(transfer.workload)
    gc.freeze()  # what was imported is never garbage: full collections need not visit it
    with ExitStack() as stack:
        attempts = [
            stack.enter_context(_socket(transfer, runner.protocol, address))
            for address in transfer.first_addresses
        ]
        server = socket_address(transfer.peer_address, transfer.port)
        context = _context(transfer.certificate, runner.tls(transfer))
        wait_for_start()
        started_ns = time.monotonic_ns()
        run(client, attempts, transfer.path_plan.attempt_delay_s or 0, server, context)
    print(json.dumps(client.client.report() | {"started_ns": started_ns}), flush=True)  # noqa: T201


def _socket(transfer: Transfer, protocol: TcpProtocol, address: str) -> socket.socket:
    made = tcp_socket(address, protocol)
    if "uplink" in transfer.workload.loads:  # else it sends requests only
        set_congestion_control(made, transfer.congestion_control)
    made.bind((address, 0))
    return made


def _context(certificate: Path, version: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = VERSIONS[version]
    context.load_verify_locations(certificate)
    context.set_alpn_protocols([ALPN])
    return context


if __name__ == "__main__":
    main()
