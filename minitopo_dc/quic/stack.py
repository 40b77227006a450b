"""A QUIC stack behind the C interface `stack.h`, and what one end of its connections is told."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from cffi import FFI

HEADER = Path(__file__).with_name("stack.h")
"""The interface in C, which says what each function does."""
MAX_PATHS = 8
"""At once, of a connection: MDC_PATHS of `stack.h`."""


@dataclass(frozen=True)
class Stack:
    """One stack, whose ends have the functions of `stack.h`.

    Attributes:
        name: as people know it, and as results name its version.
        version: of its sources.
        congestion_controls: by its own names.
        load: gives `ffi` and `lib` of cffi, once loaded; raises `NotBuiltError` without it.
        obstacle: says why it cannot be used here and what to do; None when it can.
    """

    name: str
    version: str
    congestion_controls: tuple[str, ...]
    load: Callable[[], Any]
    obstacle: Callable[[], str | None]

    def seed(self, value: int) -> None:
        """Draw all of its random numbers in this process from a seed from now on.

        It is for simulations, one at a time: keys and identifiers can be foretold.
        """
        self.load().lib.mdc_seed(value % 2**64)

    def ecn_of(self, congestion_control: str) -> int:
        """Return the ECN code point with which a congestion control sends: ECT(1) for L4S."""
        return int(self.load().lib.mdc_ecn(congestion_control.encode()))


def shared_object(path: Path) -> Callable[[], Any]:
    """Return a `Stack.load` for a shared object that has the functions of `stack.h`.

    What it returns raises OSError where the file cannot be loaded.
    """

    @functools.cache
    def load() -> Any:
        ffi = FFI()
        ffi.cdef(HEADER.read_text(encoding="ascii"))
        return SimpleNamespace(ffi=ffi, lib=ffi.dlopen(str(path)))

    return load


DemotedPaths = Literal["as-now", "linger", "refuse", "fall-back", "2022"]
"""What becomes of a path that is given up (docs/picoquic.md#paths-that-are-given-up)."""
Scheduler = Literal["picoquic", "minrtt", "roundrobin", "weighted", "ecf", "blest", "redundant"]
"""Which path the next packet takes (docs/picoquic.md#schedulers)."""
SCHEDULERS: dict[str, int] = {
    **{"picoquic": 0, "minrtt": 1, "roundrobin": 2, "weighted": 2, "ecf": 3, "blest": 4},
    "redundant": 5,
}
"""By the numbers of `stack.h`."""
PLUGIN = 6
"""The number of all others: schedulers of the user's (`scheduler.py`)."""

Experiment = Literal["hystart", "no-hystart", "no-pacing", "frequent-acks"]
"""A property of a stack that is another one (docs/noq.md#why-they-differ)."""
IDLE_TIMEOUT_S = 30.0
"""A silence that ends a connection (RFC 9000, section 10.1), if nothing else is asked for."""


@dataclass(frozen=True)
class Configuration:
    """Parameters that fix one end of a connection.

    Attributes:
        stack: whose.
        is_client: which end it is.
        certificate: PEM; a server's own, a client's: the one it trusts. (With an Ed25519 key the
            handshake has the same length in each run; ECDSA signatures vary.)
        key: PEM, of a server.
        alpn: the application protocol (RFC 7301).
        server_name: RFC 6066.
        congestion_control: one of the stack's.
        max_paths: at once; 1: no multipath, 2 to 8.
        max_data: flow control of the connection, bytes; 0: the stack's own.
        max_stream_data: of each stream, bytes; 0: the stack's own.
        idle_timeout_s: the connection ends after this silence (RFC 9000, section 10.1).
        datagram_bytes: of UDP payload at most; there is no path MTU discovery. 1200: RFC 9000,
            section 14, as the other QUIC runners.
        datagram_frame: bytes of a DATAGRAM frame (RFC 9221) that a client takes at most; 0: none.
            A server takes them if its client does.
        is_tunnel: whether what it sends is DATAGRAM frames; a path on which they time out is then
            left for another one.
        takes_turns: whether its streams take turns; else the one that began first is sent first.
        demoted_paths: what becomes of a path that is given up; both ends have to have the same.
        scheduler: of paths, of what this end sends: one of `SCHEDULERS`, or the user's.
        weights: of `weighted`: the packets of a round, by leg; a leg without one has 1.
        qlog: a directory for the stack's log; written when the connection is freed.
        experiment: what is another one than the stack has; refused where it has no such property.
    """

    stack: Stack
    is_client: bool
    certificate: Path
    alpn: str
    server_name: str
    key: Path | None = None
    congestion_control: str = "newreno"
    max_paths: int = 1
    max_data: int = 0
    max_stream_data: int = 0
    idle_timeout_s: float = IDLE_TIMEOUT_S
    datagram_bytes: int = 1200
    datagram_frame: int = 0
    is_tunnel: bool = False
    takes_turns: bool = False
    demoted_paths: DemotedPaths = "as-now"
    scheduler: str = "picoquic"
    weights: tuple[int, ...] = ()
    qlog: Path | None = None
    experiment: Experiment | None = None
