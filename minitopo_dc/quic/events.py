"""What a connection reports to its user: events, and the statistics of paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Closer = Literal["peer", "peer's application", "stateless reset", "this end"]


Address = tuple[str, int]
"""An IP address and a port."""


@dataclass(frozen=True, slots=True)
class PathStatistics:
    """One path now, as this end sees it; counters since it was opened.

    Attributes:
        path_id: draft-ietf-quic-multipath; 0 is the handshake's.
        local: this end's address.
        remote: the peer's.
        validated: whether the peer has answered a challenge (RFC 9000, section 8.2).
        backup: whether it is used only when no other is.
        abandoned: whether it is being given up.
        smoothed_rtt_ms: None before the first sample.
    """

    path_id: int
    local: Address | None
    remote: Address
    validated: bool
    backup: bool
    abandoned: bool
    cwnd_bytes: int
    in_flight_bytes: int
    smoothed_rtt_ms: float | None
    minimum_rtt_ms: float | None
    packets_sent: int
    packets_lost: int
    bytes_sent: int
    bytes_received: int
    bytes_acknowledged: int


@dataclass(frozen=True, slots=True)
class Ready:
    """Event: the handshake is complete (RFC 9001, section 4.1.1), and data can be sent."""

    multipath: bool
    """Whether both ends negotiated it (initial_max_path_id of draft-ietf-quic-multipath)."""
    version: int
    """The negotiated version of QUIC (RFC 9000: 1)."""
    congestion_control: str
    """Of this end, as the stack names it."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Event: the handshake is confirmed (RFC 9001, section 4.1.2), and paths can be opened."""


@dataclass(frozen=True, slots=True)
class StreamData:
    """Event: the next bytes of a stream, and whether it ends behind them."""

    stream_id: int
    data: bytes
    end_stream: bool


@dataclass(frozen=True, slots=True)
class DatagramFrame:
    """Event: bytes that came in a DATAGRAM frame (RFC 9221)."""

    data: bytes


@dataclass(frozen=True, slots=True)
class StreamReset:
    """Event: the peer gave up a stream, or asks to have it given up."""

    stream_id: int


@dataclass(frozen=True, slots=True)
class PathUsable:
    """Event: a path carries data from now on, or does not until it does so again.

    It does when it was validated. A stack suspends a path on which nothing came back for several
    timeouts.
    """

    path_id: int
    usable: bool


@dataclass(frozen=True, slots=True)
class PathDeleted:
    """Event: a path has gone, abandoned by either end or never validated."""

    path_id: int
    statistics: PathStatistics
    """The path's statistics at its end."""


@dataclass(frozen=True, slots=True)
class Closed:
    """Event: the connection has ended.

    Attributes:
        by: whose doing it was; a timeout is `this end`'s.
        error: of the connection or of the stack (0: none); see `reason`.
        reason: in words.
    """

    by: Closer
    error: int
    reason: str


Event = (
    Ready | Confirmed | StreamData | DatagramFrame | StreamReset | PathUsable | PathDeleted | Closed
)
