"""The application behind the TCP runners, which answers with N deterministic bytes.

`GET /bytes/N` is answered at once, `POST /respond/N` when its body is complete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from http import HTTPStatus
from typing import Any

from minitopo_dc.runners.content import blocks, requested_size
from minitopo_dc.runners.posted import Posted

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """ASGI 3 application: 200 with N bytes, 400 for a wrong body, 404 for everything else."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    wanted = await _wanted(scope, receive)
    if wanted is None:
        return
    status, size = wanted
    if status is not HTTPStatus.OK:
        await send({"type": "http.response.start", "status": status.value, "headers": []})
        await send({"type": "http.response.body"})
        return
    await _until_gone(receive, _respond(size, send))


async def _wanted(scope: Message, receive: Receive) -> tuple[HTTPStatus, int] | None:
    """The status and the size of the answer; None: the client went before its body was complete."""
    if scope["method"] == "POST":
        return await _posted(Posted(scope["path"], dict(scope["headers"])), receive)
    size = requested_size(scope["path"])
    return (HTTPStatus.NOT_FOUND, 0) if size is None else (HTTPStatus.OK, size)


async def _posted(posted: Posted, receive: Receive) -> tuple[HTTPStatus, int] | None:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        posted.take(message.get("body", b""))
        more = message.get("more_body", False)
    return posted.answer()


async def _respond(size: int, send: Send) -> None:
    headers = [(b"content-length", str(size).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for block in blocks(size):
        await send({"type": "http.response.body", "body": block, "more_body": True})
        # Once the client has gone, hypercorn's send does nothing at all: let the others notice.
        await asyncio.sleep(0)
    await send({"type": "http.response.body"})


async def _until_gone(receive: Receive, response: Coroutine[Any, Any, None]) -> None:
    """Respond, but no longer than the client is there.

    A send that waits for room does not return when the client goes (hypercorn 0.18), so it has to
    be cancelled.
    """
    responding = asyncio.create_task(response)
    leaving = asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait((responding, leaving), return_when=asyncio.FIRST_COMPLETED)
        if responding.done():
            responding.result()
    finally:
        for task in (responding, leaving):
            task.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
