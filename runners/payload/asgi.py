"""The ASGI application behind the TCP servers.

A GET request is answered at once with what is found at its path (at `/bytes/N` N deterministic
bytes), `POST /respond/N` with N such bytes when its body is complete. `POST /call/...` is for calls
(`asgi_call`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, MutableMapping
from http import HTTPStatus
from typing import Any

from minitopo_dc.runners.payload.asgi_call import DOWN, UP, Taken, frames, wanted
from minitopo_dc.runners.payload.content import Content, Find, Posted, blocks, requested_content

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Application:
    """ASGI 3 application: 200 with what was found, 400 for a wrong body, 404 otherwise."""

    def __init__(self, find: Find = requested_content) -> None:
        """Take the function that finds the content of GET requests."""
        self._find = find

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI 3 asks for."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["method"] == "POST" and scope["path"] in (DOWN, UP):
            await _call(scope["path"], receive, send)
            return
        wanted = await self._wanted(scope, receive)
        if isinstance(wanted, HTTPStatus):
            await send({"type": "http.response.start", "status": wanted.value, "headers": []})
            await send({"type": "http.response.body"})
        elif wanted is not None:
            await _until_gone(receive, _respond(wanted, send))

    async def _wanted(self, scope: Message, receive: Receive) -> Content | HTTPStatus | None:
        """Return the answer or an error, None if the client went before its body was complete."""
        if scope["method"] != "POST":
            return self._find(scope["path"]) or HTTPStatus.NOT_FOUND
        posted = await _posted(Posted(scope["path"], dict(scope["headers"])), receive)
        if posted is None:
            return None
        status, size = posted
        return Content(size, blocks(size)) if status is HTTPStatus.OK else status


application = Application()
"""The application that the runners use."""


async def _posted(posted: Posted, receive: Receive) -> tuple[HTTPStatus, int] | None:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        posted.take(message.get("body", b""))
        more = message.get("more_body", False)
    return posted.answer()


async def _respond(content: Content, send: Send) -> None:
    headers = [(b"content-length", str(content.size_bytes).encode()), *content.headers]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for block in content.pieces:
        await send({"type": "http.response.body", "body": block, "more_body": True})
        # Once the client has gone, hypercorn's send does nothing at all: let other tasks notice.
        await asyncio.sleep(0)
    await send({"type": "http.response.body"})


async def _call(path: str, receive: Receive, send: Send) -> None:
    """Serve one direction of a call."""
    body, taken, more = b"", Taken(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        if path == UP:
            taken.take(message.get("body", b""))
        else:
            body += message.get("body", b"")
        more = message.get("more_body", False)
    call = wanted(body) if path == DOWN else None
    if path == DOWN and call is None:
        await send({"type": "http.response.start", "status": 400, "headers": []})
        await send({"type": "http.response.body"})
        return
    answer = frames(call) if call is not None else _once(taken.report())
    await _until_gone(receive, _stream(answer, send))


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def _stream(pieces: AsyncIterator[bytes], send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    async for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body"})


async def _until_gone(receive: Receive, response: Coroutine[Any, Any, None]) -> None:
    """Respond, but no longer than the client is there.

    A send that waits for room does not return when the client goes (hypercorn 0.18), so it has to
    be cancelled.
    """
    responding = asyncio.create_task(response)
    leaving = asyncio.create_task(_wait_disconnect(receive))
    try:
        await asyncio.wait((responding, leaving), return_when=asyncio.FIRST_COMPLETED)
        if responding.done():
            responding.result()
    finally:
        for task in (responding, leaving):
            task.cancel()


async def _wait_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
