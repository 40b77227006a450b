"""The form of a PDU in a capture.

Wireshark finds PDCP of 5G by a heuristic of its UDP dissector, *pdcp_nr_udp*. The payload of such a
UDP datagram is, by the names of Wireshark's packet-pdcp-nr.h::

    PDCP_NR_START_STRING  "pdcp-nr"
    plane, 1 byte         NR_USER_PLANE
    tags                  1 byte each, then a value of a fixed size; in any order
    PDCP_NR_PAYLOAD_TAG   then the PDU, to the end of the datagram

The datagram exists in the capture only. Its addresses are of the block for documentation (RFC
5737), so that they cannot be taken for anyone's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from minitopo_dc.fields import Direction
from minitopo_dc.pdcp import PduError, sn_format, split_trailer

Framing = Callable[[bytes], bytes]
"""Takes an IP datagram as it is on a leg, returns what the capture holds of it."""

SIGNATURE = b"pdcp-nr"
USER_PLANE = 2
PAYLOAD_TAG, SN_LENGTH_TAG, DIRECTION_TAG = 1, 2, 3
BEARER_TYPE_TAG, BEARER_ID_TAG, UEID_TAG = 4, 5, 6
DIRECTIONS: dict[Direction, int] = {"uplink": 0, "downlink": 1}
DEDICATED = 1
"""The bearer type with which Wireshark calls a bearer of the user plane DRB-1, DRB-2, ..."""

PORT = 38_323
"""Both ports: one that Wireshark leaves to its heuristics."""
NETWORK, TERMINAL = bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2))

_OUTER = struct.Struct("!HHIHH4s4sHHHH")
"""IPv4 (RFC 791, section 3.1) and UDP (RFC 768) headers."""
_VERSION_IHL_TOS = 0x4500
_TTL_PROTOCOL = 64 << 8 | 17
_UDP_HEADER = 8
_LONGEST = 65_535
"""Of an IPv4 datagram (RFC 791, section 3.1)."""
_NO_CHECKSUM = 0


def pdu_framing(*, leg: int, bearer: int, direction: Direction, sn_bits: int) -> Framing:
    """Return the function that frames the PDUs of one bearer on one leg for a capture.

    With 12 or 18 bits the frame is as above, where the leg is the UE's number (ueid), so that
    Wireshark follows each leg's numbers by themselves. With 16 bits, which Wireshark does not know,
    it is the datagram as the end host wrote it, and behind it, where no protocol looks, the number.
    What is no PDU, or leaves no room for the rest of the frame, stays what it is.

    Raises:
        ValueError: there is no such SN size.
    """
    size = sn_format(sn_bits).size
    if sn_bits == 16:
        return lambda datagram: _number_behind(datagram, size)
    return _Framing(leg, bearer, direction, sn_bits, size).frame


def frame_start(*, leg: int, bearer: int, direction: Direction, sn_bits: int) -> bytes:
    """Return what stands before the PDU in its frame, with the lengths of a frame without a PDU.

    With 16 bits it is empty, as the number stands behind.

    Raises:
        ValueError: there is no such SN size.
    """
    size = sn_format(sn_bits).size
    return b"" if sn_bits == 16 else _Framing(leg, bearer, direction, sn_bits, size).start()


class _Framing:
    """Puts PDUs into UDP datagrams; what is no PDU, or too long, stays what it is."""

    __slots__ = ("_checksum", "_destination", "_header_size", "_source", "_start_size", "_tags")

    def __init__(
        self, leg: int, bearer: int, direction: Direction, sn_bits: int, header_size: int
    ) -> None:
        self._tags = b"".join(
            (
                SIGNATURE,
                bytes((USER_PLANE, SN_LENGTH_TAG, sn_bits, DIRECTION_TAG, DIRECTIONS[direction])),
                bytes((BEARER_TYPE_TAG, DEDICATED, BEARER_ID_TAG, bearer & 0xFF)),
                struct.pack("!BHB", UEID_TAG, leg, PAYLOAD_TAG),
            )
        )
        ends = (NETWORK, TERMINAL) if direction == "downlink" else (TERMINAL, NETWORK)
        self._source, self._destination = ends
        words = struct.unpack("!4H", NETWORK + TERMINAL)
        # All of the header but its length; a one's complement sum is one modulo 0xFFFF (RFC 1071).
        self._checksum = -(_VERSION_IHL_TOS + _TTL_PROTOCOL + sum(words))
        self._header_size = header_size
        self._start_size = _OUTER.size + len(self._tags)

    def start(self) -> bytes:
        """Return what is before the PDU, as if there were none behind it."""
        return self._outer(self._start_size) + self._tags

    def frame(self, datagram: bytes) -> bytes:
        """Return the datagram of the capture for a datagram with its PDCP header behind it."""
        try:
            header, sdu = split_trailer(datagram, self._header_size)
        except PduError:
            return datagram
        total = self._start_size + self._header_size + len(sdu)
        if total > _LONGEST:
            return datagram
        return b"".join((self._outer(total), self._tags, header, sdu))

    def _outer(self, total: int) -> bytes:
        return _OUTER.pack(
            _VERSION_IHL_TOS,
            total,
            0,  # identification and fragment offset: it is no fragment
            _TTL_PROTOCOL,
            (self._checksum - total) % 0xFFFF,
            self._source,
            self._destination,
            PORT,
            PORT,
            total - _OUTER.size + _UDP_HEADER,
            _NO_CHECKSUM,
        )


def _number_behind(datagram: bytes, size: int) -> bytes:
    try:
        header, sdu = split_trailer(datagram, size)
    except PduError:
        return datagram
    return sdu + header
