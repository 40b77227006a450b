"""IP packets in virtual time, and the flow that they belong to."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import Literal

from minitopo_dc.settings import Match

UDP_HEADER_BYTES = 8
"""RFC 768."""
IP_HEADER_BYTES = {4: 20, 6: 40}
"""Without options (RFC 791) or extension headers (RFC 8200)."""


class Flow:
    """All packets from one socket to another; two flows are never equal."""

    __slots__ = ("deliver", "destination", "enter", "headers_bytes", "protocol", "source")

    def __init__(
        self,
        source: tuple[str, int],
        destination: tuple[str, int],
        protocol: Literal["udp", "tcp"] = "udp",
    ) -> None:
        """Make one of UDP datagrams, or of TCP's packets, whose data are whole IP packets."""
        self.source, self.destination = source, destination
        self.protocol = protocol
        self.enter: Take = _nowhere
        """What takes a datagram from its source."""
        self.deliver: Take = _nowhere
        """What takes a datagram at its destination."""
        self.headers_bytes = 0
        """What each of its packets has before its data."""
        if protocol == "udp":
            self.headers_bytes = IP_HEADER_BYTES[ip_address(source[0]).version] + UDP_HEADER_BYTES

    def belongs_to(self, match: Match) -> bool:
        """Whether a bearer with this filter carries the flow."""
        return (
            (match.source is None or ip_address(self.source[0]) in match.source)
            and (match.destination is None or ip_address(self.destination[0]) in match.destination)
            and match.protocol in (None, self.protocol)
            and match.source_port in (None, self.source[1])
            and match.destination_port in (None, self.destination[1])
        )


class Packet:
    """One packet; `size` is that of the IP packet in bytes."""

    __slots__ = ("data", "flow", "size")

    def __init__(self, flow: Flow, data: bytes) -> None:
        self.flow = flow
        self.data = data
        self.size = len(data) + flow.headers_bytes


Take = Callable[[Packet], None]


def _nowhere(_packet: Packet) -> None:
    raise LookupError("a datagram of a flow that leads nowhere")
