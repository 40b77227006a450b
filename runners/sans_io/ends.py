"""The client's and the server's end of a flow over a QUIC stack, with any workload."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from minitopo_dc.fields import PathPlan
from minitopo_dc.quic.connection import Connection
from minitopo_dc.quic.connection import Received as Datagram
from minitopo_dc.quic.events import (
    Address,
    Closed,
    Confirmed,
    DatagramFrame,
    Event,
    PathDeleted,
    PathUsable,
    Ready,
    StreamData,
    StreamReset,
)
from minitopo_dc.runners.sans_io.path_manager import PathKeeper, PathLog
from minitopo_dc.runners.sans_io.session import MarkedSession, Pipe, Session
from minitopo_dc.runners.virtual import NO_CONGESTION, Congestion
from minitopo_dc.workloads.exchange import Client, Request, Server, WrongAnswer
from minitopo_dc.workloads.path_reports import PathSample

LONGEST_LINE = 200
"""Bytes of a request's line; ours have at most 30."""
BAD_REQUEST = 1
"""The error code with which a server closes the connection; HTTP/0.9 has no status."""


class ClientSession(Session):
    """A client: it connects, keeps its paths, does what its workload asks for, and closes."""

    def __init__(
        self,
        connection: Connection,
        plan: PathPlan,
        local: Sequence[Address],
        server: Address,
        begin: int,
        *,
        make: Callable[[Pipe], Client],
        marked: MarkedSession | None = None,
    ) -> None:
        """Take the client's address of each leg, time zero of the plan (ns), and what it does.

        A second connection begins behind the first one.
        """
        super().__init__(connection)
        self.marked = marked
        self._pipe = self._make_pipe(marked)
        self.client = make(self._pipe)
        self.eager = self.client.eager
        self._server = server
        self._closing = False
        self._paths = PathKeeper(connection, plan, local, server, begin)

    def start(self, now: int) -> None:
        """Begin to connect; `drive` gives the first datagram."""
        self.client.connecting(now)
        self._paths.start(now)
        self._set_due()

    def _timeout(self) -> float:
        if self._closing:
            return math.inf
        own = self.client.next_timeout()
        return min(own if own == math.inf else math.ceil(own), self._paths.next_timeout())

    def _on_time(self, now: int) -> None:
        if self._closing:
            return
        if self._paths.next_timeout() <= now:
            self._paths.keep(now)
        if not self.eager and self.client.next_timeout() <= now:
            self.handle_all(now, all_data=True)
        self._act(now)

    def _act(self, now: int) -> None:
        if self._closing:
            return
        self.client.on_time(now)
        if self.client.ended:
            if self.marked is not None and not self.marked.ended:
                self.marked.connection.close(now)
            self._closing = True
            self.connection.close(now)

    def _on_event(self, event: Event, now: int) -> None:
        if isinstance(event, Closed):
            self._closing = True
            self.client.failed(event.reason)
        if self._closing:
            return
        if isinstance(event, Ready):
            if self.marked is None:
                self.client.connected(now)
                self._act(now)
            else:
                self.marked.connect(self._server, now)
            self._paths.on_complete()
        elif isinstance(event, Confirmed):
            self._paths.on_confirmed(now)
        elif isinstance(event, StreamData | StreamReset | DatagramFrame):
            self._tell(event, now)
        elif isinstance(event, PathDeleted):
            self._paths.on_deleted(event.statistics, now)
        elif isinstance(event, PathUsable):
            self._paths.keep(now)

    def _tell(self, event: Event, now: int, *, marked: bool = False) -> None:
        try:
            self._pipe.tell(self.client, event, now, marked=marked)
        except WrongAnswer as wrong:
            self.client.failed(str(wrong))
        self._act(now)

    def _is_marked(self, datagram: Datagram) -> bool:
        return self.marked is not None and datagram[2] == self.marked.local

    def _on_marked_event(self, event: Event, now: int) -> None:
        if self._closing:
            return
        if isinstance(event, Ready):
            self.client.connected(now)
        elif isinstance(event, Closed):
            self.client.failed(f"connection of key frames: {event.reason}")
        self._tell(event, now, marked=True)


