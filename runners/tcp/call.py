"""HTTP/2 client over TLS and TCP or MPTCP of a call: all frames of a direction on one stream.

It prints one line of JSON about what it saw. An error is in there too (`error`): the exit code is 0
all the same.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict

from h2.events import DataReceived, Event, ResponseReceived, StreamEnded, StreamReset

from minitopo_dc.runners.payload.asgi_call import DOWN, UP, Queue
from minitopo_dc.runners.payload.call import (
    PATIENCE_NS,
    REPORT_NS,
    CallOutcome,
    Receiving,
    Sending,
    complete,
)
from minitopo_dc.runners.payload.requests import WrongAnswer
from minitopo_dc.runners.tcp.http2_client import Http2Client
from minitopo_dc.runners.tcp.requests import connect_and_run
from minitopo_dc.runners.tcp.settings import ClientSettings
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Realtime


class CallSettings(ClientSettings):
    """Settings of this client program."""

    workload: Realtime


class Http2Call(Http2Client):
    """One HTTP/2 connection, a stream of it for each direction of the call."""

    def __init__(self, workload: Realtime, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self.outcome = CallOutcome()
        self._workload = workload
        self._start = self._ready = 0
        self._end: float = math.inf  # when what has not come down is lost
        self._receiving, self._queue = Receiving(), Queue()
        self._sending: Sending | None = None
        self._down: int | None = None  # the streams
        self._up: int | None = None
        self._unsent = b""
        self._report = b""
        self._reported: dict[int, int] | None = None

    def connecting(self) -> None:
        """Note that the client begins to connect."""
        self._start = self._now()

    def _on_connected(self, now: float) -> None:
        workload = self._workload
        self._ready = self._now()
        self.outcome.handshake_s = (self._ready - self._start) / NS_PER_S
        self._end = self._ready + workload.plan.due_ns(workload.frames - 1) + PATIENCE_NS
        if "down" in workload.directions:
            told = workload.model_dump_json(exclude_defaults=True).encode()
            self._down = self._open("POST", DOWN, len(told))
            self._http.send_data(self._down, told, end_stream=True)
        if "up" in workload.directions:
            self._up = self._open("POST", UP, sum(workload.plan.sizes_bytes))
            self._sending = Sending(workload, self._queue, self._ready)
        self.on_time(now)

    def timeout(self) -> float:
        """Return when `on_time` is to be called (s), infinity for never."""
        if self.closing or self._end == math.inf:
            return math.inf
        frame = math.inf if self._sending is None else self._sending.next_timeout()
        now = self._now()
        end = self._end if now < self._end else self._end + REPORT_NS
        return min(frame, end) / NS_PER_S

    def on_time(self, now: float) -> None:  # noqa: ARG002 (its own clock has ns)
        """Send what is due, as far as there is room; end when the call is over."""
        if self.closing:
            return
        moment = self._now()
        if self._sending is not None and self._up is not None:
            self._sending.on_time(moment)
            self._unsent += self._queue.take()
            self._send(self._up, is_last=self._sending.next_timeout() == math.inf)
        is_down = self._down is None or self._is_complete() or moment >= self._end
        if is_down and (self._up is None or self._reported is not None):
            self._conclude(moment)
        elif moment >= self._end + REPORT_NS:
            self.lost(f"the server's report did not come within {REPORT_NS // NS_PER_S} s")

    def _is_complete(self) -> bool:
        return len(self._receiving.received_ns) == self._workload.frames

    def _send(self, stream: int, *, is_last: bool) -> None:
        """Send what fits into the windows, and with the last byte the end of the stream."""
        while self._unsent:
            room = self._http.local_flow_control_window(stream)
            size = min(len(self._unsent), room, self._http.max_outbound_frame_size)
            if size <= 0:
                return
            piece, self._unsent = self._unsent[:size], self._unsent[size:]
            self._http.send_data(stream, piece, end_stream=is_last and not self._unsent)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, ResponseReceived):
            status = int(dict(event.headers)[b":status"])
            if status != 200:
                raise WrongAnswer(f"the call got status {status}, not 200")
        elif isinstance(event, DataReceived) and event.stream_id == self._down:
            self._receiving.on_stream(event.stream_id, event.data, self._now())
        elif isinstance(event, DataReceived):
            self._report += event.data
        elif isinstance(event, StreamEnded) and event.stream_id == self._up:
            received = json.loads(self._report)["received_ns"]
            self._reported = {int(number): moment for number, moment in received.items()}
        elif isinstance(event, StreamReset) and event.stream_id in (self._down, self._up):
            raise WrongAnswer("the server has reset the call")

    def _after_events(self) -> None:
        self.on_time(self._clock())

    def lost(self, reason: str) -> None:
        """End with an error, as the connection has ended or is of no use any more."""
        if not self.closing:
            self.outcome.error = reason
            self._finish()

    def _conclude(self, now: int) -> None:
        received = {"down": self._receiving.received_ns, "up": self._reported or {}}
        first = {"down": self._receiving.first_ns or self._ready, "up": self._ready}
        self.outcome.completion_s = (now - self._start) / NS_PER_S
        complete(self.outcome, self._workload, self._start, first, received)
        self._finish()

    def _now(self) -> int:
        return round(self._clock() * NS_PER_S)


def main() -> None:
    """Run the call, and print the outcome as one line of JSON."""
    told = CallSettings.given()
    client = Http2Call(told.workload)
    started_ns = connect_and_run(client, told)
    print(json.dumps(asdict(client.outcome) | {"started_ns": started_ns}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
