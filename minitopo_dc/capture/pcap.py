"""Capture files: classic pcap with times in nanoseconds, one IP datagram a record.

The format is that of the IETF draft draft-ietf-opsawg-pcap: a file header, then for each packet a
header of 16 bytes and its bytes. The link type LINKTYPE_RAW says that a record starts with an IPv4
or IPv6 header.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from minitopo_dc.units import NS_PER_S

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
        try:
            self._file.write(_RECORD_HEADER.pack(seconds, nanoseconds, size, size) + frame)
        except OSError as error:
            raise self._named(error) from None

    def fileno(self) -> int:
        """Return the descriptor, for another writer of records, behind what was written."""
        self._flush(self._file.flush)
        return self._file.fileno()

    def close(self) -> None:
        """Write what is left in the buffer; it may be called again."""
        self._flush(self._file.close)

    def _flush(self, way: Callable[[], None]) -> None:
        try:
            way()
        except OSError as error:
            raise self._named(error) from None

    def _named(self, error: OSError) -> OSError:
        return OSError(error.errno, error.strerror, str(self.path))


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
