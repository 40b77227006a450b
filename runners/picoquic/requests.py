"""A client of picoquic that sends requests at a steady pace, without input or output."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minitopo_dc.picoquic.connection import Connection
from minitopo_dc.picoquic.events import (
    Address,
    StreamData,
    StreamReset,
)
from minitopo_dc.runners.payload.content import (
    blocks,
)
from minitopo_dc.runners.payload.requests import RequestPlan, Requests, RequestsOutcome, WrongAnswer
from minitopo_dc.runners.picoquic.session import ClientSession
from minitopo_dc.settings import PathPlan
from minitopo_dc.units import NS_PER_S


class RequestSession(ClientSession):
    """A client that sends requests at a steady pace, a stream for each."""

    def __init__(
        self,
        connection: Connection,
        plan: PathPlan,
        local: Sequence[Address],
        server: Address,
        begin: int,
        *,
        requests: RequestPlan,
    ) -> None:
        super().__init__(connection, plan, local, server, begin)
        self._requests = Requests(requests)
        self._line = f"POST {requests.path}\r\n".encode()
        self._body = b"".join(blocks(requests.request_bytes))
        self._numbers: dict[int, int] = {}  # of requests, by their streams

    @property
    def outcome(self) -> RequestsOutcome:  # type: ignore[override]
        """Return what has become of the requests until now."""
        return self._requests.outcome

    def _on_start(self, now: int) -> None:
        self._requests.connecting(now / NS_PER_S)

    def _on_ready(self, now: int) -> None:
        self._requests.connected(now / NS_PER_S)
        self._on_workload_time(now)

    def _on_stream(self, event: StreamData | StreamReset, now: int) -> None:
        number = self._numbers[event.stream_id]
        if isinstance(event, StreamReset):
            self._finish(now, f"the server gave request {number} up")
            return
        try:
            self._requests.arrived(number, event.data)
            if event.end_stream:
                self._requests.answered(number, now / NS_PER_S)
        except WrongAnswer as wrong:
            self._finish(now, str(wrong))
            return
        if self._requests.ended(now / NS_PER_S):
            self._finish(now)

    def _workload_timeout(self) -> int | None:
        timeout = self._requests.next_timeout()
        return None if timeout == math.inf else math.ceil(timeout * NS_PER_S)

    def _on_workload_time(self, now: int) -> None:
        for number in self._requests.due(now / NS_PER_S):
            stream_id = self.connection.open_stream()
            self._numbers[stream_id] = number
            self.connection.write(stream_id, self._line + self._body, end_stream=True)
            self._requests.sent(number, now / NS_PER_S)
        if self.ready is not None and self._requests.ended(now / NS_PER_S):
            self._finish(now)
