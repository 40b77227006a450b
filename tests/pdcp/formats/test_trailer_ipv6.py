from __future__ import annotations

import struct

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minitopo_dc.pdcp import PduError, append_trailer, split_trailer

HOP_BY_HOP, UDP, NO_NEXT_HEADER = 0, 17, 59


def ipv6(payload: bytes, first: bytes = bytes(4), rest: bytes = bytes((UDP,)) + bytes(33)) -> bytes:
    """A datagram: the version, what may be anything, the payload length, what may be anything."""
    start = bytes((0x60 | first[0] & 0x0F,)) + first[1:]
    return start + struct.pack("!H", len(payload)) + rest + payload


payloads = st.binary(min_size=1, max_size=100)
firsts = st.binary(min_size=4, max_size=4)
rests = st.binary(min_size=34, max_size=34)
datagrams = st.builds(ipv6, payload=payloads, first=firsts, rest=rests)
headers = st.binary(min_size=2, max_size=3)


@given(datagrams, headers)
def test_split_restores_the_original_datagram(ip: bytes, header: bytes) -> None:
    assert split_trailer(append_trailer(ip, header), len(header)) == (header, ip)


@given(datagrams, headers)
def test_only_the_payload_length_changes(ip: bytes, header: bytes) -> None:
    carrying = append_trailer(ip, header)
    assert int.from_bytes(carrying[4:6], "big") == len(carrying) - 40 == len(ip) - 40 + len(header)
    assert carrying[:4] + carrying[6:] == ip[:4] + ip[6:] + header


@given(datagrams, headers, st.binary(min_size=1, max_size=30))
def test_bytes_behind_the_payload_are_not_part_of_the_datagram(
    ip: bytes, header: bytes, padding: bytes
) -> None:
    carrying = append_trailer(ip, header)
    assert append_trailer(ip + padding, header) == carrying
    assert split_trailer(carrying + padding, len(header)) == (header, ip)


def test_a_header_without_payload_is_a_datagram_too() -> None:
    alone = ipv6(b"", rest=bytes((NO_NEXT_HEADER,)) + bytes(33))
    assert split_trailer(append_trailer(alone, b"\x80\x01"), 2) == (b"\x80\x01", alone)


def test_a_jumbogram_is_refused() -> None:
    jumbogram = ipv6(b"", rest=bytes((HOP_BY_HOP,)) + bytes(33)) + bytes(100)
    with pytest.raises(PduError, match="jumbogram"):
        append_trailer(jumbogram, b"\x80\x00")
    with pytest.raises(PduError, match="jumbogram"):
        split_trailer(jumbogram, 2)


@given(datagrams, st.integers(1, 200))
def test_a_datagram_shorter_than_it_says_is_refused(ip: bytes, missing: int) -> None:
    assume(missing < len(ip))
    with pytest.raises(PduError, match="truncated"):
        append_trailer(ip[:-missing], b"\x80\x00")
    with pytest.raises(PduError, match="truncated"):
        split_trailer(ip[:-missing], 2)


def test_the_longest_payload_is_65535_bytes() -> None:
    header = b"\x80\x00\x00"
    longest = ipv6(bytes(65_535 - 3))
    assert len(append_trailer(longest, header)) == 40 + 65_535
    with pytest.raises(PduError, match="IPv6 payload of 65533 bytes has no room"):
        append_trailer(ipv6(bytes(65_535 - 2)), header)


def test_a_payload_shorter_than_the_pdcp_header_is_refused() -> None:
    assert split_trailer(ipv6(b"ab"), 2)[0] == b"ab"
    with pytest.raises(PduError, match="carries no PDCP header of 3 bytes"):
        split_trailer(ipv6(b"ab"), 3)


@given(st.integers(0, 15).filter(lambda version: version not in (4, 6)))
def test_any_other_version_is_refused(version: int) -> None:
    ip = bytes((version << 4,)) + bytes(59)
    with pytest.raises(PduError, match=f"not an IP datagram: version {version}; allowed: 4, 6"):
        append_trailer(ip, b"\x80\x00")
    with pytest.raises(PduError, match=f"not an IP datagram: version {version}; allowed: 4, 6"):
        split_trailer(ip, 2)


def test_nothing_at_all_is_refused() -> None:
    with pytest.raises(PduError, match="truncated"):
        append_trailer(b"", b"\x80\x00")
    with pytest.raises(PduError, match="truncated"):
        split_trailer(b"", 2)
