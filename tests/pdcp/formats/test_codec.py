from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.pdcp import PduError, SnFormat, sn_format

formats = st.sampled_from([sn_format(12), sn_format(16), sn_format(18)])


@pytest.mark.parametrize(
    ("bits", "sn", "header"),
    [
        (12, 0x000, "8000"),
        (12, 0xABC, "8abc"),
        (12, 0xFFF, "8fff"),
        (16, 0x0000, "0000"),
        (16, 0xFFFF, "ffff"),
        (18, 0x00000, "800000"),
        (18, 0x2ABCD, "82abcd"),
        (18, 0x3FFFF, "83ffff"),
    ],
)
def test_headers_are_those_of_clause_6_2_2(bits: int, sn: int, header: str) -> None:
    assert sn_format(bits).encode(sn).hex() == header
    assert sn_format(bits).decode(bytes.fromhex(header)) == sn


@given(formats, st.integers(0), st.binary(max_size=4), st.binary(max_size=4))
def test_decode_gives_back_what_encode_was_given(
    sn_format: SnFormat, number: int, before: bytes, after: bytes
) -> None:
    sn = number % sn_format.modulus
    header = sn_format.encode(sn)
    assert len(header) == sn_format.size
    assert sn_format.decode(before + header + after, len(before)) == sn


@pytest.mark.parametrize(("bits", "size"), [(12, 2), (16, 2), (18, 3)])
def test_a_format_knows_its_sizes(bits: int, size: int) -> None:
    assert (sn_format(bits).bits, sn_format(bits).size) == (bits, size)
    assert sn_format(bits).modulus == 2**bits


@pytest.mark.parametrize("header", ["0abc", "02abcd"])
def test_a_control_pdu_is_refused(header: str) -> None:
    buffer = bytes.fromhex(header)
    with pytest.raises(PduError, match="control PDU"):
        sn_format(12 if len(buffer) == 2 else 18).decode(buffer)


@pytest.mark.parametrize("header", ["9000", "a000", "c000", "840000", "880000", "c00000"])
def test_a_reserved_bit_that_is_set_is_refused(header: str) -> None:
    buffer = bytes.fromhex(header)
    with pytest.raises(PduError, match="reserved bit"):
        sn_format(12 if len(buffer) == 2 else 18).decode(buffer)


@pytest.mark.parametrize("bits", [12, 16, 18])
def test_a_truncated_header_is_refused(bits: int) -> None:
    header = sn_format(bits).encode(1)
    for length in range(len(header)):
        with pytest.raises(PduError, match="truncated"):
            sn_format(bits).decode(header[:length])
    with pytest.raises(PduError, match="truncated"):
        sn_format(bits).decode(header, 1)


@pytest.mark.parametrize("bits", [12, 16, 18])
def test_an_sn_out_of_range_is_not_encoded(bits: int) -> None:
    for sn in (-1, 2**bits):
        with pytest.raises(ValueError, match=rf"SN {sn} is not in 0\.\.{2**bits - 1}"):
            sn_format(bits).encode(sn)


def test_another_sn_size_is_refused_with_the_allowed_ones() -> None:
    with pytest.raises(ValueError, match="SN size 7 bits: must be one of 12, 16, 18"):
        sn_format(7)
