"""One end of a flow over a QUIC stack, which the real and the virtual clock drive alike.

The application is HTTP/0.9 over QUIC (ALPN `hq-interop`): `GET /bytes/N` on a stream is answered by
N bytes and its end. Requests with a body, which HTTP/0.9 lacks, are `POST /respond/N` and the body
behind the line. Times are int ns.
"""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import ClassVar

from minitopo_dc.quic.connection import Connection, Datagram, Received, StackError
from minitopo_dc.quic.events import (
    Address,
    Closed,
    DatagramFrame,
    Event,
    Ready,
    StreamData,
    StreamReset,
)
from minitopo_dc.workloads.exchange import BLOCK, MARKED, Content, End

GIVEN_UP = 1
"""The error code of a stream that is given up; HTTP/0.9 has none."""


class Pipe:
    """A connection as the ends of workloads see it: requests, answers, streams."""

    def __init__(self, connection: Connection, marked: Connection | None = None) -> None:
        """Take the connection, and that of what is marked if there is one."""
        self._connection = connection
        self._marked = marked
        self.refused = False
        """Whether a request was answered with a status, which HTTP/0.9 has not."""

    def request(
        self, method: str, path: str, body: bytes | None = None, *, length: int | None = None
    ) -> int:
        """Ask for something; return the number of its stream."""
        stream = self._connection.open_stream()
        line = f"{method} {path}\r\n".encode()
        self._connection.write(stream, line + (body or b""), end_stream=length is None)
        return stream

    def cancel(self, stream: int) -> None:
        """Tell the server that no more of an answer is wanted."""
        self._connection.stop_sending(stream, GIVEN_UP)

    def answer(self, stream: int, answer: Content | HTTPStatus) -> None:
        """Answer a request with content; a status ends the connection."""
        if isinstance(answer, HTTPStatus):
            self.refused = True
        elif answer.body is None:
            self._connection.write_repeated(stream, BLOCK, answer.size_bytes)
        else:
            self._connection.write(stream, b"".join(answer.pieces), end_stream=True)

    def begin(self, stream: int) -> None:
        """Do nothing: an answer of HTTP/0.9 begins with its content."""

    def open(self, *, unidirectional: bool, marked: bool = False) -> int:
        """Return a new stream of this end, which exists when something is written on it."""
        offset = MARKED if marked else 0
        connection, _ = self._place(offset)
        return offset + connection.open_stream(unidirectional=unidirectional)

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send bytes on a stream."""
        connection, number = self._place(stream)
        connection.write(number, data, end_stream=end)

    def reset(self, stream: int) -> None:
        """Give a stream up; a stack may refuse it when all was acknowledged."""
        connection, number = self._place(stream)
        with contextlib.suppress(StackError):
            connection.reset_stream(number, GIVEN_UP)

    def send_datagram(self, data: bytes, *, marked: bool = False) -> None:
        """Send bytes in a DATAGRAM frame."""
        connection, _ = self._place(MARKED if marked else 0)
        connection.send_datagram(data)

    def tell(self, end: End, event: Event, now: int, *, marked: bool = False) -> None:
        """Tell an end of a workload what came on one of its connections."""
        offset = MARKED if marked else 0
        if isinstance(event, StreamData):
            end.data(offset + event.stream_id, event.data, now)
            if event.end_stream:
                end.end(offset + event.stream_id, now)
        elif isinstance(event, StreamReset):
            end.reset(offset + event.stream_id, now)
        elif isinstance(event, DatagramFrame):
            end.datagram(event.data, now)

    def _place(self, stream: int) -> tuple[Connection, int]:
        if stream < MARKED:
            return self._connection, stream
        assert self._marked is not None  # the workload asks for it
        return self._marked, stream - MARKED


class Session(ABC):
    """One end of a flow: a connection and what is done on it."""

    eager: bool = False
    """Whether data is handled as soon as it is there; else not before there is some of it."""
    margin_ns: ClassVar[int] = 0
    """How much later than due `_on_time` is called, unless something arrives before."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.marked: MarkedSession | None = None
        """This end of the second connection, which is driven with the first one."""
        self.ended = False
        """Whether the connection is over, and nothing is to be sent any more."""
        self.ready: Ready | None = None
        """Once the handshake is complete: version of QUIC, multipath or not."""
        self._due: float = 0
        """When `_on_time` is to be called next (ns)."""

    @property
    def connections(self) -> list[Connection]:
        """Return its one or two connections, which are to be freed at the end."""
        sessions = (self,) if self.marked is None else (self, self.marked)
        return [session.connection for session in sessions]

    def receive_all(self, datagrams: Iterable[Received], now: int) -> None:
        """Take datagrams that arrived, in this order; `drive` acts on them."""
        if self.marked is None:
            self.connection.receive_all(datagrams, now)
            return
        for datagram in datagrams:
            to = self.marked if self._is_marked(datagram) else self
            to.connection.receive_all([datagram], now)

    def _is_marked(self, datagram: Received) -> bool:
        """Return whether a datagram that arrived is of the second connection."""
        raise NotImplementedError

    def drive(self, now: int) -> list[Datagram]:
        """Act on what arrived and on what is due; return what is to be sent now."""
        sent = self._drive(now)
        if self.marked is not None:
            for _ in range(2):  # what comes on each may have something sent on the other
                sent += self.marked.drive(now)
                for event in self.marked.take_news():
                    self._on_marked_event(event, now)
                self._set_due()
                sent += self._drive(now)
        return sent

    def _drive(self, now: int) -> list[Datagram]:
        connection = self.connection
        if now >= self._due:
            self._on_time(now)
            self._set_due()
        if connection.has_events or self.eager:
            self.handle_all(now, all_data=self.eager)
        sent = self._send(now)
        while connection.has_events:
            self.handle_all(now)
            sent += self._send(now)
        return sent

    def _send(self, now: int) -> list[Datagram]:
        """Return what the connection has to send now."""
        return self.connection.datagrams(now)

    def _make_pipe(self, marked: MarkedSession | None) -> Pipe:
        """Return its connection as an end of a workload sees it, with that of what is marked."""
        return Pipe(self.connection, None if marked is None else marked.connection)

    @property
    def due(self) -> int | None:
        """Return when `drive` has more to do than to send (ns) whatever arrives, None for never."""
        if self.eager:
            return 0
        return None if self._due == math.inf else int(self._due)

    def next_timeout(self) -> int | None:
        """Return when to call `drive` next (ns) if nothing arrives before, None for never."""
        wakes = [self.connection.next_timeout()]
        if self.marked is not None:
            wakes.append(self.marked.next_timeout())
        first = min(
            self._due + self.margin_ns, *(math.inf if wake is None else wake for wake in wakes)
        )
        return None if first == math.inf else int(first)

    def handle_all(self, now: int, *, all_data: bool = False) -> None:
        """Act on what has happened; `all_data`: also on the little data that has arrived."""
        for event in self.connection.events(all_data=all_data):
            if isinstance(event, Ready):
                self.ready = event
            elif isinstance(event, Closed):
                self.ended = True
            self._on_event(event, now)
        self._set_due()

    def _set_due(self) -> None:
        self._due = self._timeout()

    def _timeout(self) -> float:
        """Return when `_on_time` is to be called next (ns), infinity for never."""
        return math.inf

    @abstractmethod
    def _on_time(self, now: int) -> None:
        """Do what is due at `now` (ns)."""

    @abstractmethod
    def _on_event(self, event: Event, now: int) -> None:
        """Act on an event of the connection."""

    def _on_marked_event(self, event: Event, now: int) -> None:
        """Act on an event of the second connection."""
        raise NotImplementedError


