"""HTTP/2 client over TLS and TCP or MPTCP that watches a video.

It prints one line of JSON about what it saw. An error is in there too (`error`): the exit code is 0
all the same.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict

from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, ResponseReceived, StreamEnded, StreamReset

from minitopo_dc.media.player import Request
from minitopo_dc.runners.payload.watching import Watching, WatchingOutcome
from minitopo_dc.runners.tcp.http2_client import Http2Client
from minitopo_dc.runners.tcp.requests import connect_and_run
from minitopo_dc.runners.tcp.settings import ClientSettings
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Video


class VideoSettings(ClientSettings):
    """Settings of this client program."""

    workload: Video


class Http2Video(Http2Client):
    """One HTTP/2 connection, a stream of it for each segment; one given up is reset."""

    def __init__(self, workload: Video, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._watching = Watching(workload)
        self._numbers: dict[int, int] = {}  # of requests, by their streams
        self._streams: dict[int, int] = {}

    @property
    def outcome(self) -> WatchingOutcome:
        """Return what has become of the session until now."""
        return self._watching.outcome

    def connecting(self) -> None:
        """Note that the client begins to connect."""
        self._watching.connecting(self._now())

    def _on_connected(self, now: float) -> None:
        self._watching.connected(round(now * NS_PER_S))
        self.on_time(now)

    def timeout(self) -> float:
        """Return when `on_time` is to be called (s), infinity for never."""
        return math.inf if self.closing else self._watching.next_timeout() / NS_PER_S

    def on_time(self, now: float) -> None:
        """Ask for what is due, give up what is of no use."""
        if self.closing:
            return
        for action in self._watching.todo(round(now * NS_PER_S)):
            if isinstance(action, Request):
                stream_id = self._open("GET", f"/bytes/{action.size_bytes}")
                self._numbers[stream_id] = action.number
                self._streams[action.number] = stream_id
            else:
                self._http.reset_stream(self._streams[action.number], ErrorCodes.CANCEL)
        if self._watching.ended:
            self._finish()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, ResponseReceived):
            status = int(dict(event.headers)[b":status"])
            self._watching.status(self._numbers[event.stream_id], status, self._now())
        elif isinstance(event, DataReceived):
            self._watching.arrived(self._numbers[event.stream_id], event.data, self._now())
        elif isinstance(event, StreamEnded):
            self._watching.answered(self._numbers[event.stream_id])
        elif isinstance(event, StreamReset) and event.stream_id in self._numbers:
            self._watching.gave_up(self._numbers[event.stream_id])

    def _after_events(self) -> None:
        self.on_time(self._clock())

    def lost(self, reason: str) -> None:
        """End with an error, as the connection has ended or is of no use any more."""
        if not self.closing:
            self._watching.failed(reason)
            self._finish()

    def _now(self) -> int:
        return round(self._clock() * NS_PER_S)


def main() -> None:
    """Watch the video, and print the outcome as one line of JSON."""
    told = VideoSettings.given()
    client = Http2Video(told.workload)
    started_ns = connect_and_run(client, told)
    print(json.dumps(asdict(client.outcome) | {"started_ns": started_ns}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
