from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.pdcp import PduError, append_trailer, split_trailer


def full_checksum(header: bytes) -> int:
    """RFC 791 over the whole header, its checksum field taken as zero."""
    words: list[int] = list(struct.unpack(f"!{len(header) // 2}H", header))
    words[5] = 0
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(payload: bytes, options: bytes = b"", random_fields: bytes = bytes(14)) -> bytes:
    """A datagram with a right checksum and the given bytes in the fields that may be anything."""
    length = 20 + len(options)
    head = struct.pack("!BBH", 0x40 | length // 4, random_fields[0], length + len(payload))
    header = head + random_fields[1:7] + bytes(2) + random_fields[6:14] + options
    header = header[:10] + struct.pack("!H", full_checksum(header)) + header[12:]
    return header + payload


def carried_checksum(ip: bytes) -> int:
    return int.from_bytes(ip[10:12], "big")


datagrams = st.builds(
    ipv4,
    payload=st.binary(max_size=100),
    options=st.integers(0, 10).flatmap(lambda n: st.binary(min_size=4 * n, max_size=4 * n)),
    random_fields=st.binary(min_size=14, max_size=14),
)
headers = st.binary(min_size=2, max_size=3)


@given(datagrams, headers)
def test_split_restores_the_original_datagram(ip: bytes, header: bytes) -> None:
    assert split_trailer(append_trailer(ip, header), len(header)) == (header, ip)


@given(datagrams, headers)
def test_the_corrected_checksum_is_that_of_the_whole_header(ip: bytes, header: bytes) -> None:
    carrying = append_trailer(ip, header)
    end = (carrying[0] & 0x0F) * 4
    assert carried_checksum(carrying) == full_checksum(carrying[:end])


@pytest.mark.parametrize("header", [b"\x80\x00", b"\x80\x00\x00"])
def test_every_checksum_value_is_corrected(header: bytes) -> None:
    for identification in range(0, 0x10000):
        fields = bytes(1) + identification.to_bytes(2, "big") + bytes(11)
        ip = ipv4(b"", random_fields=fields)
        carrying = append_trailer(ip, header)
        assert carried_checksum(carrying) == full_checksum(carrying[:20])
        assert split_trailer(carrying, len(header)) == (header, ip)


@given(datagrams, headers)
def test_only_total_length_and_checksum_change(ip: bytes, header: bytes) -> None:
    carrying = append_trailer(ip, header)
    assert int.from_bytes(carrying[2:4], "big") == len(carrying) == len(ip) + len(header)
    assert carrying[:2] + carrying[4:10] + carrying[12:] == ip[:2] + ip[4:10] + ip[12:] + header


def test_a_wrong_checksum_stays_wrong() -> None:
    ip = bytearray(ipv4(b"payload"))
    ip[10:12] = b"\x12\x34"
    assert split_trailer(append_trailer(bytes(ip), b"\x80\x01"), 2) == (b"\x80\x01", bytes(ip))


@given(datagrams, headers, st.binary(min_size=1, max_size=30))
def test_bytes_behind_the_total_length_are_not_part_of_the_datagram(
    ip: bytes, header: bytes, padding: bytes
) -> None:
    carrying = append_trailer(ip, header)
    assert append_trailer(ip + padding, header) == carrying
    assert split_trailer(carrying + padding, len(header)) == (header, ip)


def test_a_datagram_shorter_than_its_total_length_is_refused() -> None:
    ip = ipv4(b"payload")
    with pytest.raises(PduError, match="truncated: 26 of 27 bytes"):
        append_trailer(ip[:-1], b"\x80\x00")
    with pytest.raises(PduError, match="truncated: 26 of 27 bytes"):
        split_trailer(ip[:-1], 2)


def test_less_than_an_ipv4_header_is_refused() -> None:
    for length in range(20):
        with pytest.raises(PduError, match="truncated"):
            append_trailer(ipv4(b"")[:length], b"\x80\x00")


@pytest.mark.parametrize("first", [0x44, 0x4F])
def test_an_impossible_header_length_is_refused(first: int) -> None:
    ip = bytes([first]) + ipv4(b"payload")[1:]
    with pytest.raises(PduError, match=r"header length \d+ is not in 20\.\.27"):
        append_trailer(ip, b"\x80\x00")


def test_the_longest_datagram_is_65535_bytes() -> None:
    header = b"\x80\x00\x00"
    longest = ipv4(bytes(65_535 - 20 - 3))
    assert len(append_trailer(longest, header)) == 65_535
    with pytest.raises(PduError, match="no room"):
        append_trailer(ipv4(bytes(65_535 - 20 - 2)), header)


def test_a_payload_shorter_than_the_pdcp_header_is_refused() -> None:
    assert split_trailer(ipv4(b"ab"), 2)[0] == b"ab"
    with pytest.raises(PduError, match="carries no PDCP header of 3 bytes"):
        split_trailer(ipv4(b"ab"), 3)
    with pytest.raises(PduError, match="carries no PDCP header of 3 bytes"):
        split_trailer(ipv4(b"ab", options=bytes(8)), 3)
