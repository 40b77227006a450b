"""Both ends of a call over QUIC, without input or output: frames out and in.

On its first stream the client says what is to be sent, as JSON; on its second one the server
answers at the end what it has received. Frames have streams of one direction, or none. A frame
begins with its number, its size and when it was captured. Key frames may have a second connection,
on which there is nothing else. Times are int ns; the clocks of both ends must be the same, as
between processes of one machine.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Protocol

from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.payload.content import BLOCK
from minitopo_dc.units import NS_PER_MS, NS_PER_S
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.base import Row
from minitopo_dc.workloads.realtime import PATIENCE_S, Realtime, frame_rows

ALPN = "minitopo-call"
GREETING = b"CALL "
"""Begins the client's first stream."""
REPORT = b"REPORT"
"""Is the client's second one."""
HEAD = Struct("!IIQ")
"""Number, bytes and captured (ns) of a frame."""
PIECE = Struct("!IIIQ")
"""The same of a piece of it in a DATAGRAM frame, with its offset behind the number."""
PIECE_BYTES = 1100
"""Of a frame in a DATAGRAM frame: with all headers it fits into QUIC's least packet (1,200)."""
LATE = 1
"""The error code with which a frame that is too late is reset."""
PATIENCE_NS = round(PATIENCE_S * NS_PER_S)
REPORT_NS = 60 * NS_PER_S
"""For the server's answer to the end of a call. A call that ends where the shipped drives have no
network gets it 29 s later, as the pauses between attempts double (RFC 9002, 6.2.1)."""


class Pipe(Protocol):
    """A connection, as both ends of a call see it."""

    def open(self, *, unidirectional: bool) -> int:
        """Return a new stream of this end."""

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send bytes on a stream."""

    def reset(self, stream: int) -> None:
        """Give a stream up, unless all of it was acknowledged."""

    def send_datagram(self, data: bytes) -> None:
        """Send bytes in a DATAGRAM frame."""


@dataclass
class CallOutcome:
    """The client's results at the end; times in seconds since it began to connect."""

    frames: list[Row] = field(default_factory=list)
    completion_s: float | None = None
    bytes_in_time: int = 0
    reset_frames: int = 0  # that their sender has given up, as far as their receiver knows
    handshake_s: float | None = None
    receive_buffer_bytes: int | None = None
    socket_drops: int | None = None
    error: str | None = None


class Sending:
    """The sender of one direction, which sends each frame when it is due."""

    def __init__(
        self, workload: Realtime, pipe: Pipe, first_ns: int, key_pipe: Pipe | None = None
    ) -> None:
        """Take the connection, and that of key frames if they have one of their own."""
        self.first_ns = first_ns
        """When the first frame is captured."""
        self._plan, self._delivery = workload.plan, workload.delivery
        self._pipes = (pipe, key_pipe or pipe)  # of other frames, and of key frames
        self._next = 0
        self._only_streams: dict[Pipe, int] = {}
        self._deadline = round(workload.deadline_ms * NS_PER_MS) if workload.reset_late else None
        self._open: dict[int, int] = {}  # streams by their frames, while they may become late

    def on_time(self, now: int) -> None:
        """Send what is due, and give up what is too late."""
        while self._next < len(self._plan.sizes_bytes) and self._captured(self._next) <= now:
            self._send(self._next)
            self._next += 1
        if self._deadline is not None:
            for number in [n for n in self._open if self._captured(n) + self._deadline <= now]:
                self._pipe(number).reset(self._open.pop(number))

    def next_timeout(self) -> float:
        """Return when `on_time` is to be called (ns), infinity for never."""
        is_over = self._next == len(self._plan.sizes_bytes)
        frame = math.inf if is_over else self._captured(self._next)
        if self._deadline is None or not self._open:
            return frame
        return min(frame, self._captured(next(iter(self._open))) + self._deadline)

    def _captured(self, number: int) -> int:
        return self.first_ns + self._plan.due_ns(number)

    def _pipe(self, number: int) -> Pipe:
        return self._pipes[self._plan.keys[number]]

    def _send(self, number: int) -> None:
        pipe = self._pipe(number)
        if self._delivery == "datagrams":
            for piece in self._pieces(number):
                pipe.send_datagram(piece)
            return
        size = self._plan.sizes_bytes[number]
        data = HEAD.pack(number, size, self._captured(number)) + _content(size - HEAD.size)
        if self._delivery == "streams":
            stream = pipe.open(unidirectional=True)
            pipe.write(stream, data, end=True)
            if self._deadline is not None:
                self._open[number] = stream
            return
        if pipe not in self._only_streams:
            self._only_streams[pipe] = pipe.open(unidirectional=True)
        pipe.write(self._only_streams[pipe], data)

    def _pieces(self, number: int) -> Iterator[bytes]:
        size, captured = self._plan.sizes_bytes[number], self._captured(number)
        for offset in range(0, size, PIECE_BYTES):
            length = min(PIECE_BYTES, size - offset)
            head = PIECE.pack(number, offset, size, captured)
            yield head + _content(max(0, length - PIECE.size))


