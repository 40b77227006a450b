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
"""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass
from typing import Final

from minitopo_dc.pdcp.formats.codec import PduError
from minitopo_dc.pdcp.formats.status_report import StatusReport, decode_status, encode_status

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
    if len(data) < size:
        raise PduError(f"report of {len(data)} bytes: must be {size} for {legs} legs")
    version, count, number = _HEAD.unpack_from(data)
    if version not in (VERSION, WITH_STATUS):
        raise PduError(f"report of version {version}: must be {VERSION} or {WITH_STATUS}")
    if version == VERSION and len(data) != size:
        raise PduError(f"report of {len(data)} bytes: must be {size} for {legs} legs")
    if count != legs:
        raise PduError(f"report of {count} legs: must be {legs}")
    if not number:
        raise PduError("report number 0: must be 1 or more")
    parts = _LEG.iter_unpack(data[_HEAD.size : size])
    receptions = tuple(_checked(LegReception(*part)) for part in parts)
    status = decode_status(data[size:]) if version == WITH_STATUS else None
    return Report(number, receptions, status)


def _checked(leg: LegReception) -> LegReception:
    if bool(leg.next_count) != bool(leg.pdus) or leg.reordered > leg.pdus:
        raise PduError(f"report that contradicts itself: {leg}")
    return leg
