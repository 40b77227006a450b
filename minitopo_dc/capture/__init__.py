"""Captures of legs that Wireshark reads (docs/element.md); `layers` has the formats for scapy.

A file is classic pcap with times in nanoseconds, one IP datagram a record.

The format is that of the IETF draft draft-ietf-opsawg-pcap: a file header, then for each packet a
header of 16 bytes and its bytes. The link type LINKTYPE_RAW says that a record starts with an IPv4
or IPv6 header.

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
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from minitopo_dc.fields import Direction
from minitopo_dc.pdcp import PduError, sn_format, split_trailer
from minitopo_dc.units import NS_PER_S

__all__ = [
    "CaptureFile",
    "Framing",
    "frame_start",
    "pdu_framing",
    "read_capture",
    "wall_clock_offset",
]

NANOSECOND_MAGIC = 0xA1B23C4D
VERSION = (2, 4)
LINKTYPE_RAW = 101
LONGEST = 65_535
"""Bytes of the longest IPv4 datagram (RFC 791, section 3.1); nothing is cut."""
BUFFER = 1 << 16
"""Bytes written to the file at once, some 40 full packets: larger ones make longer pauses."""
READINGS = 16
SNAPSHOT = 262_144
"""Bytes of the longest record of tcpdump; one that is longer is no packet."""

_FILE_HEADER = struct.Struct("=IHHiIII")
_RECORD_HEADER = struct.Struct("=IIII")


class CaptureFile:
    """A capture that is being written; each packet is one write to a buffer.

    Args:
        path: the file; one that exists is replaced.
        offset: what turns the times given to `write` into those since 1970, in ns.

    Raises:
        OSError: the file cannot be written; also from the methods. It names the file.
    """

    def __init__(self, path: Path, offset: int) -> None:
        self.path, self.offset = path, offset
        self._file = path.open("wb", buffering=BUFFER)
        self._file.write(_FILE_HEADER.pack(NANOSECOND_MAGIC, *VERSION, 0, 0, LONGEST, LINKTYPE_RAW))

    def write(self, now: int, frame: bytes) -> None:
        """Add a packet seen at `now` (ns)."""
        seconds, nanoseconds = divmod(now + self.offset, NS_PER_S)
        size = len(frame)
        self._do(self._file.write, _RECORD_HEADER.pack(seconds, nanoseconds, size, size) + frame)

    def fileno(self) -> int:
        """Return the descriptor, for another writer of records, behind what was written."""
        self._do(self._file.flush)
        return self._file.fileno()

    def close(self) -> None:
        """Write what is left in the buffer; it may be called again."""
        self._do(self._file.close)

    def _do(self, way: Callable[..., object], *content: bytes) -> None:
        try:
            way(*content)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from None


def read_capture(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the packets of a file of `CaptureFile`, each with its time since 1970 in ns.

    One packet at a time is in memory.

    Raises:
        ValueError: it is none, or was cut.
        OSError: it cannot be read.
    """
    head = file.read(_FILE_HEADER.size)
    if len(head) < _FILE_HEADER.size or _FILE_HEADER.unpack(head)[0] != NANOSECOND_MAGIC:
        raise ValueError("not a capture with times in ns")
    while header := file.read(_RECORD_HEADER.size):
        if len(header) < _RECORD_HEADER.size:
            raise ValueError("a capture that was cut")
        seconds, nanoseconds, size, _ = _RECORD_HEADER.unpack(header)
        if size > SNAPSHOT:
            raise ValueError(f"a packet of {size:,} bytes; allowed: {SNAPSHOT:,}")
        frame = file.read(size)
        if len(frame) < size:
            raise ValueError("a capture that was cut")
        yield seconds * NS_PER_S + nanoseconds, frame


def wall_clock_offset() -> int:
    """Return what to add to the monotonic clock to get the time since 1970, in ns.

    Of several readings the one is taken that was interrupted least. Both clocks are slewed alike,
    so the offset holds until the wall clock is set.
    """
    readings = []
    for _ in range(READINGS):
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        readings.append((after - before, wall - (before + after) // 2))
    return min(readings)[1]


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
_SUM = _VERSION_IHL_TOS + _TTL_PROTOCOL + sum(struct.unpack("!4H", NETWORK + TERMINAL))
"""The sum of all of the IPv4 header but its length."""
_UDP_HEADER = 8
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
    start = frame_start(leg=leg, bearer=bearer, direction=direction, sn_bits=sn_bits)
    tags, before = start[_OUTER.size :], len(start) + size

    def frame(datagram: bytes) -> bytes:
        try:
            header, sdu = split_trailer(datagram, size)
        except PduError:
            return datagram
        if not start:
            return sdu + header
        if before + len(sdu) > LONGEST:
            return datagram
        return b"".join((_outer(direction, before + len(sdu)), tags, header, sdu))

    return frame


def frame_start(*, leg: int, bearer: int, direction: Direction, sn_bits: int) -> bytes:
    """Return what stands before the PDU in its frame, with the lengths of a frame without a PDU.

    With 16 bits it is empty, as the number stands behind.

    Raises:
        ValueError: there is no such SN size.
    """
    sn_format(sn_bits)  # which there must be
    if sn_bits == 16:
        return b""
    tags = SIGNATURE
    tags += bytes((USER_PLANE, SN_LENGTH_TAG, sn_bits, DIRECTION_TAG, DIRECTIONS[direction]))
    tags += bytes((BEARER_TYPE_TAG, DEDICATED, BEARER_ID_TAG, bearer & 0xFF))
    tags += struct.pack("!BHB", UEID_TAG, leg, PAYLOAD_TAG)
    return _outer(direction, _OUTER.size + len(tags)) + tags


def _outer(direction: Direction, total: int) -> bytes:
    """Return the headers of a datagram of `total` bytes."""
    return _OUTER.pack(
        _VERSION_IHL_TOS,
        total,
        0,  # identification and fragment offset: it is no fragment
        _TTL_PROTOCOL,
        -(_SUM + total) % 0xFFFF,  # a one's complement sum is one modulo 0xFFFF (RFC 1071)
        *((NETWORK, TERMINAL) if direction == "downlink" else (TERMINAL, NETWORK)),
        *(PORT, PORT),
        total - _OUTER.size + _UDP_HEADER,
        _NO_CHECKSUM,
    )
