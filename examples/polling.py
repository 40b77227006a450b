"""A workload of one's own, with both its ends: it runs on every transport that carries requests.

A client asks for the next of some messages, reads it, pauses, and asks again. Try it:

    minitopo-dc compare --clock virtual --legs 30 15 --plugin examples/polling.py --workload polling
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from minitopo_dc.plugins import (
    Answers,
    Client,
    Column,
    Content,
    Measurement,
    Outcome,
    Request,
    Requests,
    Server,
    Workload,
    workload,
)

NS_PER_MS = 1_000_000


@workload("polling")
class Polling(Workload):
    """Asks for `count` messages, one after the other."""

    columns: ClassVar[tuple[Column, ...]] = (Column("wait_ms", "wait\nms", spread=True),)
    has_goodput: ClassVar[bool] = False

    count: int = 20
    message_bytes: int = 20_000
    pause_ms: float = 5.0

    def make_client(self, connection: Requests) -> Client:
        """Return the client's end of a connection."""
        return PollingClient(self, connection)

    def make_server(self, connection: Answers) -> Server:
        """Return the server's end of a connection."""
        return PollingServer(self, connection)

    def failure(self, measured: Measurement) -> str | None:
        """Return an error if messages are missing, else None."""
        if len(measured.rows) == self.count:
            return None
        return f"client has {len(measured.rows)} of {self.count} messages"

    def details(self, measured: Measurement) -> dict[str, Any]:
        """Return how long a message takes to come, on average."""
        waits = [row["wait_ms"] or 0 for row in measured.rows]
        return {"wait_ms": math.fsum(waits) / len(waits)}


class PollingClient(Client):
    """Asks for the next message a pause after the last one."""

    outcome: Outcome

    def __init__(self, polling: Polling, connection: Requests) -> None:
        super().__init__(Outcome())
        self._polling = polling
        self._connection = connection
        self._next: float = math.inf
        """When to ask for the next message (ns)."""
        self._sent = 0

    def connected(self, now: int) -> None:
        """Ask for the first message."""
        super().connected(now)
        self._next = now

    def on_time(self, now: int) -> None:
        """Ask for a message that is due."""
        if now >= self._next:
            self._next, self._sent = math.inf, now
            self._connection.request("GET", f"/message/{len(self.outcome.rows)}")

    def next_timeout(self) -> float:
        """Return when to ask for the next message (ns)."""
        return self._next

    def data(self, stream: int, data: bytes, now: int) -> None:  # noqa: ARG002
        """Count the bytes of a message."""
        self.outcome.bytes_received += len(data)

    def end(self, stream: int, now: int) -> None:  # noqa: ARG002
        """Note that a message is there."""
        wait_ms = (now - self._sent) / NS_PER_MS
        self.outcome.rows.append({"message": len(self.outcome.rows) + 1, "wait_ms": wait_ms})
        self.outcome.completion_s = self._since_start(now)
        self._next = now + self._polling.pause_ms * NS_PER_MS
        self.ended = len(self.outcome.rows) == self._polling.count


class PollingServer(Server):
    """Answers with a message that consists of its number."""

    def __init__(self, polling: Polling, connection: Answers) -> None:
        self._polling = polling
        self._connection = connection

    def request(self, stream: int, request: Request, now: int) -> None:  # noqa: ARG002
        """Answer with the next message."""
        number = request.path.rpartition("/")[2].encode()
        size = self._polling.message_bytes
        message = (number * (1 + size // len(number)))[:size]
        self._connection.answer(stream, Content(size, [message]))
