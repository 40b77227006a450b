"""Both ends of a workload without input or output, and the connection as they see it.

A transport calls an end when something has happened; the end calls its connection. Times are int
ns on one clock of the transport's. A workload that gives a `Client` (`Workload.make_client`) runs
on every transport that implements these connections: on sockets and on the virtual clock. What is
sent has the same bytes in every run, so that all that arrives can be checked.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.units import NS_PER_S


def blocks(size_bytes: int) -> Iterator[bytes]:
    """Yield the content of a transfer of `size_bytes`: one block repeated, the last one cut."""
    whole, rest = divmod(size_bytes, BLOCK_BYTES)
    for _ in range(whole):
        yield BLOCK
    if rest:
        yield BLOCK[:rest]


@lru_cache(maxsize=8)
def content_sha256(size_bytes: int) -> str:
    """Return the SHA-256 of the content of a transfer of `size_bytes`, in hexadecimal digits.

    It is also that of the first `size_bytes` of a longer transfer, whose content begins with the
    same bytes: so what a client had when it stopped can be checked.
    """
    digest = hashlib.sha256()
    for block in blocks(size_bytes):
        digest.update(block)
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_content(path: Path, size_bytes: int) -> None:
    """Write the content of a transfer of `size_bytes` into a file."""
    with path.open("wb") as file:
        file.writelines(blocks(size_bytes))


class Received:
    """Bytes that arrived, compared with the first bytes of the content.

    Each byte is compared, which takes a tenth of the time of a hash.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        self.is_right = True
        """Whether all that has arrived is what was sent."""

    def take(self, data: bytes) -> None:
        """Take the next piece of the bytes."""
        start = self.size_bytes % BLOCK_BYTES
        is_short = start + len(data) <= len(SEVERAL_BLOCKS)
        content = SEVERAL_BLOCKS if is_short else BLOCK * (2 + len(data) // BLOCK_BYTES)
        self.is_right = self.is_right and content.startswith(data, start)
        self.size_bytes += len(data)

    def is_content(self, size_bytes: int) -> bool:
        """Return whether it is the content of a transfer of `size_bytes`, no byte more or less."""
        return self.is_right and self.size_bytes == size_bytes


def _size(path: str, folder: str) -> int | None:
    prefix, _, size = path.rpartition("/")
    return int(size) if prefix == folder and size.isdecimal() and size.isascii() else None


BLOCK_BYTES = 64 * 1024
BLOCK = random.Random(38323).randbytes(BLOCK_BYTES)
"""A fixed seed: the content is the same in every run and on every machine. Random bytes, so that
nothing on the way can shorten them."""
SEVERAL_BLOCKS = BLOCK * 4
"""Longer than most pieces that arrive."""


class WrongAnswer(MinitopoDcError):  # noqa: N818 (it is the server's, not this program's)
    """Error: an answer is not the one asked for; the text says of which request and why."""


class Requests(Protocol):
    """A client's connection, on which it asks for something and is answered."""

    def request(
        self, method: str, path: str, body: bytes | None = None, *, length: int | None = None
    ) -> int:
        """Ask for something; return the number of its stream.

        Args:
            method: `GET`, `POST`, ...
            path: of the resource.
            body: all of the request's body, if it has one.
            length: in place of `body`, the bytes that `write` gives piece by piece.
        """

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send the next piece of a body; `end`: it is the last one."""

    def cancel(self, stream: int) -> None:
        """Tell the server that no more of an answer is wanted."""


@runtime_checkable
class Streams(Protocol):
    """A connection of QUIC at either end, with bare streams and no requests.

    What is `marked` goes over a second connection with a code point, if the workload has one; its
    streams have numbers from `MARKED` on.
    """

    def open(self, *, unidirectional: bool, marked: bool = False) -> int:
        """Return a new stream of this end, which exists when something is written on it."""

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send bytes on a stream."""

    def reset(self, stream: int) -> None:
        """Give a stream up, unless all of it was acknowledged."""

    def send_datagram(self, data: bytes, *, marked: bool = False) -> None:
        """Send bytes in a DATAGRAM frame (RFC 9221)."""


MARKED = 1 << 62
"""Streams of QUIC have smaller numbers (RFC 9000, section 2.1)."""


@dataclass(frozen=True, slots=True)
class Content:
    """The content that a server sends."""

    size_bytes: int
    body: Iterable[bytes] | None = None
    """Its bytes, in order, which can be taken once; None: those of `blocks`."""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    """Headers beside `content-length`."""

    @property
    def pieces(self) -> Iterable[bytes]:
        """Return its bytes, in order."""
        return blocks(self.size_bytes) if self.body is None else self.body


class Answers(Protocol):
    """A server's connection, on which it answers requests."""

    def answer(self, stream: int, answer: Content | HTTPStatus) -> None:
        """Answer a request with content, or with a status alone."""

    def begin(self, stream: int) -> None:
        """Begin an answer whose content `write` gives piece by piece."""

    def write(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send the next piece of an answer; `end`: it is the last one."""


class End:
    """One end of a workload."""

    eager: ClassVar[bool] = True
    """Whether it is given bytes as soon as they come; else not before there are some."""

    def data(self, stream: int, data: bytes, now: int) -> None:
        """Take the next bytes of a stream: of an answer, or of a request's body."""

    def end(self, stream: int, now: int) -> None:
        """Note that a stream has ended behind what has come of it."""

    def reset(self, stream: int, now: int) -> None:
        """Note that the other end gave a stream up, or wants no more of it."""

    def datagram(self, data: bytes, now: int) -> None:
        """Take what came in a DATAGRAM frame."""

    def on_time(self, now: int) -> None:
        """Do what is due; it is also called behind what has happened."""

    def next_timeout(self) -> float:
        """Return when to call `on_time` (ns) if nothing happens before, infinity for never."""
        return math.inf


@dataclass
class Outcome:
    """The results of a client, which JSON can hold; times in s since it began to connect."""

    completion_s: float | None = None
    bytes_received: int = 0
    handshake_s: float | None = None
    rows: list[Mapping[str, int | float | None]] = field(default_factory=list)
    receive_buffer_bytes: int | None = None  # the socket's; None: not a UDP socket
    socket_drops: int | None = None
    error: str | None = None


class Client(End):
    """The client's end, from its start of connecting to its `ended`."""

    ended: bool = False
    """Whether the connection may be closed, as the work is done or has failed."""
    only_receives: bool = False
    """Whether it has nothing more to send until it has ended."""

    def __init__(self, outcome: Outcome | None = None) -> None:
        self.outcome = outcome or Outcome()
        self._start = 0
        self._request_numbers: dict[
            int, int
        ] = {}  # of requests from 0 on, where they are not the streams'

    def connecting(self, now: int) -> None:
        """Note that the connection is about to begin."""
        self._start = now

    def connected(self, now: int) -> None:
        """Begin, as requests may be sent from now on."""
        self.outcome.handshake_s = self._since_start(now)

    def headers(self, stream: int, status: int, now: int) -> None:  # noqa: ARG002
        """Take the status of an answer, with which it begins; HTTP/0.9 has none.

        Raises:
            WrongAnswer: it is not 200.
        """
        if status != HTTPStatus.OK:
            raise WrongAnswer(f"request {self.number(stream)} got status {status}, not 200")

    def number(self, stream: int) -> int:
        """Return the number of a request, for messages."""
        return self._request_numbers.get(stream, stream)

    def reset(self, stream: int, now: int) -> None:  # noqa: ARG002
        """Refuse that the server gives an answer up.

        Raises:
            WrongAnswer: always.
        """
        raise WrongAnswer(f"the server gave request {self.number(stream)} up")

    def failed(self, reason: str) -> None:
        """End with an error, as nothing more will come; nothing if it has ended."""
        if not self.ended:
            self.ended = True
            self.outcome.error = reason

    def report(self) -> dict[str, Any]:
        """Return the results, for `Workload.measured`."""
        return asdict(self.outcome)

    def _since_start(self, now: int) -> float:
        return (now - self._start) / NS_PER_S


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it has come, but for its body."""

    method: str
    path: str
    headers: Mapping[bytes, bytes] | None = None
    """None: those of HTTP/0.9, which has none."""


class Server(End):
    """The server's end of one connection."""

    def request(self, stream: int, request: Request, now: int) -> None:
        """Take a request, whose body follows, if it has one, and then its `end`."""


Find = Callable[[str], Content | None]
"""What there is at the path of a request; None: nothing, which is status 404."""


def requested_content(path: str) -> Content | None:
    """Return the content that `/bytes/N` asks for, None for any other path."""
    size = _size(path, "/bytes")
    return None if size is None else Content(size)


class ContentServer(Server):
    """The server of most workloads.

    `GET` is answered at once with what is found at its path (at `/bytes/N` N deterministic bytes),
    `POST /respond/N` with N such bytes when its body is complete: a server takes the whole body
    before it answers, whatever the answer will be.
    """

    eager: ClassVar[bool] = False

    def __init__(self, connection: Answers, find: Find = requested_content) -> None:
        """Take the function that finds the content of `GET` requests."""
        self._connection = connection
        self._find = find
        self._posted: dict[int, tuple[Request, Received]] = {}

    def request(self, stream: int, request: Request, now: int) -> None:  # noqa: ARG002
        """Answer the request, or wait for its body."""
        if request.method == "POST":
            self._posted[stream] = request, Received()
        else:
            found = self._find(request.path) if request.method == "GET" else None
            self._connection.answer(stream, found or HTTPStatus.NOT_FOUND)

    def data(self, stream: int, data: bytes, now: int) -> None:  # noqa: ARG002
        """Take a piece of a request's body."""
        if stream in self._posted:
            self._posted[stream][1].take(data)

    def end(self, stream: int, now: int) -> None:  # noqa: ARG002
        """Answer a request whose body is complete."""
        if stream in self._posted:
            self._connection.answer(stream, _answer_of(*self._posted.pop(stream)))

    def reset(self, stream: int, now: int) -> None:  # noqa: ARG002
        """Forget a request that was given up."""
        self._posted.pop(stream, None)


def _answer_of(request: Request, body: Received) -> Content | HTTPStatus:
    """Return the answer to a `POST` whose body is complete.

    It is 404 for another path. It is 400 for a body whose length is not the announced one
    (`content-length`), that was announced without a length, or that is not the content.
    """
    size, is_right = _size(request.path, "/respond"), body.is_right
    if size is None:
        return HTTPStatus.NOT_FOUND
    if request.headers is not None:
        declared = request.headers.get(b"content-length", b"")
        is_right = declared.isdigit() and body.is_content(int(declared))
    return Content(size) if is_right else HTTPStatus.BAD_REQUEST
