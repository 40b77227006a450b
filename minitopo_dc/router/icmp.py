"""ICMP errors of a router for a packet that is too large for a leg."""

from __future__ import annotations

import struct

from minitopo_dc.pdcp import SN_BITS, sn_format

IPV4_HEADER, IPV6_HEADER = 20, 40
ICMP, ICMPV6 = 1, 58
TTL = 64
"""What is recommended (RFC 1700); any reaches a neighbour."""
QUOTED_IPV4 = 8
"""Bytes that are quoted behind the IPv4 header (RFC 792); none of its options is."""
QUOTED_IPV6 = 1232
"""Bytes of the packet that are quoted: as many as fit in the least MTU (RFC 4443, section 3.2)."""
PDCP_BYTES = max(sn_format(bits).size for bits in SN_BITS)
"""The longest PDCP header."""


def too_big(datagram: bytes, mtu: int, *, of_bearer: bool) -> bytes:
    """Return the IP packet that tells a datagram's source of a leg's MTU.

    It is "fragmentation needed" (RFC 1191, section 4) or "packet too big" (RFC 4443, section 3.2),
    and comes from the datagram's destination, as a router here need not have an address.

    Args:
        datagram: IPv4 or IPv6; of IPv4, the header and 8 bytes at least.
        mtu: of the leg, in bytes.
        of_bearer: whether a PDCP header is added, for which there must be room.
    """
    mtu -= PDCP_BYTES if of_bearer else 0
    if datagram[0] >> 4 == 6:
        source, destination = datagram[8:24], datagram[24:40]
        body = struct.pack("!BBHI", 2, 0, 0, mtu) + datagram[:QUOTED_IPV6]
        pseudo = destination + source + struct.pack("!II", len(body), ICMPV6)
        body = _with_checksum(body, pseudo)
        return struct.pack("!IHBB", 6 << 28, len(body), ICMPV6, TTL) + destination + source + body
    source, destination = datagram[12:16], datagram[16:20]
    quoted = (datagram[0] & 0xF) * 4 + QUOTED_IPV4
    body = _with_checksum(struct.pack("!BBHHH", 3, 4, 0, 0, mtu) + datagram[:quoted])
    head = struct.pack("!BBHHHBBH", 0x45, 0, IPV4_HEADER + len(body), 0, 0, TTL, ICMP, 0)
    header = head + destination + source
    return header[:10] + checksum(header) + header[12:] + body


def _with_checksum(body: bytes, pseudo: bytes = b"") -> bytes:
    return body[:2] + checksum(pseudo + body) + body[4:]


def checksum(data: bytes) -> bytes:
    """Return the Internet checksum (RFC 1071)."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)
