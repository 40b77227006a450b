"""UDP datagrams in virtual time, and the flow that they belong to."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address

from minitopo_dc.settings import Match

HEADERS_BYTES = 28
"""IPv4 and UDP (RFC 791, RFC 768)."""


class Flow:
    """All datagrams from one socket to another; two flows are never equal."""

    __slots__ = ("deliver", "destination", "source")

    def __init__(self, source: tuple[str, int], destination: tuple[str, int]) -> None:
        self.source, self.destination = source, destination
        self.deliver: Callable[[Packet], None] = _nowhere
        """What takes a datagram at its destination."""

    def belongs_to(self, match: Match) -> bool:
        """Whether a bearer with this filter carries the flow."""
        return (
            (match.source is None or IPv4Address(self.source[0]) in match.source)
            and (match.destination is None or IPv4Address(self.destination[0]) in match.destination)
            and match.protocol in (None, "udp")
            and match.source_port in (None, self.source[1])
            and match.destination_port in (None, self.destination[1])
        )


class Packet:
    """One datagram; ``size`` is that of the IP packet in bytes."""

    __slots__ = ("data", "flow", "size")

    def __init__(self, flow: Flow, data: bytes) -> None:
        self.flow = flow
        self.data = data
        self.size = len(data) + HEADERS_BYTES


def _nowhere(_packet: Packet) -> None:
    raise LookupError("a datagram of a flow that ends nowhere")