class MarkedSession(Session):
    """One end of the second connection of a flow, `Session.marked` of the first one's end."""

    eager = True

    def __init__(
        self,
        connection: Connection,
        local: Address | None = None,
        on_client: Callable[[Address], None] = lambda _client: None,
    ) -> None:
        """Take a client's own address, or what a server calls when it knows that of its client."""
        super().__init__(connection)
        self.local = local
        self._has_begun = False  # else there is nothing to drive
        self._news: list[Event] = []  # what happened and is not yet told
        self._on_client = on_client

    def connect(self, server: Address, now: int) -> None:
        """Begin to connect; `drive` gives the first datagram."""
        assert self.local is not None
        self._has_begun = True
        self.connection.connect(self.local, server, now)

    def begin(self, client: Address) -> None:
        """Note that something came from a client."""
        if not self._has_begun:
            self._has_begun = True
            self._on_client(client)

    def drive(self, now: int) -> list[Datagram]:
        """Act on what arrived and return what is to be sent now, with this end's own address."""
        if not self._has_begun or self.ended:
            return []
        sent = super().drive(now)
        return [(data, source or self.local, to) for data, source, to in sent]

    def next_timeout(self) -> int | None:
        """Return when to call `drive` next (ns), None for never."""
        return super().next_timeout() if self._has_begun and not self.ended else None

    def take_news(self) -> list[Event]:
        """Return what happened since the last call."""
        taken, self._news = self._news, []
        return taken

    def _on_time(self, now: int) -> None:
        """Do nothing: the first connection has the clock."""

    def _on_event(self, event: Event, now: int) -> None:  # noqa: ARG002 (told when it is taken)
        self._news.append(event)
