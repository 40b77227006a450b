"""Facts from a packet's headers, for rules that treat packets differently.

The input is an IP datagram (real clock) or a UDP payload (virtual clock, where packets have no
headers). Bytes that are not a packet of a known kind give the default facts and raise no error.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple

TCP, UDP = 6, 17
"""IANA, protocol numbers."""
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
"""RFC 9293, section 3.1."""
EXTENSIONS: Final = frozenset({0, 43, 60})
"""IPv6 headers that may come first: hop-by-hop, routing, destination options (RFC 8200)."""
LONGEST_CONNECTION_ID: Final = 20
"""Bytes, in QUIC versions 1 and 2 (RFC 9000, section 17.2)."""
_LONG_HEADER: Final = 0xC0
"""Header form and fixed bit (RFC 9000, section 17.2); by the latter it differs from RTP."""
_ipv4 = struct.Struct("!BBHHHBBH4s4s").unpack_from
_ipv6 = struct.Struct("!IHBB16s16s").unpack_from
_tcp = struct.Struct("!4sIIBB").unpack_from


class PacketKind(Enum):
    """What a packet is to its transport, as far as its headers say."""

    HANDSHAKE = auto()
    """TCP with SYN, FIN or RST; UDP with a long header of QUIC, 0-RTT among them."""
    ACK = auto()
    """TCP with nothing but an acknowledgement."""
    UDP = auto()
    """Other UDP; QUIC encrypts all that would tell more."""
    OTHER = auto()
    """Everything else, also malformed packets and all fragments but the first."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Where in its flow a TCP segment is.

    Attributes:
        flow: addresses and ports of this direction, as bytes.
        sequence: number of its first byte.
        length: of its data, SYN and FIN counted as a byte each (RFC 9293, section 3.4).
    """

    flow: bytes
    sequence: int
    length: int


@dataclass(frozen=True, slots=True)
class PacketFacts:
    """Facts that a packet's headers tell of it.

    Attributes:
        dscp: code point of RFC 2474, 0 to 63; 0 without an IP header.
        kind: what it is to its transport.
        segment: of TCP, else None.
    """

    dscp: int = 0
    kind: PacketKind = PacketKind.OTHER
    segment: Segment | None = None


class _Payload(NamedTuple):
    dscp: int
    protocol: int
    addresses: bytes
    data: bytes


def classify_datagram(datagram: bytes) -> PacketFacts:
    """Return what the headers of an IPv4 or IPv6 datagram tell, defaults where they are cut."""
    try:
        payload = _ipv4_payload(datagram) if datagram[0] >> 4 == 4 else _ipv6_payload(datagram)
        if payload.protocol == TCP:
            return _classify_tcp(payload)
        if payload.protocol == UDP and len(payload.data) >= 8:
            return PacketFacts(payload.dscp, _udp_kind(payload.data[8:]))
    except (struct.error, IndexError):
        return PacketFacts()
    return PacketFacts(payload.dscp)


def flow_id(datagram: bytes) -> bytes:
    """Return addresses, protocol and ports of an IPv4 or IPv6 datagram; of a cut one, nothing.

    Fragments behind the first one have no ports.
    """
    try:
        payload = _ipv4_payload(datagram) if datagram[0] >> 4 == 4 else _ipv6_payload(datagram)
    except (struct.error, IndexError):
        return b""
    ports = payload.data[:4] if payload.protocol in (TCP, UDP) else b""
    return payload.addresses + bytes([payload.protocol & 0xFF]) + ports


def classify_udp(payload: bytes, dscp: int = 0) -> PacketFacts:
    """Return what the payload of a UDP datagram with a code point tells of it."""
    return PacketFacts(dscp, _udp_kind(payload))


def _ipv4_payload(datagram: bytes) -> _Payload:
    first, service, total, _, fragment, _, protocol, _, source, destination = _ipv4(datagram)
    header = (first & 0xF) * 4
    if not 20 <= header <= total <= len(datagram):
        raise IndexError
    if fragment & 0x1FFF:  # a later fragment has no header of the transport's
        protocol = -1
    return _Payload(service >> 2, protocol, source + destination, datagram[header:total])


def _ipv6_payload(datagram: bytes) -> _Payload:
    first, length, following, _, source, destination = _ipv6(datagram)
    if first >> 28 != 6 or 40 + length > len(datagram):
        raise IndexError
    data = datagram[40 : 40 + length]
    while following in EXTENSIONS:
        following, data = data[0], data[8 + 8 * data[1] :]
    return _Payload(first >> 22 & 0x3F, following, source + destination, data)


def _classify_tcp(payload: _Payload) -> PacketFacts:
    ports, sequence, _, offset, flags = _tcp(payload.data)
    header = (offset >> 4) * 4
    if not 20 <= header <= len(payload.data):
        raise IndexError
    data = len(payload.data) - header
    length = data + bool(flags & SYN) + bool(flags & FIN)
    segment = Segment(payload.addresses + ports, sequence, length)
    kind = PacketKind.OTHER
    if flags & (SYN | FIN | RST):
        kind = PacketKind.HANDSHAKE
    elif flags & ACK and not data:
        kind = PacketKind.ACK
    return PacketFacts(payload.dscp, kind, segment)


def _udp_kind(payload: bytes) -> PacketKind:
    """Return a handshake for a payload that begins with a QUIC long header (RFC 9000, 17.2).

    That is 1 byte, 4 of version, then both connection IDs, each behind a byte with its length.
    """
    place = 5
    if not payload or payload[0] & _LONG_HEADER != _LONG_HEADER:
        return PacketKind.UDP
    for _ in range(2):
        if place >= len(payload) or payload[place] > LONGEST_CONNECTION_ID:
            return PacketKind.UDP
        place += 1 + payload[place]
    return PacketKind.HANDSHAKE if place <= len(payload) else PacketKind.UDP


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
