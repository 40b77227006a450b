"""Both ends of a call, without input or output: frames out and in.

Over QUIC the client says on its first stream what is to be sent, as JSON; on its second one the
server answers at the end what it has received. Frames have streams of one direction, or none. Key
frames may have a second connection, on which there is nothing else. Over HTTP `POST /call/down` has
the call as its body, JSON, and is answered by the frames, each when it is due; `POST /call/up` has
frames as its body, and is answered by what was received when, as JSON.

A frame begins with its number, its size and when it was captured. Times are int ns; the clocks of
both ends must be the same, as between processes of one machine.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from struct import Struct
from typing import TYPE_CHECKING, Any, cast

from minitopo_dc.fields import SettingsError
from minitopo_dc.media.video import Frames
from minitopo_dc.units import NS_PER_MS, NS_PER_S
from minitopo_dc.workloads.base import Row
from minitopo_dc.workloads.exchange import (
    BLOCK,
    Answers,
    Client,
    Request,
    Requests,
    Server,
    Streams,
)

if TYPE_CHECKING:  # which gives these ends
    from minitopo_dc.workloads.realtime import Realtime

GREETING = b"CALL "
"""Begins the client's first stream."""
REPORT = b"REPORT"
"""Is the client's second one."""
DOWN, UP = "/call/down", "/call/up"
"""The paths of requests."""
HEAD = Struct("!IIQ")
"""Number, bytes and captured (ns) of a frame."""
PIECE = Struct("!IIIQ")
"""The same of a piece of it in a DATAGRAM frame, with its offset behind the number."""
PIECE_BYTES = 1100
"""Of a frame in a DATAGRAM frame: with all headers it fits into QUIC's least packet (1,200)."""
PATIENCE_S = 2.0
"""For the last frames: far above any deadline of a call; what comes later is lost."""
PATIENCE_NS = round(PATIENCE_S * NS_PER_S)
REPORT_NS = 60 * NS_PER_S
"""For the server's answer to the end of a call. A call that ends where the shipped drives have no
network gets it 29 s later, as the pauses between attempts double (RFC 9002, 6.2.1)."""


class Sending:
    """The sender of one direction, which sends each frame when it is due."""

    def __init__(
        self,
        workload: Realtime,
        connection: Streams | Requests | Answers,
        first_ns: int,
        stream: int | None = None,
    ) -> None:
        """Take the connection, and when the first frame is captured.

        Over HTTP all frames have the one `stream` of a request, which ends with the last of them.
        """
        self._plan, self._delivery = workload.plan, workload.delivery
        # Over HTTP nothing but `write` is called.
        self._connection = cast("Streams", connection)
        self._first_ns, self._ends = first_ns, stream is not None
        self._marks = workload.key_frame_dscp is not None
        self._next = 0
        # By whether they are marked.
        self._only_streams: dict[bool, int] = {} if stream is None else {False: stream}
        self._deadline = round(workload.deadline_ms * NS_PER_MS) if workload.reset_late else None
        self._open: dict[int, int] = {}  # streams by their frames, while they may become late

    def on_time(self, now: int) -> None:
        """Send what is due, and give up what is too late."""
        while self._next < len(self._plan.sizes_bytes) and self._captured(self._next) <= now:
            self._send(self._next)
            self._next += 1
        if self._deadline is not None:
            for number in [n for n in self._open if self._captured(n) + self._deadline <= now]:
                self._connection.reset(self._open.pop(number))

    def next_timeout(self) -> float:
        """Return when `on_time` is to be called (ns), infinity for never."""
        is_over = self._next == len(self._plan.sizes_bytes)
        frame = math.inf if is_over else self._captured(self._next)
        if self._deadline is None or not self._open:
            return frame
        return min(frame, self._captured(next(iter(self._open))) + self._deadline)

    def _captured(self, number: int) -> int:
        return self._first_ns + self._plan.due_ns(number)

    def _send(self, number: int) -> None:
        connection, marked = self._connection, bool(self._marks and self._plan.keys[number])
        if self._delivery == "datagrams":
            for piece in self._pieces(number):
                connection.send_datagram(piece, marked=marked)
            return
        size = self._plan.sizes_bytes[number]
        data = HEAD.pack(number, size, self._captured(number)) + _content(size - HEAD.size)
        if self._delivery == "streams":
            stream = connection.open(unidirectional=True, marked=marked)
            connection.write(stream, data, end=True)
            if self._deadline is not None:
                self._open[number] = stream
            return
        if marked not in self._only_streams:
            self._only_streams[marked] = connection.open(unidirectional=True, marked=marked)
        is_last = number == len(self._plan.sizes_bytes) - 1
        connection.write(self._only_streams[marked], data, end=self._ends and is_last)

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


