"""A PDCP header carried behind an IPv4 datagram.

Only the total length and the header checksum change, so that routers forward the datagram and the
addresses, ports and transport checksum stay as the end hosts wrote them. A fragment is treated as
the datagram it is. Bytes behind the total length (link-layer padding) are not part of it.
"""

from __future__ import annotations

import struct

from minitopo_dc.pdcp.codec import PduError

_MAX_TOTAL_LENGTH = 65_535  # RFC 791 section 3.1: a 16-bit field
_FIELDS = struct.Struct("!BxH6xH")  # version and IHL, total length, header checksum
_pack_u16 = struct.Struct("!H").pack


def append_trailer(ip: bytes, header: bytes) -> bytes:
    """The datagram ``ip`` with ``header`` behind it.

    Raises:
        PduError: ``ip`` is no whole IPv4 datagram, or the result is longer than 65,535 bytes.
    """
    _, total, checksum = _fields(ip)
    size = len(header)
    if total + size > _MAX_TOTAL_LENGTH:
        raise PduError(
            f"IPv4 datagram of {total} bytes has no room for a PDCP header of {size} bytes"
        )
    start = _rewritten(ip, total + size, checksum, size)
    return b"".join((*start, ip[12:total], header))


def split_trailer(ip: bytes, size: int) -> tuple[bytes, bytes]:
    """The last ``size`` bytes of the datagram ``ip`` and the datagram without them.

    The second is byte for byte what ``append_trailer`` was given. (Exception: a checksum of 0xFFFF,
    which no sender computes, becomes 0x0000, the other writing of the same value.)

    Raises:
        PduError: ``ip`` is no whole IPv4 datagram, or its payload is shorter than ``size``.
    """
    header_length, total, checksum = _fields(ip)
    end = total - size
    if end < header_length:
        raise PduError(f"IPv4 datagram of {total} bytes carries no PDCP header of {size} bytes")
    start = _rewritten(ip, end, checksum, -size)
    return ip[end:total], b"".join((*start, ip[12:end]))


def _fields(ip: bytes) -> tuple[int, int, int]:
    """IPv4 header length, total length and header checksum, after checking the lengths."""
    if len(ip) < 20:
        raise PduError(f"IPv4 datagram truncated: {len(ip)} bytes, the header alone has 20")
    version_ihl, total, checksum = _FIELDS.unpack_from(ip)
    header_length = (version_ihl & 0x0F) * 4
    if version_ihl >> 4 != 4:
        raise PduError(f"not an IPv4 datagram: version {version_ihl >> 4}")
    if not 20 <= header_length <= total:
        raise PduError(f"IPv4 header length {header_length} is not in 20..{total} (total length)")
    if len(ip) < total:
        raise PduError(f"IPv4 datagram truncated: {len(ip)} of {total} bytes")
    return header_length, total, checksum


def _rewritten(ip: bytes, total: int, checksum: int, growth: int) -> tuple[bytes, ...]:
    """The first 12 bytes of the header, with another total length and the checksum it needs.

    RFC 1624 equation 4: a field that grows by d lowers the checksum by d in one's complement. That
    is arithmetic modulo 0xFFFF, whose representatives 0..0xFFFE are what a sender would compute:
    the one's complement sum of a header is never 0, hence its complement never 0xFFFF.
    """
    return ip[:2], _pack_u16(total), ip[4:10], _pack_u16((checksum - growth) % 0xFFFF)
