"""The ECN field of IP datagrams of either version (RFC 3168, section 5; RFC 8200, section 3)."""

from __future__ import annotations

CE = 3
"""Congestion Experienced."""


def code_point(ip: bytes) -> int:
    """Return the code point of a datagram whose header's first two bytes are there."""
    return (ip[1] >> (4 if ip[0] >> 4 == 6 else 0)) & CE


def marked(ip: bytes) -> bytes:
    """Return a datagram with Congestion Experienced and, of IPv4, its checksum (RFC 1624)."""
    if ip[0] >> 4 == 6:
        return bytes((ip[0], ip[1] | CE << 4)) + ip[2:]
    growth = CE - code_point(ip)
    checksum = ((int.from_bytes(ip[10:12]) - growth) % 0xFFFF).to_bytes(2)
    return b"".join((ip[:1], bytes((ip[1] | CE,)), ip[2:10], checksum, ip[12:]))
