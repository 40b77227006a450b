"""PDCP headers behind an IP datagram, of IPv4 and of IPv6."""

from __future__ import annotations

import struct
from collections.abc import Callable

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
    assert carried_checksum(carrying) == full_checksum(carrying[: (carrying[0] & 0x0F) * 4])


def test_a_wrong_checksum_stays_wrong() -> None:
    ip = bytearray(ipv4(b"payload"))
    ip[10:12] = b"\x12\x34"
    assert split_trailer(append_trailer(bytes(ip), b"\x80\x01"), 2) == (b"\x80\x01", bytes(ip))


@pytest.mark.parametrize("first", [0x44, 0x4F])
def test_an_impossible_header_length_is_refused(first: int) -> None:
    ip = bytes([first]) + ipv4(b"payload")[1:]
    with pytest.raises(PduError, match=r"header length \d+ is not in 20\.\.27"):
        append_trailer(ip, b"\x80\x00")


HOP_BY_HOP, UDP, NO_NEXT_HEADER = 0, 17, 59


def ipv6(payload: bytes, first: bytes = bytes(4), rest: bytes = bytes((UDP,)) + bytes(33)) -> bytes:
    """A datagram: the version, what may be anything, the payload length, what may be anything."""
    start = bytes((0x60 | first[0] & 0x0F,)) + first[1:]
    return start + struct.pack("!H", len(payload)) + rest + payload


payloads = st.binary(min_size=1, max_size=100)
firsts = st.binary(min_size=4, max_size=4)
rests = st.binary(min_size=34, max_size=34)
datagrams_6 = st.builds(ipv6, payload=payloads, first=firsts, rest=rests)


@given(datagrams_6, headers)
def test_only_the_payload_length_changes(ip: bytes, header: bytes) -> None:
    carrying = append_trailer(ip, header)
    assert int.from_bytes(carrying[4:6], "big") == len(carrying) - 40 == len(ip) - 40 + len(header)
    assert carrying[:4] + carrying[6:] == ip[:4] + ip[6:] + header


def test_a_header_without_payload_is_a_datagram_too() -> None:
    alone = ipv6(b"", rest=bytes((NO_NEXT_HEADER,)) + bytes(33))
    assert split_trailer(append_trailer(alone, b"\x80\x01"), 2) == (b"\x80\x01", alone)


def test_a_jumbogram_is_refused() -> None:
    jumbogram = ipv6(b"", rest=bytes((HOP_BY_HOP,)) + bytes(33)) + bytes(100)
    with pytest.raises(PduError, match="jumbogram"):
        append_trailer(jumbogram, b"\x80\x00")
    with pytest.raises(PduError, match="jumbogram"):
        split_trailer(jumbogram, 2)


@pytest.mark.parametrize(("make", "most"), [(ipv4, 65_535 - 20), (ipv6, 65_535)])
def test_length_fields_have_16_bits(make: Callable[[bytes], bytes], most: int) -> None:
    assert len(append_trailer(make(bytes(most - 3)), bytes(3))) == len(make(bytes(most)))
    with pytest.raises(PduError, match="has no room"):
        append_trailer(make(bytes(most - 2)), bytes(3))


@given(st.integers(0, 15).filter(lambda version: version not in (4, 6)))
def test_any_other_version_is_refused(version: int) -> None:
    ip = bytes((version << 4,)) + bytes(59)
    with pytest.raises(PduError, match=f"not an IP datagram: version {version}; allowed: 4, 6"):
        append_trailer(ip, b"\x80\x00")
    with pytest.raises(PduError, match=f"not an IP datagram: version {version}; allowed: 4, 6"):
        split_trailer(ip, 2)


either = datagrams | datagrams_6


@given(either, headers)
def test_split_restores_the_original_datagram(ip: bytes, header: bytes) -> None:
    assert split_trailer(append_trailer(ip, header), len(header)) == (header, ip)


@given(either, headers, st.binary(min_size=1, max_size=30))
def test_bytes_behind_the_length_are_not_part_of_the_datagram(
    ip: bytes, header: bytes, padding: bytes
) -> None:
    carrying = append_trailer(ip, header)
    assert append_trailer(ip + padding, header) == carrying
    assert split_trailer(carrying + padding, len(header)) == (header, ip)


@given(either, st.data())
def test_a_datagram_shorter_than_it_says_is_refused(ip: bytes, data: st.DataObject) -> None:
    part = ip[: data.draw(st.integers(0, len(ip) - 1))]
    with pytest.raises(PduError, match="truncated"):
        append_trailer(part, b"\x80\x00")
    with pytest.raises(PduError, match="truncated"):
        split_trailer(part, 2)


@pytest.mark.parametrize("ip", [ipv4(b"ab"), ipv4(b"ab", options=bytes(8)), ipv6(b"ab")])
def test_a_payload_shorter_than_the_pdcp_header_is_refused(ip: bytes) -> None:
    assert split_trailer(ip, 2)[0] == b"ab"
    with pytest.raises(PduError, match="3 bytes"):
        split_trailer(ip, 3)