def _content(size: int) -> bytes:
    whole, rest = divmod(size, len(BLOCK))
    return BLOCK * whole + BLOCK[:rest]


class Receiving:
    """The receiver of one direction, which notes when each frame was complete."""

    def __init__(self) -> None:
        self.received_ns: dict[int, int] = {}
        self.first_ns: int | None = None
        """When the first frame was captured, once it has come on a stream."""
        self.resets = 0
        """Frames that their sender has given up."""
        self._streams: dict[int, bytearray] = {}
        self._pieces: dict[int, set[int]] = {}

    def on_stream(self, stream: int, data: bytes, now: int) -> None:
        """Take bytes of a stream, which holds one frame or one after another."""
        waiting = self._streams.setdefault(stream, bytearray())
        waiting += data
        while len(waiting) >= HEAD.size:
            number, size, captured = HEAD.unpack_from(waiting)
            if len(waiting) < size:
                return
            if number == 0:
                self.first_ns = captured
            del waiting[:size]
            self.received_ns.setdefault(number, now)

    def on_reset(self, stream: int) -> None:
        """Note that the sender gave a stream up."""
        self._streams.pop(stream, None)
        self.resets += 1

    def on_datagram(self, data: bytes, now: int) -> None:
        """Take a piece of a frame; pieces may come in any order, and twice."""
        number, offset, size, _ = PIECE.unpack_from(data)
        pieces = self._pieces.setdefault(number, set())
        pieces.add(offset)
        if len(pieces) == -(-size // PIECE_BYTES):
            self.received_ns.setdefault(number, now)


class End:
    """Common parts of both ends of a call."""

    def __init__(self, pipe: Pipe, key_pipe: Pipe | None = None) -> None:
        """Take the connection, and that of key frames if they have one of their own."""
        self.receiving = Receiving()
        self.sending: Sending | None = None
        self._pipe, self._key_pipe = pipe, key_pipe

    def on_reset(self, stream: int) -> None:
        """Note that the other end gave a stream up."""
        self.receiving.on_reset(stream)

    def on_datagram(self, data: bytes, now: int) -> None:
        """Take a DATAGRAM frame that arrived, on either connection."""
        self.receiving.on_datagram(data, now)

    def on_key_stream(self, stream: int, data: bytes, now: int) -> None:
        """Take bytes of a stream of the connection of key frames."""
        self.receiving.on_stream(_of_keys(stream), data, now)

    def on_key_reset(self, stream: int) -> None:
        """Note that the other end gave a stream of the connection of key frames up."""
        self.receiving.on_reset(_of_keys(stream))


def _of_keys(stream: int) -> int:
    """Return a number that no stream of the first connection has."""
    return -1 - stream


class CallServer(End):
    """The server's end: it does what the client says, and reports when it is asked to."""

    def __init__(self, pipe: Pipe, key_pipe: Pipe | None = None) -> None:
        super().__init__(pipe, key_pipe)
        self._first_ns: int | None = None
        self._asked: dict[int, bytes] = {}  # by streams of both directions

    def on_stream(self, stream: int, data: bytes, end: bool, now: int) -> None:
        """Take bytes of a stream that arrived, perhaps its last ones."""
        if stream % 4:  # of one direction (RFC 9000, section 2.1)
            self.receiving.on_stream(stream, data, now)
            return
        asked = self._asked[stream] = self._asked.get(stream, b"") + data
        if end:
            answer = self._report() if asked == REPORT else self._begin(asked, now)
            self._pipe.write(stream, answer, end=True)

    def _begin(self, asked: bytes, now: int) -> bytes:
        self._first_ns = now
        workload = Realtime.check(json.loads(asked[len(GREETING) :]), "call")
        if "down" in workload.directions:
            self.sending = Sending(workload, self._pipe, now, self._key_pipe)
            self.sending.on_time(now)
        return b""

    def _report(self) -> bytes:
        found = self.receiving
        report = {
            "first_ns": self._first_ns,
            "received_ns": found.received_ns,
            "resets": found.resets,
        }
        return json.dumps(report).encode()

    def on_time(self, now: int) -> None:
        """Send the frames that are due."""
        if self.sending is not None:
            self.sending.on_time(now)

    def next_timeout(self) -> float:
        """Return when `on_time` is to be called (ns), infinity for never."""
        return math.inf if self.sending is None else self.sending.next_timeout()


class CallClient(End):
    """The client's end: from connecting to the server's report."""

    def __init__(self, workload: Realtime, pipe: Pipe, key_pipe: Pipe | None = None) -> None:
        super().__init__(pipe, key_pipe)
        self.ended = False
        self.outcome = CallOutcome()
        self._workload = workload
        self._start = self._ready = 0
        self._over: float | None = None  # when what has not come is lost; None: not connected
        self._asked: float = math.inf
        self._report: int | None = None  # the stream
        self._answer = b""

    def connecting(self, now: int) -> None:
        """Note that the client begins to connect."""
        self._start = now

    def connected(self, now: int) -> None:
        """Say what is to be sent, and begin, as streams may be opened now."""
        self._ready = now
        self.outcome.handshake_s = (now - self._start) / NS_PER_S
        told = self._workload.model_dump_json(exclude_defaults=True).encode()
        self._pipe.write(self._pipe.open(unidirectional=False), GREETING + told, end=True)
        last_ns = self._workload.plan.due_ns(self._workload.frames - 1)
        self._over = now + last_ns + PATIENCE_NS
        if "up" in self._workload.directions:
            self.sending = Sending(self._workload, self._pipe, now, self._key_pipe)
            self.sending.on_time(now)

    def on_time(self, now: int) -> None:
        """Send what is due; ask for the report when the call is over."""
        if self.ended or self._over is None:
            return
        if self.sending is not None:
            self.sending.on_time(now)
        if self._report is None and (now >= self._over or self._is_complete()):
            self._asked = now
            self._report = self._pipe.open(unidirectional=False)
            self._pipe.write(self._report, REPORT, end=True)
        elif now >= self._asked + REPORT_NS:
            self.failed(f"the server's report did not come within {REPORT_NS // NS_PER_S} s")

    def _is_complete(self) -> bool:
        """Return whether nothing more is awaited; only the server knows of frames up."""
        is_here = len(self.receiving.received_ns) == self._workload.frames
        return self._workload.direction == "down" and is_here

    def next_timeout(self) -> float:
        """Return when `on_time` is to be called (ns), infinity for never."""
        if self.ended or self._over is None:
            return math.inf
        wait = self._over if self._report is None else self._asked + REPORT_NS
        return min(wait, math.inf if self.sending is None else self.sending.next_timeout())

    def on_stream(self, stream: int, data: bytes, end: bool, now: int) -> None:
        """Take bytes of a stream that arrived, perhaps its last ones."""
        if stream == self._report:
            self._answer += data
            if end and not self.ended:
                self._end(json.loads(self._answer), now)
        elif stream % 4 == 3:  # the server's, of one direction
            self.receiving.on_stream(stream, data, now)

    def failed(self, reason: str) -> None:
        """End with an error, as nothing more will come."""
        if not self.ended:
            self.ended = True
            self.outcome.error = reason

    def _end(self, report: dict[str, Any], now: int) -> None:
        self.ended = True
        outcome = self.outcome
        outcome.completion_s = (now - self._start) / NS_PER_S
        outcome.reset_frames = self.receiving.resets + report["resets"]
        up_ns = {int(number): moment for number, moment in report["received_ns"].items()}
        received = {"down": self.receiving.received_ns, "up": up_ns}
        first = {"down": report["first_ns"], "up": self._ready}
        complete(outcome, self._workload, self._start, first, received)


def complete(
    outcome: CallOutcome,
    workload: Realtime,
    start_ns: int,
    first_ns: Mapping[str, int],
    received_ns: Mapping[str, dict[int, int]],
) -> None:
    """Give an outcome its frames, and the bytes of those that came in time.

    Args:
        outcome: the client's.
        workload: the call.
        start_ns: when the client began to connect.
        first_ns: when each direction's first frame was captured.
        received_ns: when which frame of each direction was complete.
    """
    for direction in workload.directions:
        first, received = first_ns[direction], received_ns[direction]
        is_up = direction == "up"
        outcome.frames += frame_rows(workload.plan, first, received, start_ns, up=is_up)
    outcome.bytes_in_time = sum(
        int(row["size_bytes"] or 0)
        for row in outcome.frames
        if row["delay_ms"] is not None and row["delay_ms"] <= workload.deadline_ms
    )


def read_call(report: dict[str, Any]) -> Measurement:
    """Return the measurement in a client's report (`CallOutcome`); bytes count in time.

    Raises:
        TransferFailed: the connection failed.
    """
    if report["error"] is not None:
        raise TransferFailed(f"client: {report['error']}")
    details = dict(report)
    rows = details.pop("frames")
    started_ns = details.pop("started_ns", None)
    completion_s = report["completion_s"] or 0.0
    return Measurement(report["bytes_in_time"], completion_s, details, started_ns, rows)
