"""The Chrome DevTools protocol over two pipes: JSON messages, each ended by a zero octet.

https://chromedevtools.github.io/devtools-protocol/; option `--remote-debugging-pipe`. No port, no
WebSocket: nothing of it is seen on the host's network.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import time
from typing import Any

from minitopo_dc.errors import MinitopoDcError

Reply = dict[str, Any]
READ_BYTES = 65_536


class DevToolsError(MinitopoDcError):
    """Error: the browser did not answer, or answered with an error."""


class DevTools:
    """Commands to a browser and its answers; all of them are to be done by a deadline."""

    def __init__(self, send: int, receive: int, deadline: float) -> None:
        """Take file descriptors, which the caller closes, and a deadline (monotonic time in s)."""
        self._send = send
        self._receive = receive
        self._deadline = deadline
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._events: list[Reply] = []

    def call(self, method: str, session: str | None = None, **parameters: Any) -> Reply:
        """Return the result of a command.

        Raises:
            DevToolsError: there is none.
        """
        number = next(self._numbers)
        message: Reply = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        try:
            os.write(self._send, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise DevToolsError(f"the browser ended before {method}") from None
        while (reply := self._next(method)).get("id") != number:
            self._events.append(reply)
        if "error" in reply:
            raise DevToolsError(f"{method}: {reply['error'].get('message', reply['error'])}")
        return dict(reply["result"])

    def wait_for(self, event: str) -> None:
        """Return when an event has come, be it before this call.

        Raises:
            DevToolsError: it has not come.
        """
        while all(each.get("method") != event for each in self._events):
            self._events.append(self._next(event))

    def _next(self, wanted: str) -> Reply:
        while b"\0" not in self._buffer:
            patience = max(0.0, self._deadline - time.monotonic())
            if not select.select([self._receive], [], [], patience)[0]:
                raise DevToolsError(f"no {wanted} in time")
            data = os.read(self._receive, READ_BYTES)
            if not data:
                raise DevToolsError(f"the browser ended before {wanted}")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))
