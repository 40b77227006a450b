"""HTTP/2 client over TLS and TCP or MPTCP for any workload.

It prints one line of JSON about what it saw. An error is in there too (`error`): the exit code is 0
all the same.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import os
import selectors
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from minitopo_dc.runners.addresses import SERVER_NAME, address_family, socket_address
from minitopo_dc.runners.processes.kernel_socket import PROTOCOLS, set_congestion_control
from minitopo_dc.runners.processes.start_signal import wait_for_start
from minitopo_dc.runners.tcp.http2 import Http2Client
from minitopo_dc.runners.tcp.settings import ClientSettings

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
    deadline = time.monotonic() + CONNECT_S
    try:
        connection = quickest(attempts, delay_s, server, deadline)
        with asyncio.Runner(loop_factory=_precise_loop) as runner:
            left_s = max(0.001, deadline - time.monotonic())
            runner.run(_exchange(client, connection, context, left_s))
    except OSError as error:
        client.lost(_words(error))


def quickest(
    attempts: Sequence[socket.socket], delay_s: float, server: Server, deadline: float
) -> socket.socket:
    """Connect one socket after the other, and return the first that is ready (RFC 8305, section 5).

    asyncio's connect would refuse a protocol that is neither TCP nor UDP.

    Args:
        attempts: the sockets, bound; those that are not returned are closed.
        delay_s: between two attempts; the next one follows a failed one at once.
        server: where to connect to.
        deadline: of all attempts, on the monotonic clock (s).

    Raises:
        OSError: all have failed, or the time was over.
    """
    waiting, error, next_s = list(attempts), 0, time.monotonic()
    with selectors.DefaultSelector() as begun:
        while waiting or begun.get_map():
            now = time.monotonic()
            if now >= deadline:
                raise TimeoutError("timed out")
            if waiting and now >= next_s:
                attempt, next_s = waiting.pop(0), now + delay_s
                attempt.setblocking(False)
                error = attempt.connect_ex(server)
                if error not in (0, errno.EINPROGRESS):
                    next_s = now
                    continue
                begun.register(attempt, selectors.EVENT_WRITE, attempt)
            for key, _ in begun.select(min(next_s if waiting else deadline, deadline) - now):
                attempt = key.data
                error = attempt.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if not error:
                    for other in attempts:
                        if other is not attempt:
                            other.close()
                    return attempt
                begun.unregister(attempt)
                next_s = now
    raise OSError(error, os.strerror(error))


async def _exchange(
    client: Http2Client, connection: socket.socket, context: ssl.SSLContext, patience_s: float
) -> None:
    _, protocol = await asyncio.get_running_loop().create_connection(
        lambda: ClientProtocol(client),
        sock=connection,
        ssl=context,
        server_hostname=SERVER_NAME,
        ssl_handshake_timeout=patience_s,
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
    settings = ClientSettings.given()
    client = Http2Client(settings.workload)
    gc.freeze()  # what was imported is never garbage: full collections need not visit it
    with ExitStack() as stack:
        attempts = [stack.enter_context(_socket(settings, each)) for each in settings.bind]
        server = socket_address(settings.address, settings.port)
        context = _context(settings.certificate, settings.tls)
        wait_for_start()
        started_ns = time.monotonic_ns()
        run(client, attempts, settings.attempt_delay_s, server, context)
    print(json.dumps(client.client.report() | {"started_ns": started_ns}), flush=True)  # noqa: T201


def _socket(settings: ClientSettings, address: str) -> socket.socket:
    protocol = PROTOCOLS[settings.protocol]
    made = socket.socket(address_family(address), socket.SOCK_STREAM, protocol)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if settings.congestion_control is not None:
        set_congestion_control(made, settings.congestion_control)
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
