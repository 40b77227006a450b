"""The receiver's report: what a receiving entity received on each leg, and its wire format.

The report gives for each leg of a bearer what DL DELIVERY STATUS of TS 38.425 clause 5.5.2.2 gives
for one node (highest PDCP SN delivered, lost SNs). It is sent by the receiving PDCP entity, as a
PDCP status report is (TS 38.323 clause 6.2.3.1). The format is this project's, and all numbers are
big-endian::

    1 byte   version: 1, or 2 with a status report behind the legs
    1 byte   number of legs
    4 bytes  number of the report on its grid, from 1: one that is late takes the latest's
    then for each leg of the bearer, in its order:
    8 bytes  highest COUNT received on the leg plus 1; 0: nothing was
    8 bytes  PDUs received
    8 bytes  bytes of their SDUs
    8 bytes  SDUs received on it that waited in the reordering buffer
    8 bytes  sum of their waiting times, ns
    then with version 2: a PDCP status report, up to the end

All counters start with the entity, so a lost report loses no information.

The PDCP status report tells what a receiving entity still misses (TS 38.323 clauses 5.4.1,
6.2.3.1). A PDCP control PDU, most significant bit first::

    1 byte    D/C 0, PDU type 000, R R R R
    4 bytes   FMC: COUNT of the first missing SDU, which is RX_DELIV
    n bytes   bitmap: bit k, counted from 1, is of COUNT FMC + k, modulo 2^32; 1: received

COUNTs of this project grow beyond 32 bits. The PDU has them modulo 2^32, as the clause says, and
`StatusReport.near` restores them from the COUNTs that were sent.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from typing import Any, Final, Self

from minitopo_dc.pdcp.codec import PduError

COUNTS: Final = 1 << 32
"""COUNT has 32 bits (TS 38.323 clause 6.3.5)."""
MAX_BYTES: Final = 9000
"""Of the whole PDU (TS 38.323 clause 5.4.1)."""
HEADER_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class StatusReport:
    """What a receiving entity has from COUNT `fmc` on; all COUNTs below it are settled.

    Attributes:
        fmc: first missing COUNT.
        bitmap: from COUNT `fmc` + 1 on, 1 for received; without out-of-order SDUs it is empty.
    """

    fmc: int
    bitmap: bytes = b""

    @classmethod
    def of(cls, fmc: int, received: Iterable[int], limit: int = MAX_BYTES) -> Self:
        """Return the report that `fmc` is missing and each COUNT of `received` (above it) is not.

        The bitmap ends with the highest one, rounded up to bytes, or when the PDU has `limit`.
        """
        room = min(limit, MAX_BYTES) - HEADER_BYTES
        offsets = [offset for count in received if (offset := count - fmc - 1) < room * 8]
        bitmap = bytearray(max(offsets) // 8 + 1 if offsets else 0)
        for offset in offsets:
            bitmap[offset >> 3] |= 0x80 >> (offset & 7)
        return cls(fmc, bytes(bitmap))

    def near(self, next_count: int) -> StatusReport:
        """Return this report with its full COUNT, for a sender of COUNTs below `next_count`.

        Raises:
            PduError: no COUNT up to `next_count` is `fmc` modulo 2^32.
        """
        fmc = next_count - (next_count - self.fmc) % COUNTS
        if fmc < 0:
            raise PduError(f"FMC {self.fmc}: of {next_count} COUNTs sent none is meant")
        return replace(self, fmc=fmc)

    def received(self, count: int) -> bool:
        """Return whether the receiver does not need a COUNT any more.

        That holds for each COUNT below FMC (delivered or given up) and for those marked in the
        bitmap. A COUNT beyond the bitmap was not received when the report was made, or did not fit
        into it.
        """
        offset = count - self.fmc - 1
        if offset < 0:
            return offset < -1  # FMC itself is missing
        index = offset >> 3
        return index < len(self.bitmap) and bool(self.bitmap[index] & 0x80 >> (offset & 7))


def encode_status(status: StatusReport) -> bytes:
    """Return the bytes of a status report as a PDCP control PDU (TS 38.323 clause 6.2.3.1)."""
    return b"\x00" + (status.fmc % COUNTS).to_bytes(4, "big") + status.bitmap


def decode_status(data: bytes) -> StatusReport:
    """Return the status report of a PDCP control PDU, with COUNTs modulo 2^32.

    Raises:
        PduError: it is no status report.
    """
    if not HEADER_BYTES <= len(data) <= MAX_BYTES:
        allowed = f"{HEADER_BYTES} to {MAX_BYTES}"
        raise PduError(f"PDCP status report of {len(data)} bytes: must have {allowed}")
    if data[0]:
        raise PduError(f"PDCP status report that begins with {data[0]:#04x}: must be 0x00")
    return StatusReport(int.from_bytes(data[1:HEADER_BYTES], "big"), data[HEADER_BYTES:])


VERSION: Final = 1
WITH_STATUS: Final = 2
"""The version with a status report."""
_HEAD: Final = struct.Struct("!BBI")
_LEG: Final = struct.Struct("!5Q")


@dataclass(frozen=True, slots=True)
class LegReception:
    """What a receiving entity got by one leg since the entity was made.

    Attributes:
        next_count: highest COUNT received on the leg plus 1; 0: nothing was.
        pdus: PDUs received, those that the entity discarded included.
        bytes: of their SDUs, without PDCP headers.
        reordered: SDUs that came by it and waited in the reordering buffer.
        reordering_ns: sum of their waiting times.
    """

    next_count: int
    pdus: int
    bytes: int
    reordered: int
    reordering_ns: int


@dataclass(frozen=True, slots=True)
class Report:
    """One report; `number` is its place on the grid of report times, from 1.

    The FMC of its `status`, if it has one, is modulo 2^32.
    """

    number: int
    legs: tuple[LegReception, ...]
    status: StatusReport | None = None


def encode_report(report: Report) -> bytes:
    """Return the bytes of a report, in the format of this module."""
    version = VERSION if report.status is None else WITH_STATUS
    head = _HEAD.pack(version, len(report.legs), report.number)
    status = b"" if report.status is None else encode_status(report.status)
    return b"".join((head, *(_LEG.pack(*astuple(leg)) for leg in report.legs), status))


def report_size(legs: int) -> int:
    """Return the bytes of a report that has no status report."""
    return _HEAD.size + legs * _LEG.size


def decode_report(data: bytes, legs: int) -> Report:
    """Return the report that these bytes hold, for a bearer with this number of legs.

    Raises:
        PduError: it is none.
    """
    size = report_size(legs)
    if len(data) < size or (data[0] == VERSION and len(data) > size):
        raise PduError(f"report of {len(data)} bytes: must be {size} for {legs} legs")
    version, count, number = _HEAD.unpack_from(data)
    if version not in (VERSION, WITH_STATUS):
        raise PduError(f"report of version {version}: must be {VERSION} or {WITH_STATUS}")
    if count != legs:
        raise PduError(f"report of {count} legs: must be {legs}")
    if not number:
        raise PduError("report number 0: must be 1 or more")
    parts = _LEG.iter_unpack(data[_HEAD.size : size])
    receptions = tuple(LegReception(*part) for part in parts)
    for leg in receptions:
        if bool(leg.next_count) != bool(leg.pdus) or leg.reordered > leg.pdus:
            raise PduError(f"report that contradicts itself: {leg}")
    status = decode_status(data[size:]) if version == WITH_STATUS else None
    return Report(number, receptions, status)


MAX_REPORT_BYTES: Final = 1500 - 40 - 8
"""Of a report with a status report: with IPv6's and UDP's header what Ethernet carries (RFC 894).

