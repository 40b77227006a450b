"""Orders for a guest's agent, or for its proxy on a host: files, as it reads them.

All times are ns on the monotonic clock; a guest's is that of the process that runs it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

ChangeName = Literal["add", "delete", "delete-initial", "backup", "available"]


class EndpointOrder(NamedTuple):
    """A change of the client's MPTCP endpoints; `at` 0: before the connection begins."""

    at: int
    name: ChangeName
    card: int


class Shape(NamedTuple):
    """A request or an answer: its content, and the bytes that HTTP/2 and TLS add to it."""

    head: int
    body: int
    """Bytes of the content."""
    block: int
    """Bytes of content between two frame headers."""
    frame: int
    """Bytes that stand before each block."""


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Describes what the agent itself sends between the hosts.

    Attributes:
        content: what bodies are made of, again and again.
        flights: bytes of the handshake: the client's, and the server's answer.
        request: what the client sends.
        answer: what it is sent for it.
        download_ns: of a download, how long it lasts at most; 0: to its end. None: it is none.
        requests: how many, how far apart, and how long the client waits for the last answers.
    """

    content: bytes
    flights: Sequence[tuple[int, int]]
    request: Shape
    answer: Shape
    download_ns: int | None = None
    requests: tuple[int, int, int] = (0, 0, 0)

    def files(self) -> dict[str, bytes]:
        """Return the files that it needs beside the orders."""
        return {"content": self.content}

    def lines(self) -> Iterator[str]:
        """Yield its lines of the orders."""
        for flight in self.flights:
            yield f"flight {flight[0]} {flight[1]}"
        for name, shape in (("request", self.request), ("answer", self.answer)):
            yield " ".join(map(str, (name, *shape)))
        if self.download_ns is None:
            yield " ".join(map(str, ("requests", *self.requests)))
        else:
            yield f"download {self.download_ns}"


@dataclass(frozen=True, kw_only=True)
class Programs:
    """Names programs of the machine's file system for both hosts.

    Attributes:
        client: its words.
        server: the same; none: there is no server.
        environment: of both.
        working: the directory that they begin in.
        writable: the one that they can write to.
        ready_port: what the server binds when it is ready; None: it is after half a second.
        patience_ns: how long the server may take to end when it is told to.
        stop_signal: which tells it to.
    """

    client: Sequence[str]
    server: Sequence[str]
    environment: Mapping[str, str]
    working: str
    writable: str
    ready_port: int | None
    patience_ns: int
    stop_signal: signal.Signals = signal.SIGTERM

    def files(self) -> dict[str, bytes]:
        """Return the files that it needs beside the orders."""
        files = {
            "client": _words(self.client),
            "environment": _words(f"{name}={text}" for name, text in self.environment.items()),
            "places": _words((self.working, self.writable)),
        }
        return {**files, "server": _words(self.server)} if self.server else files

    def lines(self) -> Iterator[str]:
        """Yield its lines of the orders."""
        yield f"programs {self.ready_port or 0} {self.patience_ns}"
        if self.stop_signal != signal.SIGTERM:
            yield f"stop-signal {self.stop_signal:d}"


def _words(words: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def proxy_orders(proxy: str, server: tuple[str, int], congestion_control: str, sample: int) -> str:
    """Return the orders of a proxy that takes one client's MPTCP connection to a server's TCP.

    Args:
        proxy: its address; its port is the server's.
        server: the server's address and port.
        congestion_control: of what it sends the client, as the kernel names it.
        sample: how often it reports of the client's connection.
    """
    return (
        f"ip {6 if ':' in proxy else 4}\n"
        f"congestion-control {congestion_control}\n"
        f"sample {sample}\n"
        f"server {server[0]} {server[1]}\n"
        f"proxy {proxy}\n"
    )


@dataclass(frozen=True, kw_only=True)
class Orders:
    """One flow between the guest's two hosts.

    Attributes:
        multipath: MPTCP and not TCP; of programs: what of them is MPTCP has further subflows.
        congestion_control: of the server, as the kernel names it; of programs both hosts', and
            empty for the kernel's own.
        begin: when the client begins to connect.
        sample: how often the server reports of the connection.
        server: its address and port.
        clients: the client's addresses: of card 1, 2, ...
        first: the card whose address the connection begins from.
        attempts: the cards from whose addresses the client also tries, while it has no connection.
        attempt_delay: between two attempts.
        client_port: the connection's port there.
        subflows: how many the kernels allow beside the first.
        changes: in the order in which they are made.
        does: what is sent, or the programs that send.
        sysctl: kernel settings of both hosts.
        proxy: the address of the proxy at which the client's connection ends; None: at the server.
        mss: the largest segment that the server sends, with its options; 0: as the link allows.
        earlier: how many downloads go before the one that is measured.
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
    changes: Sequence[EndpointOrder]
    does: Traffic | Programs
    attempts: Sequence[int] = ()
    attempt_delay: int = 0
    sysctl: Mapping[str, str] = field(default_factory=dict)
    proxy: str | None = None
    mss: int = 0
    earlier: int = 0

    def files(self) -> dict[str, bytes]:
        """Return all files that the agent reads."""
        lines = [f"ip {6 if ':' in self.server[0] else 4}", f"multipath {int(self.multipath)}"]
        if self.congestion_control:
            lines.append(f"congestion-control {self.congestion_control}")
        lines += [f"begin {self.begin}", f"sample {self.sample}"]
        lines.append(f"server {self.server[0]} {self.server[1]}")
        if self.proxy is not None:
            lines.append(f"proxy {self.proxy}")
        lines += [f"client {card} {address}" for card, address in enumerate(self.clients, start=1)]
        lines.append(f"first {self.first} {self.client_port}")
        lines += [f"attempt {card} {self.attempt_delay}" for card in self.attempts]
        lines.append(f"subflows {self.subflows}")
        lines += [f"change {change.at} {change.name} {change.card}" for change in self.changes]
        lines += [f"sysctl {name} {value}" for name, value in self.sysctl.items()]
        lines += [f"{name} {n}" for name, n in (("mss", self.mss), ("earlier", self.earlier)) if n]
        text = "".join(f"{line}\n" for line in [*lines, *self.does.lines()])
        return {"orders": text.encode(), **self.does.files()}
