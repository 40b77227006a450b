"""Captures: their files, frames, layers and options."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, Padding, Raw
from scapy.utils import rdpcap

from minitopo_dc.capture import (
    CaptureFile,
    frame_start,
    layers,
    pdu_framing,
    read_capture,
    wall_clock_offset,
)
from minitopo_dc.cli import entry
from minitopo_dc.cli.options.rows import base_scenario
from minitopo_dc.pdcp import PduError, append_trailer, sn_format, split_trailer
from minitopo_dc.runs.element_settings import router_settings
from minitopo_dc.scenario import Scenario
from tests.capture.packets import datagram, datagrams, recomputed


def test_packets_come_back_with_their_times_to_the_nanosecond(tmp_path: Path) -> None:
    written = [
        (1_700_000_000_999_999_999, datagram(60)),
        (1_700_000_001_000_000_000, datagram(1500)),
        (1_700_000_003_000_000_001, datagram(60)),
    ]
    path, offset = tmp_path / "leg.pcap", 1_700_000_000_000_000_000
    capture = CaptureFile(path, offset=offset)
    for time_ns, packet in written:
        capture.write(time_ns - offset, packet)
    capture.close()
    capture.close()
    seen = [(round(packet.time * 10**9), bytes(packet)) for packet in rdpcap(str(path))]
    with path.open("rb") as file:
        assert list(read_capture(file)) == seen == written


def test_a_packet_longer_than_any_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "client.pcap"
    CaptureFile(path, offset=0).close()
    path.write_bytes(path.read_bytes() + b"\xff" * 16 + bytes(1000))
    with path.open("rb") as file, pytest.raises(ValueError, match="4,294,967,295 bytes"):
        list(read_capture(file))


def test_the_offset_turns_the_monotonic_clock_into_the_wall_clock() -> None:
    before = time.time_ns()
    offset = wall_clock_offset()
    dated = time.monotonic_ns() + offset
    assert before - 1_000_000 <= dated <= time.time_ns() + 1_000_000


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
def test_a_framed_pdu_tells_number_leg_bearer_and_direction_in_a_right_datagram(
    identity: dict[str, Any], sn: int, sdu: Packet
) -> None:
    frame = pdu_framing(**identity)(on_leg(bytes(sdu), identity["sn_bits"], sn))
    captured = IP(frame)
    assert recomputed(captured) == frame
    assert captured.len == len(frame) == captured[UDP].len + 20
    tags = captured[layers.PdcpNrUdp]
    assert identity == {
        "leg": tags.ueid,
        "bearer": tags.bearer_id,
        "direction": tags.sprintf("%PdcpNrUdp.direction%"),
        "sn_bits": tags.sn_length,
    }
    assert tags.payload.sn == sn
    assert bytes(tags.payload.payload) == bytes(sdu)


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
    assert frame_start(leg=1, bearer=1, direction="downlink", sn_bits=16) == b""


def test_a_pdu_without_room_for_its_frame_and_what_is_no_pdu_are_captured_as_they_are() -> None:
    frame = pdu_framing(leg=1, bearer=1, direction="downlink", sn_bits=18)
    fits, too_long = (on_leg(datagram(size), 18, 0) for size in (65_484, 65_485))
    assert len(frame(fits)) == 65_535
    assert frame(too_long) == too_long
    cut = datagram()[:100]
    for bits in (12, 16, 18):
        assert pdu_framing(leg=1, bearer=1, direction="downlink", sn_bits=bits)(cut) == cut
    with pytest.raises(PduError, match="truncated"):
        split_trailer(cut, 3)


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


PDUS: dict[int, type[Packet]] = {
    12: layers.PdcpData12,
    16: layers.PdcpData16,
    18: layers.PdcpData18,
}
numbers = st.sampled_from((12, 16, 18)).flatmap(
    lambda bits: st.tuples(st.just(bits), st.integers(0, 2**bits - 1))
)


@given(numbers, datagrams)
def test_a_pdu_is_built_and_dissected_as_by_the_codec(number: tuple[int, int], sdu: Packet) -> None:
    bits, sn = number
    coded = append_trailer(bytes(sdu), sn_format(bits).encode(sn))
    header, datagram_again = split_trailer(coded, sn_format(bits).size)
    assert (sn_format(bits).decode(header), datagram_again) == (sn, bytes(sdu))
    assert bytes(PDUS[bits](sn=sn) / sdu) == header + bytes(sdu)
    pdu, outer = PDUS[bits](header + datagram_again), IP(coded)
    assert (pdu.sn, bytes(pdu[IP])) == (sn, bytes(sdu))
    assert outer.len == len(coded)
    assert recomputed(outer) == coded


def test_the_first_bit_tells_a_control_pdu() -> None:
    control = layers.PdcpData18(b"\x00\x00\x07" + datagram())
    assert control.sprintf("%PdcpData18.dc%") == "control"
    with pytest.raises(PduError, match="control PDU"):
        sn_format(18).decode(bytes(control))


def test_a_pdu_may_carry_ipv6_and_what_is_no_ip_stays_bytes() -> None:
    sdu = bytes(IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP() / Raw(b"six"))
    header = sn_format(12).encode(5)
    assert layers.PdcpData12(header + sdu)[IPv6].dst == "2001:db8::2"
    assert layers.PdcpData12(header + b"\x00\x01")[Raw].load == b"\x00\x01"


LEG = {"downlink": {"rate_mbps": 20}}


def compared(*arguments: str) -> Scenario:
    return base_scenario(entry.parser().parse_args(["compare", *arguments]))


def scenario(**more: object) -> Scenario:
    values = {"transport": "tcp", "mode": "dc", "legs": [LEG, LEG], "real": {"backhaul": [LEG]}}
    return Scenario.check(values | more, "test")


def pcap(wanted: Scenario, directory: Path) -> dict[str, str | None]:
    """What the element of each host captures."""
    return {element.host: element.pcap for element in router_settings(wanted, directory)}


def test_captures_are_off_unless_asked_for_and_are_of_the_direction_that_leaves_a_host(
    tmp_path: Path,
) -> None:
    assert compared().real.capture == ()
    assert compared("--pcap").real.capture == ("legs",)
    assert pcap(scenario(), tmp_path) == dict.fromkeys(("gnb", "ue", "edge", "agg"))
    wanted = scenario(real={"capture": ["legs"], "backhaul": [LEG]})
    expected = {"gnb": "downlink", "ue": "uplink", "edge": "downlink", "agg": "uplink"}
    assert pcap(wanted, tmp_path) == expected
