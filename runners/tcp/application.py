"""The ASGI application behind the TCP servers: a workload's server for each connection."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import nullcontext
from http import HTTPStatus
from typing import Any

from minitopo_dc.runners.tcp.watch import TcpWatch
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
