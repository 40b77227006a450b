"""Both ends of a flow over picoquic, sans-IO: what the real and the virtual clock drive alike.

The application is HTTP/0.9 over QUIC (ALPN `hq-interop`): `GET /bytes/N` on a stream is answered by
N bytes and its end. Requests with a body, which HTTP/0.9 lacks, are `POST /respond/N` and the body
behind the line. Times are int ns.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from minitopo_dc.picoquic.connection import Connection, Datagram
from minitopo_dc.picoquic.events import (
    Closed,
    Event,
    PathAvailable,
    PathDeleted,
    PathSuspended,
    Ready,
    StreamData,
    StreamReset,
)
from minitopo_dc.picoquic.path import Address
from minitopo_dc.runners.content import (
    BLOCK,
    Received,
    blocks,
    content_sha256,
    requested_size,
    response_size,
)
from minitopo_dc.runners.picoquic_paths import PathKeeper, PathLog
from minitopo_dc.runners.requests import RequestPlan, Requests, RequestsOutcome, WrongAnswer
from minitopo_dc.settings import PathPlan
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads.paths import PathSample

ALPN = "hq-interop"
"""The name that interoperability tests of QUIC use for HTTP/0.9."""
LONGEST_LINE = 200
"""Bytes of a request's line; ours have at most 30."""
BAD_REQUEST = 1
"""The error code with which a server closes the connection; HTTP/0.9 has no status."""


@dataclass
class DownloadOutcome:
    """What the client saw; times in seconds since it began to connect."""

    bytes_received: int = 0
    sha256: str = ""
    completion_s: float | None = None
    stopped_s: float | None = None  # in place of completion_s: the duration was over before
    handshake_s: float | None = None
    first_byte_s: float | None = None
    receive_buffer_bytes: int | None = None
    socket_drops: int | None = None
    error: str | None = None


class Session(ABC):
    """One end: a connection and what is done on it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.ended = False
        """Whether the connection is over, and nothing is to be sent any more."""
        self.ready: Ready | None = None
        """Once the handshake is complete: version of QUIC, multipath or not."""
        self._due: float = 0
        """When `_on_time` is to be called next (ns)."""

    def receive(self, datagram: bytes, source: Address, destination: Address, now: int) -> None:
        """A datagram arrived; `drive` acts on it."""
        self.connection.receive(datagram, source, destination, now)

    def drive(self, now: int) -> list[Datagram]:
        """Act on what arrived and on what is due; what is to be sent now."""
        connection = self.connection
        if now >= self._due:
            self._on_time(now)
            self._set_due()
        if connection.has_events:
            self._handle_all(now)
        sent = connection.datagrams(now)
        while connection.has_events:
            self._handle_all(now)
            sent += connection.datagrams(now)
        return sent

    def next_timeout(self) -> int | None:
        """When to call `drive` next (ns) if nothing arrives before; None: not at all."""
        wake, due = self.connection.next_timeout(), self._due
        if wake is None or due < wake:
            return None if due == math.inf else int(due)
        return wake

    def _handle_all(self, now: int, *, all_data: bool = False) -> None:
        for event in self.connection.events(all_data=all_data):
            if isinstance(event, Ready):
                self.ready = event
            elif isinstance(event, Closed):
                self.ended = True
            self._on_event(event, now)
        self._set_due()

    def _set_due(self) -> None:
        due = self._timeout()
        self._due = math.inf if due is None else due

    def _timeout(self) -> int | None:
        """When `_on_time` is to be called next."""
        return None

    @abstractmethod
    def _on_time(self, now: int) -> None:
        """Do what is due."""

    @abstractmethod
    def _on_event(self, event: Event, now: int) -> None:
        """Something happened."""


class ClientSession(Session):
    """A client: it connects, keeps its paths, does what its workload asks for, and closes."""

    outcome: DownloadOutcome | RequestsOutcome

    def __init__(
        self,
        connection: Connection,
        plan: PathPlan,
        local: Sequence[Address],
        server: Address,
        begin: int,
    ) -> None:
        """Take the client's address of each leg, and time zero of the plan (ns)."""
        super().__init__(connection)
        self._server = server
        self._start = 0
        self._closing = False
        self._paths = PathKeeper(connection, plan, local, server, begin)

    def start(self, now: int) -> None:
        """Begin to connect; `drive` gives the first datagram."""
        self._start = now
        self._on_start(now)
        self.connection.connect(self._paths.first, self._server, now)

    def _timeout(self) -> int | None:
        times = [
            time
            for time in (self._workload_timeout(), self._paths.next_timeout())
            if time is not None
        ]
        return None if self._closing else min(times, default=None)

    def _on_time(self, now: int) -> None:
        if self._closing:
            return
        due = self._paths.next_timeout()
        if due is not None and due <= now:
            self._paths.keep(now)
        self._on_workload_time(now)

    def _on_event(self, event: Event, now: int) -> None:
        if isinstance(event, Ready):
            self._on_ready(now)
            self._paths.on_ready(now)
        elif isinstance(event, StreamData | StreamReset):
            if not self._closing:
                self._on_stream(event, now)
        elif isinstance(event, PathDeleted) and not self._closing:
            self._paths.on_deleted(event.statistics, now)
        elif isinstance(event, PathAvailable | PathSuspended) and not self._closing:
            self._paths.keep(now)
        elif isinstance(event, Closed):
            if not self._closing:
                self._closing = True
                self.outcome.error = event.reason
            self._on_closed()

    def _finish(self, now: int, error: str | None = None) -> None:
        """What was asked for is there, or never will be."""
        self._closing = True
        self.outcome.error = error
        self.connection.close(now)

    def _since_start(self, now: int) -> float:
        return (now - self._start) / NS_PER_S

    @abstractmethod
    def _on_start(self, now: int) -> None:
        """The connection is about to begin."""

    @abstractmethod
    def _on_ready(self, now: int) -> None:
        """Requests may be sent."""

    @abstractmethod
    def _on_stream(self, event: StreamData | StreamReset, now: int) -> None:
        """Something of a stream arrived."""

    def _on_closed(self) -> None:
        """The connection is over: nothing is to be sent, and time does not count any more."""

    @abstractmethod
    def _workload_timeout(self) -> int | None:
        """When `_on_workload_time` is to be called next."""

    @abstractmethod
    def _on_workload_time(self, now: int) -> None:
        """Do what is due of the workload."""


