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
    DatagramFrame,
    Event,
    PathAvailable,
    PathDeleted,
    PathSuspended,
    Ready,
    StreamData,
    StreamReset,
)
from minitopo_dc.picoquic.path import Address
from minitopo_dc.runners.payload.call import CallOutcome
from minitopo_dc.runners.payload.requests import RequestsOutcome
from minitopo_dc.runners.payload.watching import WatchingOutcome
from minitopo_dc.runners.picoquic.paths import PathKeeper
from minitopo_dc.settings import PathPlan
from minitopo_dc.units import NS_PER_S

ALPN = "hq-interop"
"""The name that interoperability tests of QUIC use for HTTP/0.9."""


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

    eager: bool = False
    """Whether data is handled as soon as it is there; else not before there is some of it."""

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
        if connection.has_events or self.eager:
            self._handle_all(now, all_data=self.eager)
        sent = connection.datagrams(now)
        while connection.has_events:
            self._handle_all(now)
            sent += connection.datagrams(now)
        return sent

    @property
    def due(self) -> int | None:
        """When `drive` has more to do than to send (ns), whatever arrives; None: never."""
        if self.eager:
            return 0
        return None if self._due == math.inf else int(self._due)

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

    outcome: DownloadOutcome | RequestsOutcome | WatchingOutcome | CallOutcome

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
        elif isinstance(event, DatagramFrame):
            self._on_datagram(event.data, now)
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

    def _on_datagram(self, data: bytes, now: int) -> None:
        """Bytes came in a DATAGRAM frame."""

    def _on_closed(self) -> None:
        """The connection is over: nothing is to be sent, and time does not count any more."""

    @abstractmethod
    def _workload_timeout(self) -> int | None:
        """When `_on_workload_time` is to be called next."""

    @abstractmethod
    def _on_workload_time(self, now: int) -> None:
        """Do what is due of the workload."""