class CallClient(Client, ABC):
    """The client's end of a call, from connecting to the server's report."""

    def __init__(self, workload: Realtime) -> None:
        super().__init__()
        self.reset_frames = 0
        """Those that their sender has given up, as far as their receiver knows."""
        self._workload = workload
        self._receiving = Receiving()
        self._sending: Sending | None = None
        self._ready = 0
        self._over: float = math.inf  # when what has not come is lost; infinity: not connected
        self._answer = b""  # the report, as it comes

    def connected(self, now: int) -> None:
        """Say what is to be sent, and begin."""
        super().connected(now)
        self._ready = now
        call = self._workload.model_dump_json(exclude_defaults=True).encode()
        self._sending = self._begin(call, now)
        self._over = now + self._workload.plan.due_ns(self._workload.frames - 1) + PATIENCE_NS
        self.on_time(now)

    @abstractmethod
    def _begin(self, call: bytes, now: int) -> Sending | None:
        """Tell the server of the call, which is JSON; return what sends frames up, if any are."""

    def on_time(self, now: int) -> None:
        """Send what is due, and act at the call's end."""
        if self.ended or self._over == math.inf:
            return
        if self._sending is not None:
            self._sending.on_time(now)
        self._conclude(now)

    @abstractmethod
    def _conclude(self, now: int) -> None:
        """Ask for the report when the call is over, and end when it is there."""

    def next_timeout(self) -> float:
        """Return when `on_time` is to be called (ns), infinity for never."""
        if self.ended or self._over == math.inf:
            return math.inf
        frame = math.inf if self._sending is None else self._sending.next_timeout()
        return min(self._end_timeout(), frame)

    @abstractmethod
    def _end_timeout(self) -> float:
        """Return when to look for the call's end next (ns)."""

    @property
    def _is_complete(self) -> bool:
        return len(self._receiving.received_ns) == self._workload.frames

    def _no_report(self) -> None:
        self.failed(f"the server's report did not come within {REPORT_NS // NS_PER_S} s")

    def _end(self, first_down_ns: int, up_ns: Mapping[int, int], now: int) -> None:
        """End with all that is known of frames in both directions."""
        self.ended = True
        outcome, workload = self.outcome, self._workload
        outcome.completion_s = self._since_start(now)
        ways = {"down": (first_down_ns, self._receiving.received_ns), "up": (self._ready, up_ns)}
        for direction in workload.directions:
            way, is_up = ways[direction], direction == "up"
            outcome.rows += frame_rows(workload.plan, *way, self._start, up=is_up)

    def report(self) -> dict[str, Any]:
        """Return also how many frames were given up."""
        return {**super().report(), "reset_frames": self.reset_frames}


def _received_up(report: bytes) -> dict[int, int]:
    """Return when which frame was received (ns), of a server's report."""
    return {int(number): moment for number, moment in json.loads(report)["received_ns"].items()}