class DownloadSession(ClientSession):
    """A client that downloads one resource; from its deadline on nothing counts any more."""

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
        """Count what has arrived: the run is over before the connection is."""
        self._handle_all(now, all_data=True)
        self._on_closed()


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
        """What has become of the requests until now."""
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


class ServerSession(Session):
    """A server of one connection: it answers requests and counts what each path carried."""

    def __init__(
        self,
        connection: Connection,
        clients: Sequence[str],
        begin: int,
        sample_ns: int | None = None,
    ) -> None:
        """Take the client's address of each leg, time zero of the samples, and their interval."""
        super().__init__(connection)
        self.paths = PathLog(clients, begin)
        self._interval = sample_ns
        self._next_sample = begin if sample_ns else None
        self._samples: list[PathSample] = []
        self._requests: dict[int, _Request] = {}

    def take_samples(self) -> list[PathSample]:
        """The samples of paths since the last call."""
        taken, self._samples = self._samples, []
        return taken

    def finish(self, now: int) -> None:
        """Count the paths as they are, once more."""
        self._samples += self.paths.sample(self.connection.paths(), now)

    def _timeout(self) -> int | None:
        return None if self.ended or self.ready is None else self._next_sample

    def _on_time(self, now: int) -> None:
        if self._next_sample is not None and now >= self._next_sample:
            assert self._interval is not None
            self._samples += self.paths.sample(self.connection.paths(), now)
            self._next_sample += self._interval * (1 + (now - self._next_sample) // self._interval)

    def _on_event(self, event: Event, now: int) -> None:
        if isinstance(event, StreamData):
            self._on_stream(event, now)
        elif isinstance(event, PathDeleted):
            self._samples += self.paths.deleted(event.statistics, now)
        elif isinstance(event, Ready | PathAvailable):
            self._samples += self.paths.sample(self.connection.paths(), now)

    def _on_stream(self, event: StreamData, now: int) -> None:
        request = self._requests.setdefault(event.stream_id, _Request())
        request.take(event.data)
        if not event.end_stream:
            return
        del self._requests[event.stream_id]
        size = request.answer_bytes()
        if size is None:
            self.connection.close(now, BAD_REQUEST, "bad request")
        else:
            self.connection.write_repeated(event.stream_id, BLOCK, size)


class _Request:
    """A line and perhaps a body, as they arrive."""

    def __init__(self) -> None:
        self._line: bytes | None = None
        self._head = b""
        self._body = Received()

    def take(self, data: bytes) -> None:
        """The next piece; a line that is too long is none."""
        if self._line is not None:
            self._body.take(data)
            return
        self._head += data
        line, end, rest = self._head.partition(b"\r\n")
        if end or len(self._head) > LONGEST_LINE:
            self._line = line
            self._body.take(rest)

    def answer_bytes(self) -> int | None:
        """How many bytes are asked for; None: it is no request, or its body is not the content."""
        method, _, path = (self._line or b"").decode("ascii", "replace").partition(" ")
        if method == "GET":
            return requested_size(path)
        if method == "POST" and self._body.is_content(self._body.size_bytes):
            return response_size(path)
        return None
