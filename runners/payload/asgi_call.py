"""The server's end of a call over HTTP/2: frames down as an answer, frames up as a body.

`POST /call/down` has the call as its body, JSON, and is answered by the frames, each when it is
due. `POST /call/up` has frames as its body, and is answered by what was received when, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator

from minitopo_dc.runners.payload.call import Receiving, Sending
from minitopo_dc.settings import SettingsError
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Realtime

DOWN, UP = "/call/down", "/call/up"


class Queue:
    """A pipe for the only stream of a direction, which keeps what is to be sent."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []

    def open(self, *, unidirectional: bool) -> int:  # noqa: ARG002
        """Return the number of the only stream."""
        return 0

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:  # noqa: ARG002
        """Queue bytes to be sent on the stream."""
        self._waiting.append(data)

    def reset(self, stream: int) -> None:
        """Refuse to give the stream up, as other frames are on it.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(f"stream {stream} cannot be reset")

    def send_datagram(self, data: bytes) -> None:
        """Refuse to send a datagram, as TCP has none.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(f"{len(data)} bytes cannot be sent as a datagram")

    def take(self) -> bytes:
        """Return what is to be sent now, and forget it."""
        taken = b"".join(self._waiting)
        self._waiting.clear()
        return taken


def wanted(body: bytes) -> Realtime | None:
    """Return the call for which a client asks, None if the body is no call."""
    try:
        call = Realtime.check(json.loads(body), "call")
    except (ValueError, SettingsError):
        return None
    return call if call.delivery == "stream" else None


async def frames(call: Realtime) -> AsyncIterator[bytes]:
    """Yield the bytes of the frames, each when it is due."""
    queue = Queue()
    sending = Sending(call, queue, time.monotonic_ns())
    while (due := sending.next_timeout()) != math.inf:
        wait_s = (due - time.monotonic_ns()) / NS_PER_S
        if wait_s > 0:
            await asyncio.sleep(wait_s)
        sending.on_time(time.monotonic_ns())
        if data := queue.take():
            yield data


class Taken:
    """The frames that a client sends up, as they arrive."""

    def __init__(self) -> None:
        self._receiving = Receiving()

    def take(self, data: bytes) -> None:
        """Take the next piece of the body."""
        self._receiving.on_stream(0, data, time.monotonic_ns())

    def report(self) -> bytes:
        """Return as JSON when each frame was received (ns)."""
        return json.dumps({"received_ns": self._receiving.received_ns}).encode()
