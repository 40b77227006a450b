"""The PDCP status report: what a receiving entity still misses (TS 38.323 clauses 5.4.1, 6.2.3.1).

A PDCP control PDU, most significant bit first::

    1 byte    D/C 0, PDU type 000, R R R R
    4 bytes   FMC: COUNT of the first missing SDU, which is RX_DELIV
    n bytes   bitmap: bit k, counted from 1, is of COUNT FMC + k, modulo 2^32; 1: received

COUNTs of this project grow beyond 32 bits. The PDU has them modulo 2^32, as the clause says, and
`StatusReport.near` restores them from the COUNTs that were sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Self

from minitopo_dc.pdcp.formats.codec import PduError

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
