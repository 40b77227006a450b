"""The scapy layers against the library's codec: two implementations of each format agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, Raw

from minitopo_dc.capture import layers
from minitopo_dc.pdcp import PduError, append_trailer, sn_format, split_trailer
from tests.capture.packets import datagram, datagrams, recomputed

DATA: dict[int, type[Packet]] = {
    12: layers.PdcpData12,
    16: layers.PdcpData16,
    18: layers.PdcpData18,
}
TRAILER: dict[int, type[Packet]] = {
    12: layers.PdcpTrailer12,
    16: layers.PdcpTrailer16,
    18: layers.PdcpTrailer18,
}
numbers = st.sampled_from((12, 16, 18)).flatmap(
    lambda bits: st.tuples(st.just(bits), st.integers(0, 2**bits - 1))
)


@given(numbers, datagrams)
def test_a_built_pdu_has_the_codec_s_header(number: tuple[int, int], sdu: Packet) -> None:
    bits, sn = number
    assert bytes(DATA[bits](sn=sn) / sdu) == sn_format(bits).encode(sn) + bytes(sdu)


@given(numbers, datagrams)
def test_the_codec_s_pdu_is_dissected(number: tuple[int, int], sdu: Packet) -> None:
    bits, sn = number
    pdu = DATA[bits](sn_format(bits).encode(sn) + bytes(sdu))
    assert pdu.sn == sn
    assert bytes(pdu[IP]) == bytes(sdu)


@given(numbers, datagrams)
def test_a_built_trailer_is_the_codec_s(number: tuple[int, int], sdu: Packet) -> None:
    bits, sn = number
    built = bytes(TRAILER[bits](sn=sn) / sdu)
    assert built == append_trailer(bytes(sdu), sn_format(bits).encode(sn))
    header, datagram_again = split_trailer(built, sn_format(bits).size)
    assert (sn_format(bits).decode(header), datagram_again) == (sn, bytes(sdu))


@given(numbers, datagrams)
def test_a_trailer_is_dissected_and_built_again(number: tuple[int, int], sdu: Packet) -> None:
    bits, sn = number
    on_leg = append_trailer(bytes(sdu), sn_format(bits).encode(sn))
    pdu = TRAILER[bits](on_leg)
    assert (pdu.sn, bytes(pdu[IP]), bytes(pdu)) == (sn, bytes(sdu), on_leg)


@given(numbers, datagrams)
def test_a_datagram_with_a_trailer_has_the_length_and_checksum_of_ip(
    number: tuple[int, int], sdu: Packet
) -> None:
    bits, sn = number
    on_leg = IP(append_trailer(bytes(sdu), sn_format(bits).encode(sn)))
    assert on_leg.len == len(bytes(on_leg))
    assert recomputed(on_leg) == bytes(on_leg)


def test_the_first_bit_tells_a_control_pdu() -> None:
    control = layers.PdcpData18(b"\x00\x00\x07" + datagram())
    assert control.sprintf("%PdcpData18.dc%") == "control"
    with pytest.raises(PduError, match="control PDU"):
        sn_format(18).decode(bytes(control))


def test_a_pdu_may_carry_ipv6() -> None:
    sdu = bytes(IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP() / Raw(b"six"))
    assert layers.PdcpData12(sn_format(12).encode(5) + sdu)[IPv6].dst == "2001:db8::2"


def test_what_is_no_ip_stays_bytes() -> None:
    assert layers.PdcpData12(sn_format(12).encode(5) + b"\x00\x01")[Raw].load == b"\x00\x01"


def test_bytes_that_end_too_early_are_no_trailer() -> None:
    with pytest.raises(PduError, match="truncated"):
        layers.PdcpTrailer18(datagram()[:100])
