"""Statistics of one path, as one end knows it."""

from __future__ import annotations

from dataclasses import dataclass

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
    spurious_losses: int
    bytes_sent: int
    bytes_received: int
    bytes_acknowledged: int
    bytes_lost: int