Over two legs a status report then tells of 10,888 COUNTs; over 36 or more of none but FMC.
"""


class ReportMaker:
    """Makes the reports of a receiving entity, of either core.

    Args:
        entity: what has arrived there (`receptions`, `status`).
        legs: number of the bearer's legs.
        interval: ns from one report to the next, above 0.
        with_status: whether each has the entity's status report in it.
    """

    def __init__(self, entity: Any, *, legs: int, interval: int, with_status: bool = False) -> None:
        self._entity = entity
        self._interval = interval
        self._status_bytes = (
            max(HEADER_BYTES, MAX_REPORT_BYTES - report_size(legs)) if with_status else 0
        )
        self._due: int | None = None
        self._number = 0
        self.made = 0
        """Number of reports made so far."""

    def start(self, now: int) -> None:
        """Start reporting: the first report is due one interval after `now` (ns)."""
        self._due = now + self._interval

    def next_timeout(self) -> int | None:
        """Return when the next report is due (ns), None before the start."""
        return self._due

    def poll(self, now: int) -> bytes | None:
        """Return the bytes of a report if one is due at `now` (ns), else None.

        Late or not, the next one is due on the grid of the first. The report's number is that of
        the latest moment of the grid, so it tells when the report was made.
        """
        if self._due is None or now < self._due:
            return None
        passed = (now - self._due) // self._interval + 1
        self._due += self._interval * passed
        self._number += passed
        self.made += 1
        status = self._entity.status(self._status_bytes) if self._status_bytes else None
        return encode_report(Report(self._number, self._entity.receptions(), status))