class ServerSession(Session):
    """A server of one connection: it answers requests and counts what each path carried."""

    def __init__(
        self,
        connection: Connection,
        clients: Sequence[str],
        begin: int,
        *,
        make: Callable[[Pipe], Server],
        bare: bool,
        sample_ns: int | None = None,
        marked: MarkedSession | None = None,
    ) -> None:
        """Take the client's address of each leg, the samples' time zero and interval (ns).

        What it does is over requests, or over `bare` streams. The client of `marked` is the second
        one that comes.
        """
        super().__init__(connection)
        self.marked = marked
        self._pipe = self._make_pipe(marked)
        self._bare = bare
        self._server = make(self._pipe)
        self.eager = self._server.eager
        self._first_client: Address | None = None
        self.paths = PathLog(clients, begin)
        self._interval = sample_ns
        self._next_sample = begin if sample_ns else math.inf
        self._samples: list[PathSample] = []
        self._refused = False
        self._heads: dict[int, bytes | None] = {}  # of requests: None when the line is complete

    def take_samples(self) -> list[PathSample]:
        """Return the samples of paths since the last call."""
        taken, self._samples = self._samples, []
        return taken

    def finish(self, now: int) -> None:
        """Count the paths as they are, once more."""
        self._samples += self.paths.sample(self.connection.paths(), now)

    def describe(self) -> dict[str, Any]:
        """Return what was negotiated, the stack's version and the congestion control of the data.

        It is empty if there was no connection.
        """
        if self.ready is None:
            return {}
        stack = self.connection.stack
        return {
            stack.name: stack.version,
            "quic_version": self.ready.version,
            "multipath": self.ready.multipath,
            "congestion_control": self.ready.congestion_control,
        }

    def congestion(self) -> Congestion:
        """Return the congestion of the first path; a stack tells no threshold."""
        path = next(iter(self.connection.paths()), None)
        if path is None:
            return NO_CONGESTION
        rtt = "" if path.smoothed_rtt_ms is None else f"{path.smoothed_rtt_ms:.3f}"
        return Congestion(path.cwnd_bytes, path.in_flight_bytes, "", rtt)

    def _timeout(self) -> float:
        if self.ended or self.ready is None:
            return math.inf
        return min(self._server.next_timeout(), self._next_sample)

    def _on_time(self, now: int) -> None:
        self._server.on_time(now)
        if now >= self._next_sample:
            assert self._interval is not None
            self.finish(now)
            self._next_sample += self._interval * (1 + (now - self._next_sample) // self._interval)

    def _on_event(self, event: Event, now: int) -> None:
        if isinstance(event, StreamData) and not self._bare:
            self._on_request(event, now)
        elif isinstance(event, StreamData | StreamReset | DatagramFrame):
            if isinstance(event, StreamReset) and not self._bare:
                self.connection.reset_stream(event.stream_id)
            self._pipe.tell(self._server, event, now)
        elif isinstance(event, PathDeleted):
            self._samples += self.paths.deleted(event.statistics, now)
        elif isinstance(event, Ready) or (isinstance(event, PathUsable) and event.usable):
            self.finish(now)

    def _on_request(self, event: StreamData, now: int) -> None:
        """Take the line of a request, or what comes behind it."""
        stream, data = event.stream_id, event.data
        head = self._heads.get(stream, b"")
        if head is not None:
            line, has_end, data = (head + data).partition(b"\r\n")
            if not has_end and len(line) <= LONGEST_LINE and not event.end_stream:
                self._heads[stream] = line
                return
            self._heads[stream] = None
            method, _, path = line.decode("ascii", "replace").partition(" ")
            self._server.request(stream, Request(method, path), now)
        self._server.data(stream, data, now)
        if event.end_stream:
            del self._heads[stream]
            self._server.end(stream, now)
        if self._pipe.refused and not self._refused:
            self._refused = True
            self.connection.close(now, BAD_REQUEST, "bad request")

    def _is_marked(self, datagram: Datagram) -> bool:
        source = datagram[1]
        self._first_client = self._first_client or source
        if source == self._first_client:
            return False
        assert self.marked is not None
        self.marked.begin(source)
        return True

    def _on_marked_event(self, event: Event, now: int) -> None:
        self._pipe.tell(self._server, event, now, marked=True)
