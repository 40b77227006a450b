"""PDCP data PDUs, their headers, and how an IP datagram of either version carries one behind it.

TS 38.323 clause 6.2.2 has two headers for the data PDUs of DRBs, most significant bit first::

    12-bit SN, 2 bytes:  D/C R R R SN(12)
    18-bit SN, 3 bytes:  D/C R R R R R SN(18)

D/C is 1 for a data PDU and 0 for a control PDU (clause 6.3.7), R is reserved and 0 (clause 6.3.6).
The thesis "QUIC over Dual Connectivity" (section 4.2) has a plain 16-bit number and nothing else.

Of a datagram with a header only the length changes (and with IPv4 the header checksum). Routers
therefore forward the datagram, and addresses, ports, extension headers and the transport checksum
stay as the end hosts wrote them. A fragment is treated as any datagram. Bytes behind the datagram's
length (link-layer padding) are ignored.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.pdcp.classify import PacketFacts

T = TypeVar("T")
NO_COUNT: Final = -1
"""The COUNT of an SDU that gets it later, or of a PDU of which only the SN is known."""


@dataclass(slots=True)
class Pdu(Generic[T]):
    """An SDU on its way from upper layers to upper layers, and what the entities know of it.

    Attributes:
        sdu: whatever the caller of the transmitting entity handed in.
        size: of it in bytes, without the PDCP header.
        leg: index of the bearer's legs, from 0; -1 before it is on one.
        count: its COUNT, or `NO_COUNT`.
        sn: its SN, the end of the COUNT.
        arrived: when it came to the entity that has it, ns.
        facts: of its headers, where a rule of duplication needs them.
    """

    sdu: T
    size: int = field(default=0, compare=False)
    leg: int = -1
    count: int = NO_COUNT
    sn: int = 0
    arrived: int = field(default=0, compare=False)
    facts: PacketFacts | None = field(default=None, compare=False)


class PduError(MinitopoDcError, ValueError):
    """Error: a PDU, or the IP datagram that carries it, does not follow its format."""


class SnFormat:
    """One format of the data PDU header; `sn_format(bits)` gives the single instance of each.

    Attributes:
        bits: length of the SN in bits.
        size: length of the header in bytes.
        modulus: 2^bits; the SN of a COUNT is COUNT modulo this (TS 38.323 clause 6.3.5).
    """

    def __init__(self, bits: int, size: int, leading: int) -> None:
        self.bits: Final = bits
        self.size: Final = size
        self.modulus: Final = 1 << bits
        self._whole: Final = leading << bits

    def encode(self, sn: int) -> bytes:
        """Return the header of the data PDU with this SN.

        Raises:
            ValueError: the SN is not in 0..modulus - 1.
        """
        if not 0 <= sn < self.modulus:
            raise ValueError(f"SN {sn} is not in 0..{self.modulus - 1} ({self.bits} bits)")
        return (self._whole | sn).to_bytes(self.size, "big")

    def decode(self, buffer: bytes, offset: int = 0) -> int:
        """Return the SN of the data PDU whose header starts at `offset`.

        Raises:
            PduError: too few bytes, a control PDU, or a reserved bit that is not zero.
        """
        header = buffer[offset : offset + self.size]
        if len(header) != self.size:
            raise PduError(f"PDCP header truncated: {len(header)} of {self.size} bytes")
        sn = int.from_bytes(header, "big") ^ self._whole
        if sn < self.modulus:
            return sn
        if header[0] & 0x80:
            raise PduError(f"PDCP header with a reserved bit that is not 0: {header.hex()}")
        raise PduError(f"PDCP control PDU (D/C bit 0) where data is expected: {header.hex()}")


_FORMATS: Final = {
    12: SnFormat(bits=12, size=2, leading=0b1000),
    16: SnFormat(bits=16, size=2, leading=0),
    18: SnFormat(bits=18, size=3, leading=0b100000),
}

SN_BITS: Final = tuple(_FORMATS)
"""The lengths of an SN in bits that are known."""


def sn_format(bits: int) -> SnFormat:
    """Return the header format with an SN of 12 or 18 bits (TS 38.323) or 16 bits (the papers).

    Raises:
        ValueError: another number of bits.
    """
    try:
        return _FORMATS[bits]
    except KeyError:
        raise ValueError(
            f"SN size {bits!r} bits: must be one of {', '.join(map(str, SN_BITS))}"
        ) from None


_MAX_LENGTH = 65_535
"""Of an IPv4 datagram (RFC 791, section 3.1), of an IPv6 payload (RFC 8200, section 3): 16 bits."""
_IPV6_HEADER = 40
_HOP_BY_HOP = 0
"""The next header behind which a jumbogram says its length (RFC 2675, section 2)."""
_u16 = struct.Struct("!H")


def append_trailer(ip: bytes, header: bytes) -> bytes:
    """Return the datagram `ip` with `header` behind it and its length fields adapted.

    Raises:
        PduError: `ip` is no whole IP datagram, is a jumbogram (RFC 2675), or would be too long.
    """
    _, total = _bounds(ip)
    size = len(header)
    if total + size > _MAX_LENGTH + (_IPV6_HEADER if ip[0] >> 4 == 6 else 0):
        raise PduError(f"IP datagram of {total} bytes has no room for a PDCP header of {size}")
    return b"".join((*_resized(ip, total + size, size), ip[12:total], header))


def split_trailer(ip: bytes, size: int) -> tuple[bytes, bytes]:
    """Return the last `size` bytes of the datagram `ip`, and the datagram without them.

    The second is byte for byte what `append_trailer` was given. (Exception: an IPv4 checksum of
    0xFFFF, which no sender computes, becomes 0x0000, the other writing of the same value.)

    Raises:
        PduError: `ip` is no whole IP datagram, is a jumbogram (RFC 2675), or its payload is
            shorter than `size`.
    """
    payload, total = _bounds(ip)
    end = total - size
    if end < payload:
        raise PduError(f"IP datagram of {total} bytes carries no PDCP header of {size} bytes")
    return ip[end:total], b"".join((*_resized(ip, end, -size), ip[12:end]))


def _bounds(ip: bytes) -> tuple[int, int]:
    """Return where a datagram's payload begins and where it ends, or raise PduError.

    The payload of IPv6 is what its length counts, extension headers included (RFC 8200, section 3).
    """
    version, least = ip[0] >> 4 if ip else 4, 20
    if version == 6:
        least = _IPV6_HEADER
    if len(ip) < least:
        raise PduError(f"IP datagram truncated: {len(ip)} bytes, the header alone has {least}")
    if version == 6:
        begin, end = _IPV6_HEADER, _IPV6_HEADER + _u16.unpack_from(ip, 4)[0]
        if end == begin and ip[6] == _HOP_BY_HOP:
            raise PduError("IPv6 jumbogram (RFC 2675): its length is not in the payload length")
    else:
        begin, end = (ip[0] & 0x0F) * 4, _u16.unpack_from(ip, 2)[0]
        if version != 4:
            raise PduError(f"not an IP datagram: version {version}; allowed: 4, 6")
        if not least <= begin <= end:
            raise PduError(f"IPv4 header length {begin} is not in {least}..{end} (total length)")
    if len(ip) < end:
        raise PduError(f"IP datagram truncated: {len(ip)} of {end} bytes")
    return begin, end


def _resized(ip: bytes, total: int, growth: int) -> tuple[bytes, ...]:
    """Return the first 12 bytes of a datagram of another length, with a matching checksum.

    RFC 1624 equation 4: a field that grows by d lowers the checksum by d in one's complement. That
    is arithmetic modulo 0xFFFF, whose representatives 0..0xFFFE are what a sender would compute:
    the one's complement sum of a header is never 0, hence its complement never 0xFFFF.
    """
    if ip[0] >> 4 == 6:
        return ip[:4], _u16.pack(total - _IPV6_HEADER), ip[6:12]
    checksum = (_u16.unpack_from(ip, 10)[0] - growth) % 0xFFFF
    return ip[:2], _u16.pack(total), ip[4:10], _u16.pack(checksum)
