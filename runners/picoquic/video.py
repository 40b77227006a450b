"""A client of picoquic that watches a video, without input or output."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minitopo_dc.media.player import Request
from minitopo_dc.picoquic.connection import Connection
from minitopo_dc.picoquic.events import Address, StreamData, StreamReset
from minitopo_dc.runners.payload.requests import WrongAnswer
from minitopo_dc.runners.payload.watching import Watching, WatchingOutcome
from minitopo_dc.runners.picoquic.session import ClientSession
from minitopo_dc.settings import PathPlan
from minitopo_dc.workloads import Video

GIVEN_UP = 1
"""The error code with which a stream is told to stop; HTTP/0.9 has none."""


class VideoSession(ClientSession):
    """A client that watches a video: a stream for each segment; one given up is told to stop."""

    eager = True

    def __init__(
        self,
        connection: Connection,
        plan: PathPlan,
        local: Sequence[Address],
        server: Address,
        begin: int,
        *,
        workload: Video,
    ) -> None:
        super().__init__(connection, plan, local, server, begin)
        self._watching = Watching(workload)
        self._numbers: dict[int, int] = {}  # of requests, by their streams
        self._streams: dict[int, int] = {}

    @property
    def outcome(self) -> WatchingOutcome:  # type: ignore[override]
        """Return what has become of the session until now."""
        return self._watching.outcome

    def _on_start(self, now: int) -> None:
        self._watching.connecting(now)

    def _on_ready(self, now: int) -> None:
        self._watching.connected(now)
        self._on_workload_time(now)

    def _on_stream(self, event: StreamData | StreamReset, now: int) -> None:
        number = self._numbers[event.stream_id]
        try:
            if isinstance(event, StreamReset):
                self._watching.gave_up(number)
            else:
                self._watching.arrived(number, event.data, now)
                if event.end_stream:
                    self._watching.answered(number)
        except WrongAnswer as wrong:
            self._watching.failed(str(wrong))
        self._on_workload_time(now)

    def _workload_timeout(self) -> int | None:
        timeout = self._watching.next_timeout()
        return None if timeout == math.inf else int(timeout)

    def _on_workload_time(self, now: int) -> None:
        for action in self._watching.todo(now):
            if isinstance(action, Request):
                stream_id = self.connection.open_stream()
                line = f"GET /bytes/{action.size_bytes}\r\n".encode()
                self.connection.write(stream_id, line, end_stream=True)
                self._numbers[stream_id] = action.number
                self._streams[action.number] = stream_id
            else:
                self.connection.stop_sending(self._streams[action.number], GIVEN_UP)
        if self._watching.ended and not self._closing:
            self._finish(now, self._watching.outcome.error)
