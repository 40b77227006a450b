"""HTTP/2 over TLS 1.2 or 1.3 on hypercorn, over TCP or MPTCP, with a stated congestion control.

hypercorn cannot set a socket's congestion control or protocol, so this launcher makes the
listening socket and hands it over. For each connection that requests came by it prints one line of
JSON at the connection's end: what the kernel said of it. Behind it is an ASGI application: a
workload's server for each connection.
"""

from __future__ import annotations

import asyncio
import gc
import math
import signal
import socket
import ssl
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import nullcontext
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from h2.settings import SettingCodes, Settings
from hypercorn import protocol
from hypercorn.asyncio import serve
from hypercorn.config import Config
from hypercorn.protocol.h2 import H2Protocol

from minitopo_dc.runners.base import Transfer, get_runner
from minitopo_dc.runners.processes.kernel_socket import (
    TcpProtocol,
    set_congestion_control,
    shut_down_all,
    tcp_socket,
)
from minitopo_dc.runners.tcp.http2 import FIRST_WINDOW_BYTES, WINDOW_BYTES
from minitopo_dc.runners.tcp.info import TcpWatch, info_file
from minitopo_dc.runners.tcp.runner import TcpRunner
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads.exchange import Answers, Content, ContentServer, Request, Server

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Peer = tuple[str, int]
"""A client's address and port, which tell its connection."""


class Application:
    """ASGI 3 application: what a server's end makes of the requests of each connection."""

    def __init__(
        self,
        make_server: Callable[[Answers], Server] = ContentServer,
        watch: Callable[[Peer], TcpWatch] | None = None,
    ) -> None:
        """Take what makes the server's end of a connection, and what watches one, if anything."""
        self._make_server, self._watch = make_server, watch
        self._connections: dict[Peer, _Connection] = {}
        self._watching: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI 3 asks for."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        peer = tuple(scope["client"])
        if peer not in self._connections:
            self._begin(peer)
        connection = self._connections[peer]
        request = Request(scope["method"], scope["path"], dict(scope["headers"]))
        with nullcontext() if connection.watch is None else connection.watch.request():
            await connection.serve(request, receive, send)

    def _begin(self, peer: Peer) -> None:
        watch = None if self._watch is None else self._watch(peer)
        self._connections[peer] = _Connection(self._make_server, watch)
        if watch is not None:
            task = asyncio.create_task(watch.run())
            self._watching.add(task)
            task.add_done_callback(self._watching.discard)
            task.add_done_callback(lambda _: self._connections.pop(peer).close())


class _Connection:
    """A connection, whose server's answers (`Answers`) wait here to be sent."""

    def __init__(self, make_server: Callable[[Answers], Server], watch: TcpWatch | None) -> None:
        self.watch = watch
        self._answers: dict[int, asyncio.Queue[Content | HTTPStatus | bytes | None]] = {}
        """By request: content, a status, or pieces and at last None."""
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._server = make_server(self)

    def answer(self, stream: int, answer: Content | HTTPStatus) -> None:
        self._answers[stream].put_nowait(answer)

    def begin(self, stream: int) -> None:
        self._answers[stream].put_nowait(b"")

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        if stream in self._answers:
            self._answers[stream].put_nowait(data)
            if end:
                self._answers[stream].put_nowait(None)

    async def serve(self, request: Request, receive: Receive, send: Send) -> None:
        """Give a request to the server, and send its answer while its client is there.

        A send that waits for room does not return when the client goes (hypercorn 0.18), so it has
        to be cancelled.
        """
        stream, self._count = self._count, self._count + 1
        self._answers[stream] = asyncio.Queue()
        self._server.request(stream, request, time.monotonic_ns())
        responding = asyncio.create_task(self._respond(stream, send))
        receiving = asyncio.create_task(self._receive(stream, receive))
        try:
            await asyncio.wait((responding, receiving), return_when=asyncio.FIRST_COMPLETED)
            for task in (responding, receiving):
                if task.done():
                    task.result()
        finally:
            if not responding.done():
                self._server.reset(stream, time.monotonic_ns())
            for task in (responding, receiving):
                task.cancel()
            del self._answers[stream]

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    async def _receive(self, stream: int, receive: Receive) -> None:
        """Give the server a request's body, until its client has gone."""
        while (message := await receive())["type"] != "http.disconnect":
            self._server.data(stream, message.get("body", b""), time.monotonic_ns())
            if not message.get("more_body", False):
                self._server.end(stream, time.monotonic_ns())
            self._set_timer()

    async def _respond(self, stream: int, send: Send) -> None:
        answer = await self._answers[stream].get()
        if isinstance(answer, HTTPStatus):
            await send({"type": "http.response.start", "status": answer.value, "headers": []})
            await send({"type": "http.response.body"})
        elif isinstance(answer, Content):
            await _send_content(answer, send)
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await self._send_pieces(stream, send)

    async def _send_pieces(self, stream: int, send: Send) -> None:
        """Send the pieces of an answer as they come, those that wait together."""
        waiting = self._answers[stream]
        piece: Any = b""
        while piece is not None:
            data = b""
            piece = await waiting.get()
            while piece is not None:
                data += piece
                if waiting.empty():
                    break
                piece = waiting.get_nowait()
            if data:
                await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body"})

    def _on_time(self) -> None:
        self._server.on_time(time.monotonic_ns())
        self._set_timer()

    def _set_timer(self) -> None:
        self.close()
        due = self._server.next_timeout()
        if due != math.inf:
            self._timer = asyncio.get_running_loop().call_at(due / NS_PER_S, self._on_time)


