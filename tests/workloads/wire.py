"""Connections that only note what is sent, and a pair of ends with nothing between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import cast

from minitopo_dc.workloads import Workload
from minitopo_dc.workloads.exchange import Answers, Client, Content, End, Request, Requests, Server


@dataclass
class Sent:
    """One request of a client's, whose stream is its place in the list."""

    method: str
    path: str
    body: bytes | None = None
    length: int | None = None
    cancelled: bool = False


@dataclass
class Wire:
    """A client's connection."""

    sent: list[Sent] = field(default_factory=list)

    def request(
        self, method: str, path: str, body: bytes | None = None, *, length: int | None = None
    ) -> int:
        self.sent.append(Sent(method, path, body, length))
        return len(self.sent) - 1

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:  # noqa: ARG002
        self.sent[stream].body = (self.sent[stream].body or b"") + data

    def cancel(self, stream: int) -> None:
        self.sent[stream].cancelled = True


@dataclass
class Answered:
    """A server's connection."""

    answers: dict[int, Content | HTTPStatus | bytes] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)

    def answer(self, stream: int, answer: Content | HTTPStatus) -> None:
        self.answers[stream] = answer
        self.ended.add(stream)

    def begin(self, stream: int) -> None:
        self.answers[stream] = b""

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        before = self.answers[stream]
        assert isinstance(before, bytes)
        self.answers[stream] = before + data
        self.ended.update({stream} if end else ())


class StreamEnd:
    """One end's connection with bare streams; a client's streams are even, a server's odd."""

    def __init__(self, number: int) -> None:
        self.peer: End
        self.now = 0
        self.resets = 0
        self._number = number
        self._count = 0
        self._waiting: list[tuple[int, bytes, bool]] = []

    def open(self, *, unidirectional: bool, marked: bool = False) -> int:  # noqa: ARG002
        stream = 4 * self._count + (2 if unidirectional else 0) + self._number
        self._count += 1
        return stream

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        self._waiting.append((stream, data, end))

    def reset(self, stream: int) -> None:
        self.resets += 1
        self.peer.reset(stream, self.now)

    def send_datagram(self, data: bytes, *, marked: bool = False) -> None:  # noqa: ARG002
        self.peer.datagram(data, self.now)

    def deliver(self) -> bool:
        """Give the peer what waits; whether there was anything."""
        waiting, self._waiting = self._waiting, []
        for stream, data, end in waiting:
            self.peer.data(stream, data, self.now)
            if end:
                self.peer.end(stream, self.now)
        return bool(waiting)


class StreamPair:
    """Both ends of a workload over bare streams; what one sends the other has at once."""

    def __init__(self, workload: Workload) -> None:
        here, there = StreamEnd(0), StreamEnd(1)
        self.client: Client = workload.make_client(cast("Requests", here))
        self.server: Server = workload.make_server(cast("Answers", there))
        here.peer, there.peer = self.server, self.client
        self.ends = (here, there)

    def run(self, start: int, limit: int) -> None:
        """Connect at a moment (ns), and go on until the client has ended."""
        now = start
        self.client.connecting(now)
        self._at(now)
        self.client.connected(now)
        while not self.client.ended and now < limit:
            self._at(now)
            self.client.on_time(now)
            self.server.on_time(now)
            delivered = [end.deliver() for end in self.ends]
            if not any(delivered):
                now = int(min(self.client.next_timeout(), self.server.next_timeout(), limit))

    def _at(self, now: int) -> None:
        for end in self.ends:
            end.now = now


def serve(server: Server, request: Request, *pieces: bytes, stream: int = 0) -> None:
    """Give a server a whole request."""
    server.request(stream, request, 0)
    for piece in pieces:
        server.data(stream, piece, 0)
    server.end(stream, 0)
