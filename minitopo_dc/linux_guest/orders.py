"""What a guest is to do: `/orders` of its file system, as agent/orders.c reads it.

All times are ns on the guest's monotonic clock, which is that of who runs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

ChangeName = Literal["add", "delete", "delete-initial", "backup", "available"]


class Change(NamedTuple):
    """A change of the client's MPTCP endpoints; `at` 0: before the connection begins."""

    at: int
    name: ChangeName
    card: int


class Shape(NamedTuple):
    """A request or an answer: its content, and the bytes that HTTP/2 and TLS add to it."""

    head: int
    body: int
    """The content's bytes."""
    block: int
    """Content between two frames."""
    frame: int
    """What stands before each block."""


@dataclass(frozen=True)
class Orders:
    """One flow between the guest's two hosts.

    Attributes:
        multipath: MPTCP and not TCP.
        congestion_control: of the server, as the kernel names it.
        begin: when the client begins to connect.
        sample: how often the server reports of the connection.
        server: its address and port.
        clients: the client's addresses: of card 1, 2, ...
        first: the card whose address the connection begins from.
        client_port: the connection's port there.
        subflows: how many the kernels allow beside the first.
        changes: in the order in which they are made.
        flights: bytes of the handshake: the client's, and the server's answer.
        request: what the client sends.
        answer: what it is sent for it.
        download_ns: of a download, how long it lasts at most; 0: to its end. None: it is none.
        requests: how many, how far apart, and how long the client waits for the last answers.
    """

    multipath: bool
    congestion_control: str
    begin: int
    sample: int
    server: tuple[str, int]
    clients: Sequence[str]
    first: int
    client_port: int
    subflows: int
    changes: Sequence[Change]
    flights: Sequence[tuple[int, int]]
    request: Shape
    answer: Shape
    download_ns: int | None = None
    requests: tuple[int, int, int] = (0, 0, 0)

    def text(self) -> str:
        """As the agent reads it."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"ip {6 if ':' in self.server[0] else 4}"
        yield f"multipath {int(self.multipath)}"
        yield f"congestion-control {self.congestion_control}"
        yield f"begin {self.begin}"
        yield f"sample {self.sample}"
        yield f"server {self.server[0]} {self.server[1]}"
        for card, address in enumerate(self.clients, start=1):
            yield f"client {card} {address}"
        yield f"first {self.first} {self.client_port}"
        yield f"subflows {self.subflows}"
        for change in self.changes:
            yield f"change {change.at} {change.name} {change.card}"
        for flight in self.flights:
            yield f"flight {flight[0]} {flight[1]}"
        for name, shape in (("request", self.request), ("answer", self.answer)):
            yield " ".join(map(str, (name, *shape)))
        if self.download_ns is None:
            yield " ".join(map(str, ("requests", *self.requests)))
        else:
            yield f"download {self.download_ns}"
