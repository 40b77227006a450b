"""PDUs as a capture holds them: the framing, and what stays as it is."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.packet import Packet, Padding

from minitopo_dc.capture import frame_start, layers, pdu_framing
from minitopo_dc.pdcp import append_trailer, sn_format
from tests.capture.packets import datagram, datagrams, recomputed


def on_leg(sdu: bytes, bits: int, sn: int) -> bytes:
    return append_trailer(sdu, sn_format(bits).encode(sn))


identities = st.fixed_dictionaries(
    {
        "leg": st.integers(1, 255),
        "bearer": st.integers(1, 32),
        "direction": st.sampled_from(("downlink", "uplink")),
        "sn_bits": st.sampled_from((12, 18)),
    }
)


@given(identities, st.integers(0, 4095), datagrams)
def test_a_framed_pdu_tells_number_leg_bearer_and_direction(
    identity: dict[str, Any], sn: int, sdu: Packet
) -> None:
    captured = IP(pdu_framing(**identity)(on_leg(bytes(sdu), identity["sn_bits"], sn)))
    tags = captured[layers.PdcpNrUdp]
    assert identity == {
        "leg": tags.ueid,
        "bearer": tags.bearer_id,
        "direction": tags.sprintf("%PdcpNrUdp.direction%"),
        "sn_bits": tags.sn_length,
    }
    assert tags.payload.sn == sn
    assert bytes(tags.payload.payload) == bytes(sdu)


@given(st.sampled_from((12, 18)), datagrams)
def test_the_outer_datagram_has_right_lengths_and_header_checksum(bits: int, sdu: Packet) -> None:
    frame = pdu_framing(leg=1, bearer=1, direction="uplink", sn_bits=bits)
    captured = frame(on_leg(bytes(sdu), bits, 0))
    outer = IP(captured)
    assert recomputed(outer) == captured
    assert outer.len == len(captured) == outer[UDP].len + 20


def test_each_direction_has_its_own_addresses() -> None:
    frames = [
        IP(pdu_framing(leg=1, bearer=1, direction=direction, sn_bits=18)(on_leg(datagram(), 18, 0)))
        for direction in ("downlink", "uplink")
    ]
    down, up = frames
    assert (down.src, down.dst) == (up.dst, up.src)
    assert down.src != down.dst


def test_a_16_bit_number_follows_the_datagram_of_the_end_host() -> None:
    frame = pdu_framing(leg=1, bearer=1, direction="downlink", sn_bits=16)
    captured = frame(on_leg(datagram(), 16, 40_000))
    assert captured == datagram() + (40_000).to_bytes(2, "big")
    assert layers.PdcpData16(IP(captured)[Padding].load).sn == 40_000


def test_a_pdu_that_leaves_no_room_for_its_frame_is_captured_as_it_is() -> None:
    frame = pdu_framing(leg=1, bearer=1, direction="downlink", sn_bits=18)
    fits, too_long = (on_leg(datagram(size), 18, 0) for size in (65_484, 65_485))
    assert len(frame(fits)) == 65_535
    assert frame(too_long) == too_long


@given(identities)
def test_a_frame_without_a_pdu_is_whole_by_its_lengths_and_checksum(
    identity: dict[str, Any],
) -> None:
    start = frame_start(**identity)
    outer = IP(start)
    assert recomputed(outer) == start
    assert outer.len == len(start) == outer[UDP].len + 20
    assert pdu_framing(**identity)(on_leg(datagram(), identity["sn_bits"], 1))[28:].startswith(
        start[28:]
    )


def test_with_16_bits_nothing_is_before_a_pdu() -> None:
    assert frame_start(leg=1, bearer=1, direction="downlink", sn_bits=16) == b""


def test_what_is_no_pdu_is_captured_as_it_is() -> None:
    cut = datagram()[:100]
    for bits in (12, 16, 18):
        frame = pdu_framing(leg=1, bearer=1, direction="downlink", sn_bits=bits)
        assert frame(cut) == cut
