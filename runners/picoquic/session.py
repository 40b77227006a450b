"""Both ends of a flow over picoquic, which the real and the virtual clock drive alike.

The application is HTTP/0.9 over QUIC (ALPN `hq-interop`): `GET /bytes/N` on a stream is answered by
N bytes and its end. Requests with a body, which HTTP/0.9 lacks, are `POST /respond/N` and the body
behind the line. Times are int ns.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minitopo_dc.picoquic.connection import Connection, Datagram, Received
from minitopo_dc.picoquic.events import (
    Address,
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
from minitopo_dc.runners.payload.call import CallOutcome
from minitopo_dc.runners.payload.requests import RequestsOutcome
from minitopo_dc.runners.payload.watching import WatchingOutcome
from minitopo_dc.runners.picoquic.path_manager import PathKeeper
from minitopo_dc.settings import PathPlan
from minitopo_dc.units import NS_PER_S

if TYPE_CHECKING:
    from minitopo_dc.runners.picoquic.key_frames import KeyFrames

ALPN = "hq-interop"
"""The name that interoperability tests of QUIC use for HTTP/0.9."""


@dataclass
class DownloadOutcome:
    """The client's results; times in seconds since it began to connect."""

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
    """One end of a flow: a connection and what is done on it."""

    eager: bool = False
    """Whether data is handled as soon as it is there; else not before there is some of it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.keys: KeyFrames | None = None
        """This end of a call's second connection, which is driven with the first one."""
        self.ended = False
        """Whether the connection is over, and nothing is to be sent any more."""
        self.ready: Ready | None = None
        """Once the handshake is complete: version of QUIC, multipath or not."""
        self._due: float = 0
        """When `_on_time` is to be called next (ns)."""

    def receive_all(self, datagrams: Iterable[Received], now: int) -> None:
        """Take datagrams that arrived, in this order; `drive` acts on them."""
        if self.keys is None:
            self.connection.receive_all(datagrams, now)
            return
        for datagram in datagrams:
            to = self.keys if self._is_of_keys(datagram) else self
            to.connection.receive_all([datagram], now)

    def _is_of_keys(self, datagram: Received) -> bool:
        """Return whether a datagram that arrived is of the second connection."""
        raise NotImplementedError

    def drive(self, now: int) -> list[Datagram]:
        """Act on what arrived and on what is due; return what is to be sent now."""
        sent = self._drive(now)
        if self.keys is not None:
            for _ in range(2):  # what comes on each may have something sent on the other
                sent += self.keys.drive(now)
                for event in self.keys.take_news():
                    self._on_key_event(event, now)
                self._set_due()
                sent += self._drive(now)
        return sent

    def _drive(self, now: int) -> list[Datagram]:
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
        """Return when `drive` has more to do than to send (ns) whatever arrives, None for never."""
        if self.eager:
            return 0
        return None if self._due == math.inf else int(self._due)

    def next_timeout(self) -> int | None:
        """Return when to call `drive` next (ns) if nothing arrives before, None for never."""
        wakes = [self.connection.next_timeout()]
        if self.keys is not None:
            wakes.append(self.keys.next_timeout())
        first = min(self._due, *(math.inf if wake is None else wake for wake in wakes))
        return None if first == math.inf else int(first)

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
        """Return when `_on_time` is to be called next (ns), None for never."""
        return None

    @abstractmethod
    def _on_time(self, now: int) -> None:
        """Do what is due at `now` (ns)."""

    @abstractmethod
    def _on_event(self, event: Event, now: int) -> None:
        """Act on an event of the connection."""

    def _on_key_event(self, event: Event, now: int) -> None:
        """Act on an event of the second connection."""
        raise NotImplementedError


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
        """Close the connection, as the work is done or has failed."""
        self._closing = True
        self.outcome.error = error
        self.connection.close(now)

    def _since_start(self, now: int) -> float:
        return (now - self._start) / NS_PER_S

    @abstractmethod
    def _on_start(self, now: int) -> None:
        """Note that the connection is about to begin."""

    @abstractmethod
    def _on_ready(self, now: int) -> None:
        """Send requests, as the connection is ready."""

    @abstractmethod
    def _on_stream(self, event: StreamData | StreamReset, now: int) -> None:
        """Act on an event of a stream."""

    def _on_datagram(self, data: bytes, now: int) -> None:
        """Take bytes that came in a DATAGRAM frame."""

    def _on_closed(self) -> None:
        """Note that the connection is over, so that nothing is sent and time does not count."""

    @abstractmethod
    def _workload_timeout(self) -> int | None:
        """Return when `_on_workload_time` is to be called next (ns)."""

    @abstractmethod
    def _on_workload_time(self, now: int) -> None:
        """Do what is due of the workload."""
