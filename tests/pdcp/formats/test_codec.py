"""Headers of data PDUs, and which bytes are one."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.pdcp import (
    PacketFacts,
    PduError,
    SnFormat,
    classify_datagram,
    classify_udp,
    flow_id,
    sn_format,
)
from minitopo_dc.pdcp.classify import ACK, FIN, RST, SYN, TCP, UDP, PacketKind, Segment

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


@pytest.mark.parametrize(
    ("bits", "headers", "fault"),
    [
        (12, ["0abc"], "control PDU"),
        (18, ["02abcd"], "control PDU"),
        (12, ["9000", "a000", "c000"], "reserved bit"),
        (18, ["840000", "880000", "c00000"], "reserved bit"),
        *((bits, ["", "80"], "truncated") for bits in (12, 16, 18)),
        (18, ["8000"], "truncated"),
    ],
)
def test_what_is_no_header_of_a_data_pdu_is_refused(
    bits: int, headers: list[str], fault: str
) -> None:
    for header in headers:
        with pytest.raises(PduError, match=fault):
            sn_format(bits).decode(bytes.fromhex(header))
        with pytest.raises(PduError, match=fault):
            sn_format(bits).decode(bytes.fromhex("ff" + header), 1)


@pytest.mark.parametrize("bits", [12, 16, 18])
def test_an_sn_out_of_range_is_not_encoded(bits: int) -> None:
    for sn in (-1, 2**bits):
        with pytest.raises(ValueError, match=rf"SN {sn} is not in 0\.\.{2**bits - 1}"):
            sn_format(bits).encode(sn)


def test_another_sn_size_is_refused_with_the_allowed_ones() -> None:
    with pytest.raises(ValueError, match=r"7 bits: .*12, 16, 18"):
        sn_format(7)


ADDRESSES = {4: bytes(range(8)), 6: bytes(range(32))}
PORTS = struct.pack("!HH", 80, 40_000)
INITIAL = b"\xc3\0\0\0\x01\x08" + bytes(8) + b"\x05" + bytes(5) + bytes(50)
SHORT = b"\x43" + bytes(40)


def ipv4(protocol: int, payload: bytes, *, dscp: int = 0, fragment: int = 0) -> bytes:
    head = struct.pack(
        "!BBHHHBBH", 0x45, dscp << 2 | 1, 20 + len(payload), 0, fragment, 64, protocol, 0
    )
    return head + ADDRESSES[4] + payload


def ipv6(protocol: int, payload: bytes, *, dscp: int = 0) -> bytes:
    head = struct.pack("!IHBB", 6 << 28 | dscp << 22, len(payload), protocol, 64)
    return head + ADDRESSES[6] + payload


def tcp(flags: int, data: bytes = b"", *, options: bytes = b"", sequence: int = 7) -> bytes:
    offset = (20 + len(options)) // 4 << 4
    fields = struct.pack("!IIBBHHH", sequence, 0, offset, flags, 0, 0, 0)
    return PORTS + fields + options + data


def udp(payload: bytes) -> bytes:
    return PORTS + struct.pack("!HH", 8 + len(payload), 0) + payload


both_versions = pytest.mark.parametrize("ip", [ipv4, ipv6])


@both_versions
@pytest.mark.parametrize(
    ("flags", "data", "kind"),
    [
        (SYN, b"", PacketKind.HANDSHAKE),
        (SYN | ACK, b"", PacketKind.HANDSHAKE),
        (FIN | ACK, b"last", PacketKind.HANDSHAKE),
        (RST, b"", PacketKind.HANDSHAKE),
        (ACK, b"", PacketKind.ACK),
        (ACK, b"x", PacketKind.OTHER),
        (0, b"", PacketKind.OTHER),
    ],
)
def test_tcp_is_told_by_its_flags_and_whether_it_has_data(
    ip: Any, flags: int, data: bytes, kind: PacketKind
) -> None:
    facts = classify_datagram(ip(TCP, tcp(flags, data, options=bytes(12)), dscp=46))
    assert (facts.kind, facts.dscp) == (kind, 46)


@pytest.mark.parametrize(("ip", "version"), [(ipv4, 4), (ipv6, 6)])
def test_a_segment_has_its_flow_its_number_and_its_length(ip: Any, version: int) -> None:
    facts = classify_datagram(ip(TCP, tcp(ACK, b"data", sequence=2**32 - 1)))
    assert facts.segment == Segment(ADDRESSES[version] + PORTS, 2**32 - 1, 4)
    synchronised = classify_datagram(ip(TCP, tcp(SYN))).segment
    assert synchronised is not None
    assert synchronised.length == 1


def test_bytes_behind_the_datagram_s_length_are_no_data() -> None:
    padded = ipv4(TCP, tcp(ACK)) + bytes(6)  # as Ethernet pads to 60 bytes
    assert classify_datagram(padded).kind is PacketKind.ACK


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (INITIAL, PacketKind.HANDSHAKE),
        (INITIAL[:1] + bytes(4) + INITIAL[5:], PacketKind.HANDSHAKE),  # version negotiation
        (SHORT, PacketKind.UDP),
        (b"\x80" + INITIAL[1:], PacketKind.UDP),  # RTP, version 2
        (INITIAL[:5] + b"\x15" + INITIAL[6:], PacketKind.UDP),  # a connection ID of 21 bytes
        (INITIAL[:14] + b"\x14" + bytes(19), PacketKind.UDP),  # one that is cut
        (INITIAL[:6], PacketKind.UDP),
        (b"", PacketKind.UDP),
    ],
)
def test_a_long_header_of_quic_is_a_handshake_with_and_without_headers(
    payload: bytes, kind: PacketKind
) -> None:
    assert classify_udp(payload) == PacketFacts(kind=kind)
    assert classify_udp(payload, 46) == PacketFacts(46, kind)
    for ip in (ipv4, ipv6):
        assert classify_datagram(ip(UDP, udp(payload))) == PacketFacts(kind=kind)


def test_extension_headers_of_ipv6_are_skipped() -> None:
    options = bytes((TCP, 1)) + bytes(14)
    routing = bytes((60, 0)) + bytes(6)
    assert classify_datagram(ipv6(43, routing + options + tcp(SYN))).kind is PacketKind.HANDSHAKE


def test_a_later_fragment_tells_its_code_point_only() -> None:
    assert classify_datagram(ipv4(TCP, tcp(SYN), fragment=8, dscp=10)) == PacketFacts(dscp=10)
    assert classify_datagram(ipv6(44, tcp(SYN), dscp=10)) == PacketFacts(dscp=10)


@both_versions
@pytest.mark.parametrize("protocol", [TCP, UDP])
def test_of_a_cut_datagram_nothing_is_told(ip: Any, protocol: int) -> None:
    whole = ip(protocol, tcp(SYN) if protocol == TCP else udp(INITIAL), dscp=46)
    for length in range(len(whole)):
        assert classify_datagram(whole[:length]) == PacketFacts()


@given(st.sampled_from([0, 0x45, 0x4F, 0x60, 0x6F]), st.integers(0, 255), st.binary(max_size=120))
def test_no_bytes_are_an_error(first: int, protocol: int, rest: bytes) -> None:
    data = bytearray((first, *rest))
    for at in (6, 9):
        if at < len(data):
            data[at] = protocol
    data[2:4] = len(data).to_bytes(2, "big") if first < 0x60 else data[2:4]
    assert 0 <= classify_datagram(bytes(data)).dscp <= 63
    assert classify_udp(bytes(data)).kind in (PacketKind.HANDSHAKE, PacketKind.UDP)


@both_versions
def test_a_flow_is_addresses_protocol_and_ports(ip: Any) -> None:
    first = flow_id(ip(UDP, udp(b"some"), dscp=46))
    assert first == flow_id(ip(UDP, udp(b"other")))
    other_ports = ip(UDP, PORTS[2:] + PORTS[:2] + udp(b"some")[4:])
    others = {first, flow_id(ip(TCP, tcp(ACK))), flow_id(other_ports), flow_id(b"")}
    assert len(others) == 4


def test_a_later_fragment_has_no_ports() -> None:
    fragment = flow_id(ipv4(UDP, udp(b"some"), fragment=100))
    assert fragment == flow_id(ipv4(TCP, tcp(ACK), fragment=200))
