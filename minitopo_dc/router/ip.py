"""IP datagrams as a router reads and makes them: errors of ICMP, datagrams of UDP, options of IPv4.

The kernel checks options behind the queue that an element reads, and discards a packet whose
options it cannot read. If that packet had a number, the receiver would wait for it in vain. So the
same is checked here before: RFC 791, section 3.1, and RFC 1812, section 5.3.13, as Linux follows
them. A router also refuses source routes (RFC 7126, sections 4.3 and 4.4; Linux, unless configured
otherwise) and security labels of domains that it does not know (CIPSO).
"""

from __future__ import annotations

import socket
import struct
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from minitopo_dc.pdcp import SN_BITS, sn_format

IPV4_HEADER = 20
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
        addresses = datagram[24:40] + datagram[8:24]
        body = struct.pack("!BBHI", 2, 0, 0, mtu) + datagram[:QUOTED_IPV6]
        pseudo = addresses + struct.pack("!II", len(body), ICMPV6)
        return _datagram(addresses, ICMPV6, _with_checksum(body, pseudo))
    quoted = (datagram[0] & 0xF) * 4 + QUOTED_IPV4
    body = _with_checksum(struct.pack("!BBHHH", 3, 4, 0, 0, mtu) + datagram[:quoted])
    return _datagram(datagram[16:20] + datagram[12:16], ICMP, body)


def _datagram(addresses: bytes, protocol: int, body: bytes) -> bytes:
    """Return an IP datagram from the first of two addresses to the second."""
    if len(addresses) == 2 * 16:
        return struct.pack("!IHBB", 6 << 28, len(body), protocol, TTL) + addresses + body
    head = struct.pack("!BBHHHBB", 0x45, 0, IPV4_HEADER + len(body), 0, 0, TTL, protocol)
    return head + checksum(head + bytes(2) + addresses) + addresses + body


def _with_checksum(body: bytes, pseudo: bytes = b"") -> bytes:
    return body[:2] + checksum(pseudo + body) + body[4:]


def checksum(data: bytes) -> bytes:
    """Return the Internet checksum (RFC 1071)."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


Address = IPv4Address | IPv6Address
NO_CHECKSUM = bytes(2)
"""RFC 768: such a one is sent as all ones."""


def udp_datagram(source: Address, destination: Address, port: int, payload: bytes) -> bytes:
    """Return a UDP datagram (RFC 768) from `port` to the same port, in an IP datagram."""
    length = 8 + len(payload)
    addresses = source.packed + destination.packed
    pseudo = addresses + struct.pack("!II", length, socket.IPPROTO_UDP)  # RFC 8200, section 8.1
    without = struct.pack("!HHHH", port, port, length, 0) + payload
    own = checksum(pseudo + without)
    if own == NO_CHECKSUM:
        own = b"\xff\xff"
    return _datagram(addresses, socket.IPPROTO_UDP, without[:6] + own + payload)


END, NO_OPERATION = 0, 1
RECORD_ROUTE, TIMESTAMP, ROUTER_ALERT = 7, 68, 148
LOOSE_ROUTE, CIPSO, STRICT_ROUTE = 131, 134, 137
"""IANA, IP option numbers."""
_REFUSED: Final = frozenset({LOOSE_ROUTE, CIPSO, STRICT_ROUTE})
_ONCE: Final = frozenset({RECORD_ROUTE, TIMESTAMP})
_ADDRESS = 4
"""Bytes of an IPv4 address, and of a timestamp."""
_WITH_ADDRESS, _PRESPECIFIED = 1, 3
"""Flags of a timestamp behind an address: of any router, or of those that the sender names."""
_SHORTEST, _LONGEST = 0x46, 0x4F
"""First bytes of IPv4 headers with options: version 4, and a length of 6 to 15 words."""


def may_be_forwarded(datagram: bytes) -> bool:
    """Return whether a router forwards an IP datagram with its options; True without any.

    The header of `datagram` must be whole.
    """
    if not _SHORTEST <= datagram[0] <= _LONGEST:
        return True
    options = datagram[20 : (datagram[0] & 0x0F) * 4]
    seen: set[int] = set()
    while options and options[0] != END:
        kind = options[0]
        if kind == NO_OPERATION:
            options = options[1:]
            continue
        length = options[1] if len(options) > 1 else 0
        if not 2 <= length <= len(options) or kind in _REFUSED or kind in seen & _ONCE:
            return False
        if not _is_readable(kind, options[:length]):
            return False
        seen.add(kind)
        options = options[length:]
    return True


def _is_readable(kind: int, option: bytes) -> bool:
    """Return whether a router can read an option, and add to it what it adds.

    The pointer of a recorded route lies behind byte 3, that of a timestamp behind byte 4, at room
    for an entry or at the end; a full timestamp can count the overflow. A router alert has its two
    bytes of value (RFC 2113).
    """
    if kind == ROUTER_ALERT:
        return len(option) >= 4
    if kind == RECORD_ROUTE:
        return len(option) >= 3 and option[2] >= 4 and _has_room(option, _ADDRESS)
    if kind != TIMESTAMP:
        return True
    if len(option) < 4 or option[2] < 5:
        return False
    overflow, flag = option[3] >> 4, option[3] & 0x0F
    if option[2] > len(option):
        return flag == _PRESPECIFIED or overflow < 15
    return _has_room(option, 2 * _ADDRESS if flag in (_WITH_ADDRESS, _PRESPECIFIED) else _ADDRESS)


def _has_room(option: bytes, size: int) -> bool:
    pointer = option[2]  # counts from 1
    return pointer > len(option) or pointer + size - 1 <= len(option)
