"""Two ends of picoquic and what lies between them, in virtual time."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from minitopo_dc.quic.connection import Connection
from minitopo_dc.quic.events import Address, Closed, Event, Ready, StreamData
from minitopo_dc.quic.stack import Configuration
from minitopo_dc.units import NS_PER_MS, NS_PER_S

SERVER: Address = ("10.0.0.1", 4433)
CLIENTS: tuple[Address, ...] = tuple((f"10.1.{number}.1", 5000) for number in range(1, 9))
BLOCK = bytes(range(251)) * 7
"""Its length is no power of two, so that cuts are seen."""
BEGIN = NS_PER_S
"""picoquic takes the time 0 for none."""


def content(size: int) -> bytes:
    return (BLOCK * (size // len(BLOCK) + 1))[:size]


@dataclass
class Network:
    """What happens to datagrams: a rate and a delay each way of each client address.

    Attributes:
        loss: the part that is lost.
        jitter_ms: added to the delay, evenly distributed: datagrams overtake each other.
        duplicates: the part that arrives twice.
        damage: the part that arrives with a byte changed.
        down: client addresses that nothing passes.
        slow: rates of client addresses that have another one (Mbit/s).
    """

    rate_mbps: float = 20.0
    delay_ms: float = 10.0
    loss: float = 0.0
    jitter_ms: float = 0.0
    duplicates: float = 0.0
    damage: float = 0.0
    seed: int = 1
    down: set[Address] = field(default_factory=set)
    slow: dict[Address, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._busy: dict[tuple[Address, Address], int] = {}

    def arrivals(self, size: int, source: Address, destination: Address, now: int) -> Iterator[int]:
        """When a datagram arrives, in ns; never, once or twice."""
        start = max(self._busy.get((source, destination), 0), now)
        queue_ms = (start - now) / NS_PER_MS
        lost = self._random.random() < self.loss or queue_ms > 100
        if lost or self.down & {source, destination}:
            return
        rate_mbps = self.slow.get(source, self.slow.get(destination, self.rate_mbps))
        sent = start + round(size * 8e3 / rate_mbps)
        self._busy[source, destination] = sent
        for _ in range(2 if self._random.random() < self.duplicates else 1):
            yield sent + round((self.delay_ms + self._random.random() * self.jitter_ms) * NS_PER_MS)

    def as_it_arrives(self, data: bytes) -> bytes:
        """A datagram, which may be damaged on the way."""
        if self._random.random() >= self.damage:
            return data
        changed = bytearray(data)
        changed[self._random.randrange(len(data))] ^= 1 << self._random.randrange(8)
        return bytes(changed)


class End:
    """A connection with its application: it answers `GET n` with n bytes, and keeps what comes."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.events: list[Event] = []
        self.received: dict[int, bytes] = {}
        self.finished: set[int] = set()

    def react(self, *, answers: bool) -> None:
        for event in self.connection.events():
            self.events.append(event)
            if not isinstance(event, StreamData):
                continue
            stream = event.stream_id
            self.received[stream] = self.received.get(stream, b"") + event.data
            if event.end_stream:
                self.finished.add(stream)
                if answers:
                    size = int(self.received[stream].split()[1])
                    self.connection.write_repeated(stream, BLOCK, size)

    def closed(self) -> Closed | None:
        return next((each for each in self.events if isinstance(each, Closed)), None)

    def is_ready(self) -> bool:
        return any(isinstance(each, Ready) for each in self.events)


class Pair:
    """A client and a server, with a network between them; `sent` has all datagrams."""

    def __init__(self, client: Configuration, server: Configuration, network: Network) -> None:
        self.now = BEGIN
        self.network = network
        self.client = End(Connection(client, self.now))
        self.server = End(Connection(server, self.now))
        self.sent: list[tuple[int, Address, Address, bytes]] = []
        self._queue: list[tuple[int, int, Address, Address, bytes]] = []
        self._order = itertools.count()
        self.client.connection.connect(CLIENTS[0], SERVER, self.now)
        self.send()

    @property
    def elapsed_s(self) -> float:
        return (self.now - BEGIN) / NS_PER_S

    def send(self) -> None:
        """Put on the network what both ends have to send now."""
        for end, own in ((self.client, CLIENTS[0]), (self.server, SERVER)):
            for data, source, destination in end.connection.datagrams(self.now):
                self.sent.append((self.now, source or own, destination, data))
                for at in self.network.arrivals(len(data), source or own, destination, self.now):
                    item = (at, next(self._order), source or own, destination, data)
                    heapq.heappush(self._queue, item)

    def step(self, until: int) -> bool:
        """What happens next; False: nothing does before `until`."""
        timers = [end.connection.next_timeout() for end in (self.client, self.server)]
        due = [at for at in timers if at is not None] + [at for at, *_ in self._queue[:1]]
        if not due or min(due) > until:
            self.now = until
            return False
        self.now = max(self.now, min(due))
        while self._queue and self._queue[0][0] <= self.now:
            _, _, source, destination, data = heapq.heappop(self._queue)
            end = self.server if destination == SERVER else self.client
            arrived = self.network.as_it_arrives(data)
            end.connection.receive_all([(arrived, source, destination, 0)], self.now)
        self.send()
        self.client.react(answers=False)
        self.server.react(answers=True)
        self.send()
        return True

    def run(self, seconds: float) -> None:
        """Let time pass."""
        until = self.now + round(seconds * NS_PER_S)
        while self.step(until):
            pass

    def connected(self) -> Self:
        """Go on until both ends have shaken hands."""
        limit = self.now + 20 * NS_PER_S
        while not (self.client.is_ready() and self.server.is_ready()):
            assert self.step(limit), "no handshake"
        return self

    def get(self, size: int) -> int:
        """Ask for bytes; the stream's identifier."""
        connection = self.client.connection
        stream = connection.open_stream()
        connection.write(stream, b"GET %d" % size, end_stream=True)
        self.send()
        return stream

    def wait_for(self, stream: int, *, seconds: float = 200.0) -> bytes:
        """What the client has received on a stream when it has ended."""
        limit = self.now + round(seconds * NS_PER_S)
        while stream not in self.client.finished:
            assert self.step(limit), f"{len(self.client.received.get(stream, b''))} bytes came"
        return self.client.received[stream]

    def digest(self) -> str:
        """Of when which datagram was sent, by its length and addresses, and the first's header.

        What is encrypted differs in each run: keys are OpenSSL's.
        """
        seen = [(now, source, to, len(data)) for now, source, to, data in self.sent]
        header = self.sent[0][3][:14]  # up to the identifier that the client has drawn
        return hashlib.sha256(repr((header, seen)).encode()).hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.connection.free()
        self.server.connection.free()