class StreamCallClient(CallClient):
    """The client over streams of QUIC."""

    def __init__(self, workload: Realtime, connection: Streams) -> None:
        super().__init__(workload)
        self._connection = connection
        self._asked: float = math.inf
        self._report: int | None = None  # the stream

    def _begin(self, call: bytes, now: int) -> Sending | None:
        stream = self._connection.open(unidirectional=False)
        self._connection.write(stream, GREETING + call, end=True)
        has_up = "up" in self._workload.directions
        return Sending(self._workload, self._connection, now) if has_up else None

    def _conclude(self, now: int) -> None:
        # Only the server knows of frames up.
        is_complete = self._workload.direction == "down" and self._is_complete
        if self._report is None and (now >= self._over or is_complete):
            self._asked = now
            self._report = self._connection.open(unidirectional=False)
            self._connection.write(self._report, REPORT, end=True)
        elif now >= self._asked + REPORT_NS:
            self._no_report()

    def _end_timeout(self) -> float:
        return self._over if self._report is None else self._asked + REPORT_NS

    def data(self, stream: int, data: bytes, now: int) -> None:
        """Take bytes of a stream that arrived."""
        if stream == self._report:
            self._answer += data
        elif stream % 4 == 3:  # the server's, of one direction (RFC 9000, section 2.1)
            self._receiving.on_stream(stream, data, now)

    def end(self, stream: int, now: int) -> None:
        """End with the server's report."""
        if stream == self._report and not self.ended:
            report = json.loads(self._answer)
            self.reset_frames = self._receiving.resets + report["resets"]
            self._end(report["first_ns"], _received_up(self._answer), now)

    def reset(self, stream: int, now: int) -> None:  # noqa: ARG002
        """Note that the server gave a frame up."""
        self._receiving.on_reset(stream)

    def datagram(self, data: bytes, now: int) -> None:
        """Take a piece of a frame."""
        self._receiving.on_datagram(data, now)


class RequestCallClient(CallClient):
    """The client over HTTP: all frames of a direction on one stream."""

    def __init__(self, workload: Realtime, connection: Requests) -> None:
        super().__init__(workload)
        self._connection = connection
        self._down: int | None = None  # the streams
        self._up: int | None = None
        self._is_over = False
        self._reported: dict[int, int] | None = None

    def _begin(self, call: bytes, now: int) -> Sending | None:
        workload = self._workload
        if "down" in workload.directions:
            self._down = self._connection.request("POST", DOWN, call)
        if "up" not in workload.directions:
            return None
        length = sum(workload.plan.sizes_bytes)
        self._up = self._connection.request("POST", UP, length=length)
        return Sending(workload, self._connection, now, self._up)

    def _conclude(self, now: int) -> None:
        self._is_over = now >= self._over
        is_down = self._down is None or self._is_complete or self._is_over
        if is_down and (self._up is None or self._reported is not None):
            self._end(self._receiving.first_ns or self._ready, self._reported or {}, now)
        elif now >= self._over + REPORT_NS:
            self._no_report()

    def _end_timeout(self) -> float:
        return self._over + (REPORT_NS if self._is_over else 0)

    def data(self, stream: int, data: bytes, now: int) -> None:
        """Take bytes of frames, or of the report."""
        if stream == self._down:
            self._receiving.on_stream(stream, data, now)
        else:
            self._answer += data

    def end(self, stream: int, now: int) -> None:  # noqa: ARG002
        """Take the report of frames up."""
        if stream == self._up:
            self._reported = _received_up(self._answer)


class CallServer(Server):
    """The server's end: frames down when they are due."""

    def __init__(self) -> None:
        self._receiving = Receiving()
        self._sending: Sending | None = None
        self._bodies: dict[int, bytes] = {}  # of requests, as they come

    def on_time(self, now: int) -> None:
        """Send the frames that are due."""
        if self._sending is not None:
            self._sending.on_time(now)

    def next_timeout(self) -> float:
        """Return when `on_time` is to be called (ns), infinity for never."""
        return math.inf if self._sending is None else self._sending.next_timeout()