async def _send_content(content: Content, send: Send) -> None:
    headers = [(b"content-length", str(content.size_bytes).encode()), *content.headers]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for block in content.pieces:
        await send({"type": "http.response.body", "body": block, "more_body": True})
        # Once the client has gone, hypercorn's send does nothing at all: let other tasks notice.
        await asyncio.sleep(0)
    await send({"type": "http.response.body"})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


# For how long a connection may lie idle, and how many requests may be open on it: as with aioquic
# (its idle timeout and its first limit of streams).
IDLE_S = 60
OPEN_REQUESTS = 128
CLOSE_S = 3.0
"""For how long to wait for a client's end of a connection: hypercorn's own for open requests."""


def listen(
    address: str, port: int, protocol: TcpProtocol, algorithm: str, mss_bytes: int | None = None
) -> socket.socket:
    """Return a listening socket whose accepted sockets use the congestion control `algorithm`.

    They send no larger segments than `mss_bytes`.
    """
    # Accepted sockets inherit TCP_NODELAY; asyncio sets it for TCP only, not for MPTCP.
    listener = tcp_socket(address, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    set_congestion_control(listener, algorithm)
    if mss_bytes is not None:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss_bytes)
    listener.bind((address, port))
    listener.listen()
    return listener


class _WideProtocol(H2Protocol):
    """HTTP/2 whose clients may send as much unacknowledged as this project's own let servers.

    hypercorn has no option for it; its 65,535 bytes (RFC 9113, section 6.9.2) limit uploads.
    """

    async def initiate(self, *given: Any, **named: Any) -> None:
        own = {SettingCodes(code): value for code, value in self.connection.local_settings.items()}
        own[SettingCodes.INITIAL_WINDOW_SIZE] = WINDOW_BYTES
        self.connection.local_settings = Settings(client=False, initial_values=own)
        await super().initiate(*given, **named)
        self.connection.increment_flow_control_window(WINDOW_BYTES - FIRST_WINDOW_BYTES)
        await self._flush()


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose TLS connections do not wait 30 s for the end of a client that has gone.

    hypercorn has no option for it.
    """

    async def create_server(self, *args: Any, **options: Any) -> asyncio.Server:
        return await super().create_server(*args, **options, ssl_shutdown_timeout=CLOSE_S)


def main() -> None:
    """Serve requests until SIGTERM or SIGINT."""
    transfer = Transfer.given()
    runner = get_runner(sys.argv[2])
    assert isinstance(runner, TcpRunner)  # whose program this is
    listener = listen(
        *(transfer.server_address, transfer.port),
        runner.protocol if transfer.proxy_address is None else "tcp",
        *(transfer.congestion_control, runner.mss_bytes(transfer)),
    )
    if "uplink" in transfer.workload.loads:
        protocol.H2Protocol = _WideProtocol  # type: ignore[attr-defined]
    info_path = runner.tcp_info(transfer)
    with info_file(info_path) if info_path else nullcontext() as info:
        application = Application(transfer.workload.make_server, partial(TcpWatch, info=info))
        serve_requests(listener, application, transfer.certificate, transfer.key)


def serve_requests(
    listener: socket.socket, application: Application, certificate: Path, key: Path
) -> None:
    """Answer requests on a listening socket until SIGTERM or SIGINT."""
    config = _configuration(listener, certificate, key)
    gc.freeze()  # what was imported is never garbage: full collections need not visit it
    with asyncio.Runner(loop_factory=_Loop) as runner:
        # hypercorn (0.18) ends with either when a client still sends while the server closes: with
        # KeyError when a request that it refuses has come together with the request's body.
        try:
            runner.run(_serve(application, config))
        except* ssl.SSLError as errors:
            if errors.subgroup(_is_failure):
                raise
        except* KeyError:
            pass


async def _serve(application: Application, config: Config) -> None:
    """Serve until a signal comes, and at most `CLOSE_S` longer.

    A server that has data to send may never learn that the client of an MPTCP connection has gone.
    """
    loop, signalled = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled.set)

    async def ending() -> None:
        await signalled.wait()
        loop.call_later(CLOSE_S, shut_down_all)

    await serve(application, config, shutdown_trigger=ending)  # type: ignore[arg-type]


def _is_failure(error: BaseException) -> bool:
    late = "APPLICATION_DATA_AFTER_CLOSE_NOTIFY"
    return isinstance(error, ssl.SSLError) and getattr(error, "reason", None) != late


def _configuration(listener: socket.socket, certificate: Path, key: Path) -> Config:
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.certfile, config.keyfile = str(certificate), str(key)
    config.keep_alive_timeout = IDLE_S
    config.keep_alive_max_requests = sys.maxsize  # its own 1,000 end a connection
    config.h2_max_concurrent_streams = OPEN_REQUESTS
    return config


if __name__ == "__main__":
    main()
