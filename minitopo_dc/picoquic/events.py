"""Events that a connection reports to its user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from minitopo_dc.picoquic.path import PathStatistics

Closer = Literal["peer", "peer's application", "stateless reset", "this end"]


@dataclass(frozen=True, slots=True)
class Ready:
    """Event: the handshake is complete (RFC 9001, section 4.1.1)."""

    multipath: bool
    """Whether both ends negotiated it (initial_max_path_id of draft-ietf-quic-multipath)."""
    version: int
    """The negotiated version of QUIC (RFC 9000: 1)."""
    congestion_control: str
    """Of this end, as picoquic names it."""


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
class PathAvailable:
    """Event: a path was validated, or carries packets again after it was suspended."""

    path_id: int


@dataclass(frozen=True, slots=True)
class PathSuspended:
    """Event: nothing came back on a path for several timeouts, so picoquic sends no data on it."""

    path_id: int


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
        error: of the connection or of picoquic (0: none); see `reason`.
        reason: in words.
    """

    by: Closer
    error: int
    reason: str


Event = (
    Ready
    | StreamData
    | DatagramFrame
    | StreamReset
    | PathAvailable
    | PathSuspended
    | PathDeleted
    | Closed
)
