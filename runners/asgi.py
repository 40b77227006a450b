"""The application behind the TCP runners: ``GET /bytes/N`` answers with N deterministic bytes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from runners.content import blocks, requested_size

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """ASGI 3 application: 200 with N bytes for ``/bytes/N``, 404 for everything else."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    size = requested_size(scope["path"])
    if size is None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body"})
        return
    headers = [(b"content-length", str(size).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for block in blocks(size):
        await send({"type": "http.response.body", "body": block, "more_body": True})
    await send({"type": "http.response.body"})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
