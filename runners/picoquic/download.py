"""A client of picoquic that downloads one resource, without input or output."""

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
    Received,
    content_sha256,
)
from minitopo_dc.runners.picoquic.session import ClientSession, DownloadOutcome
from minitopo_dc.settings import PathPlan
from minitopo_dc.units import NS_PER_S


class DownloadSession(ClientSession):
    """A client that downloads one resource; after its deadline nothing counts any more."""

    def __init__(
        self,
        connection: Connection,
        plan: PathPlan,
        local: Sequence[Address],
        server: Address,
        begin: int,
        *,
        size_bytes: int,
        duration_s: float = math.inf,
    ) -> None:
        """Take what to ask for, and when to stop: s after the start."""
        super().__init__(connection, plan, local, server, begin)
        self.outcome: DownloadOutcome = DownloadOutcome()
        self._size = size_bytes
        self._duration = duration_s
        self._deadline: int | None = None
        self._content = Received()

    def _on_start(self, now: int) -> None:
        if self._duration != math.inf:
            self._deadline = now + round(self._duration * NS_PER_S)

    def _on_ready(self, now: int) -> None:
        self.outcome.handshake_s = self._since_start(now)
        request = f"GET /bytes/{self._size}\r\n".encode()
        self.connection.write(self.connection.open_stream(), request, end_stream=True)

    def _on_stream(self, event: StreamData | StreamReset, now: int) -> None:
        if isinstance(event, StreamReset):
            self._finish(now, "the server gave the download up")
            return
        if self.outcome.first_byte_s is None:
            self.outcome.first_byte_s = self._since_start(now)
        self._content.take(event.data)
        self.outcome.bytes_received = self._content.size_bytes
        if not self._content.is_right:
            self._finish(now, "other bytes arrived than those sent")
        elif event.end_stream:
            self.outcome.completion_s = self._since_start(now)
            self._end_body(now)

    def _workload_timeout(self) -> int | None:
        return self._deadline

    def _on_workload_time(self, now: int) -> None:
        if self._deadline is not None and now >= self._deadline:
            self._handle_all(now, all_data=True)
            if not self._closing:
                self.outcome.stopped_s = self._since_start(now)
                self._end_body(now)

    def _end_body(self, now: int) -> None:
        self._deadline = None
        self._finish(now)

    def _on_closed(self) -> None:
        if self._content.is_right:
            self.outcome.sha256 = content_sha256(self._content.size_bytes)

    def cut_off(self, now: int) -> None:
        """Count what has arrived, as the run is over before the connection is."""
        self._handle_all(now, all_data=True)
        self._on_closed()
