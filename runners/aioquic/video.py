"""A client that watches a video on one HTTP/3 connection, without input or output."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from aioquic.h3.connection import ErrorCode
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.connection import QuicConnection

from minitopo_dc.media.player import Request
from minitopo_dc.runners.aioquic.endpoint import Transmit
from minitopo_dc.runners.aioquic.http3_client import Http3Client
from minitopo_dc.runners.payload.requests import WrongAnswer
from minitopo_dc.runners.payload.watching import Watching, WatchingOutcome
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Video


class VideoClient(Http3Client):
    """One HTTP/3 connection, a stream of it for each segment; one given up is told to stop."""

    def __init__(
        self,
        connection: QuicConnection,
        workload: Video,
        transmit: Transmit,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(connection, transmit, clock)
        self._watching = Watching(workload)
        self._numbers: dict[int, int] = {}  # of requests, by their streams
        self._streams: dict[int, int] = {}
        self._closing = False

    @property
    def outcome(self) -> WatchingOutcome:
        """Return what has become of the session until now."""
        return self._watching.outcome

    def _on_start(self, now: float) -> None:
        self._watching.connecting(_ns(now))

    def _on_time(self, now: float) -> None:
        if self._closing:
            return
        for action in self._watching.todo(_ns(now)):
            if isinstance(action, Request):
                stream_id = self._request("GET", f"/bytes/{action.size_bytes}")
                self._numbers[stream_id] = action.number
                self._streams[action.number] = stream_id
            else:
                stream_id = self._streams[action.number]
                self._connection.stop_stream(stream_id, ErrorCode.H3_REQUEST_CANCELLED)
        if self._watching.ended:
            self._finish()

    def _timeout(self) -> float:
        timeout = self._watching.next_timeout()
        return math.inf if self._closing else timeout / NS_PER_S

    def _on_handshake(self) -> None:
        now = self._clock()
        self._watching.connected(_ns(now))
        self._on_time(now)

    def _on_event(self, event: H3Event) -> None:
        if self._closing or not isinstance(event, HeadersReceived | DataReceived):
            return
        now = self._clock()
        try:
            self._receive(self._numbers[event.stream_id], event, _ns(now))
        except WrongAnswer as wrong:
            self._watching.failed(str(wrong))
        self._on_time(now)

    def _receive(self, number: int, event: HeadersReceived | DataReceived, now: int) -> None:
        if isinstance(event, HeadersReceived):
            self._watching.status(number, int(dict(event.headers)[b":status"]), now)
        else:
            self._watching.arrived(number, event.data, now)
        if event.stream_ended:
            self._watching.answered(number)

    def _finish(self) -> None:
        self._closing = True
        self._close()

    def _on_end(self, reason: str) -> None:
        self._watching.failed(reason)
        self._closing = True


def _ns(seconds: float) -> int:
    return round(seconds * NS_PER_S)
