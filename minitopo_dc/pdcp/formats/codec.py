"""PDCP data PDU headers: the sequence number (SN) and the bits around it.

TS 38.323 clause 6.2.2 has two headers for the data PDUs of DRBs, most significant bit first::

    12-bit SN, 2 bytes:  D/C R R R SN(12)
    18-bit SN, 3 bytes:  D/C R R R R R SN(18)

D/C is 1 for a data PDU and 0 for a control PDU (clause 6.3.7), R is reserved and 0 (clause 6.3.6).
The thesis "QUIC over Dual Connectivity" (section 4.2) has a plain 16-bit number and nothing else.
"""

from __future__ import annotations

from typing import Final

from minitopo_dc.errors import MinitopoDcError


class PduError(MinitopoDcError, ValueError):
    """Error: a PDU, or the IP datagram that carries it, does not follow its format."""


class SnFormat:
    """One format of the data PDU header; `sn_format(bits)` gives the single instance of each.

    Attributes:
        bits: length of the SN in bits.
        size: length of the header in bytes.
        modulus: 2^bits; the SN of a COUNT is COUNT modulo this (TS 38.323 clause 6.3.5).
    """

    __slots__ = ("_leading", "_whole", "bits", "modulus", "size")

    def __init__(self, bits: int, size: int, leading: int) -> None:
        self.bits: Final = bits
        self.size: Final = size
        self.modulus: Final = 1 << bits
        self._leading: Final = leading
        self._whole: Final = leading << bits

    def __repr__(self) -> str:
        return f"sn_format({self.bits})"

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
        if sn >= self.modulus:
            raise self._unexpected(header)
        return sn

    def _unexpected(self, header: bytes) -> PduError:
        if not header[0] & 0x80:
            return PduError(f"PDCP control PDU (D/C bit 0) where data is expected: {header.hex()}")
        return PduError(f"PDCP header with a reserved bit that is not 0: {header.hex()}")


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
