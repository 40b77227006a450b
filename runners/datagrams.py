"""What transports have in common that cut their data into UDP datagrams of a chosen size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minitopo_dc.runners.base import Runner
from minitopo_dc.runners.options import OptionError, parse_options

LEAST_PAYLOAD = 1200
"""Bytes that every path must take in a datagram of QUIC (RFC 9000, section 14)."""
MOST_PAYLOAD = {4: 1472, 6: 1452}
"""Bytes: of 1,500 in an Ethernet frame, what the IP header (20, 40) and UDP's 8 leave."""


class DatagramRunner(Runner):
    """A transport whose options have `max_datagram_bytes`, the UDP payload of a full packet."""

    def check_options(self, options: Mapping[str, Any], ip_version: int) -> None:
        """Also: QUIC, and an Ethernet frame behind the headers of the IP version, allow the size.

        Raises:
            OptionError: an option is unknown or wrong, or `max_datagram_bytes` below 1,200 (RFC
                9000, section 14) or above `MOST_PAYLOAD`.
        """
        given: Any = parse_options(self.options_type, options, self.name)
        most = MOST_PAYLOAD[ip_version]
        if not LEAST_PAYLOAD <= given.max_datagram_bytes <= most:
            raise OptionError(
                f"runner {self.name}: option max_datagram_bytes is {given.max_datagram_bytes}, "
                f"must be {LEAST_PAYLOAD} to {most} with IPv{ip_version}"
            )