class StreamCallServer(CallServer):
    """The server over streams of QUIC: it does what the client says, and reports when asked to."""

    def __init__(self, connection: Streams) -> None:
        super().__init__()
        self._connection = connection
        self._first_ns: int | None = None

    def data(self, stream: int, data: bytes, now: int) -> None:
        """Take bytes of a stream that arrived; frames may overtake the greeting."""
        if stream % 4:  # of one direction (RFC 9000, section 2.1)
            self._receiving.on_stream(stream, data, now)
        else:
            self._bodies[stream] = self._bodies.get(stream, b"") + data

    def end(self, stream: int, now: int) -> None:
        """Begin the call, or report."""
        if stream % 4:
            return
        body = self._bodies.pop(stream, b"")
        answer = self._report() if body == REPORT else self._begin(body, now)
        self._connection.write(stream, answer, end=True)

    def reset(self, stream: int, now: int) -> None:  # noqa: ARG002
        """Note that the client gave a frame up."""
        self._receiving.on_reset(stream)

    def datagram(self, data: bytes, now: int) -> None:
        """Take a piece of a frame."""
        self._receiving.on_datagram(data, now)

    def _begin(self, greeting: bytes, now: int) -> bytes:
        self._first_ns = now
        workload = _call(greeting[len(GREETING) :])
        if "down" in workload.directions:
            self._sending = Sending(workload, self._connection, now)
            self._sending.on_time(now)
        return b""

    def _report(self) -> bytes:
        report = {
            "first_ns": self._first_ns,
            "received_ns": self._receiving.received_ns,
            "resets": self._receiving.resets,
        }
        return json.dumps(report).encode()


class RequestCallServer(CallServer):
    """The server's end over HTTP."""

    def __init__(self, connection: Answers) -> None:
        super().__init__()
        self._connection = connection
        self._up: set[int] = set()  # streams with frames

    def request(self, stream: int, request: Request, now: int) -> None:  # noqa: ARG002
        """Note a request of the call, and refuse any other one."""
        if request.method == "POST" and request.path == UP:
            self._up.add(stream)
        elif request.method == "POST" and request.path == DOWN:
            self._bodies[stream] = b""
        else:
            self._connection.answer(stream, HTTPStatus.NOT_FOUND)

    def data(self, stream: int, data: bytes, now: int) -> None:
        """Take frames, or the client's words."""
        if stream in self._up:
            self._receiving.on_stream(stream, data, now)
        elif stream in self._bodies:
            self._bodies[stream] += data

    def end(self, stream: int, now: int) -> None:
        """Report the frames that came up, or begin to send some down."""
        if stream in self._up:
            report = json.dumps({"received_ns": self._receiving.received_ns}).encode()
            self._connection.begin(stream)
            self._connection.write(stream, report, end=True)
        elif stream in self._bodies:
            self._send_down(stream, self._bodies.pop(stream), now)

    def reset(self, stream: int, now: int) -> None:  # noqa: ARG002
        """Send no more, as the client has gone."""
        self._bodies.pop(stream, None)
        if stream not in self._up:
            self._sending = None

    def _send_down(self, stream: int, body: bytes, now: int) -> None:
        try:
            workload = _call(body)
        except (ValueError, SettingsError):
            workload = None
        if workload is None or workload.delivery != "stream":
            self._connection.answer(stream, HTTPStatus.BAD_REQUEST)
            return
        self._connection.begin(stream)
        self._sending = Sending(workload, self._connection, now, stream)
        self._sending.on_time(now)


def _call(words: bytes) -> Realtime:
    """Return the call of which a client tells; ValueError or SettingsError if it is none."""
    from minitopo_dc.workloads.realtime import Realtime  # noqa: PLC0415 (it gives these ends)

    return Realtime.check(json.loads(words), "call")


def frame_rows(
    plan: Frames, first_ns: int, received_ns: Mapping[int, int], start_ns: int, *, up: bool
) -> list[Row]:
    """Return one row for each frame of one direction; times in s since `start_ns`.

    Args:
        plan: the frames.
        first_ns: when the first one was captured.
        received_ns: when which frame was complete.
        start_ns: when the client began to connect.
        up: whether the client sent them.
    """
    rows: list[Row] = []
    for number, size in enumerate(plan.sizes_bytes):
        captured, received = first_ns + plan.due_ns(number), received_ns.get(number)
        rows.append(
            {
                "frame": number + 1,
                "up": int(up),
                "key": int(plan.keys[number]),
                "size_bytes": size,
                "captured_s": (captured - start_ns) / NS_PER_S,
                "received_s": None if received is None else (received - start_ns) / NS_PER_S,
                "delay_ms": None if received is None else (received - captured) / 1e6,
            }
        )
    return rows
