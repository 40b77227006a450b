"""What Wireshark makes of captures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6

from minitopo_dc.capture import CaptureFile, pdu_framing
from minitopo_dc.fields import Direction
from minitopo_dc.pdcp import append_trailer, sn_format
from tests.capture.packets import CLIENT, datagram
from tests.capture.wireshark import fields, needs_tshark, troubles

pytestmark = needs_tshark
OUTER = "192.0.2.2"


def written(path: Path, frames: Iterable[bytes]) -> Path:
    capture = CaptureFile(path, offset=1_700_000_000_000_000_000)
    for number, frame in enumerate(frames):
        capture.write(number * 1_000_001, frame)
    capture.close()
    return path


def pdus(
    bits: int, numbers: Iterable[int], sdu: bytes, direction: Direction = "downlink"
) -> list[bytes]:
    frame = pdu_framing(leg=2, bearer=3, direction=direction, sn_bits=bits)
    return [frame(append_trailer(sdu, sn_format(bits).encode(sn))) for sn in numbers]


@pytest.mark.parametrize("bits", [12, 18])
def test_wireshark_shows_our_numbers_in_order_and_the_inner_packets(
    tmp_path: Path, bits: int
) -> None:
    last = 2**bits - 1
    numbers = [0, 1, 2, last - 1, last, 0, 1]
    capture = written(tmp_path / "leg.pcap", pdus(bits, numbers, datagram()))
    found = fields(capture, "pdcp-nr.seq-num", "ip.dst")
    assert found == [(str(sn), f"{OUTER},{CLIENT}") for sn in numbers]
    assert not troubles(capture)


def test_wireshark_shows_inner_packets_of_ipv6(tmp_path: Path) -> None:
    client = "fd00:10:2:1::2"
    sdu = bytes(IPv6(src="fd00:10::2", dst=client) / UDP(sport=4433, dport=50_000) / bytes(100))
    capture = written(tmp_path / "leg.pcap", pdus(18, [0, 1], sdu))
    found = fields(capture, "pdcp-nr.seq-num", "ip.dst", "ipv6.dst", "ipv6.plen")
    assert found == [(sn, OUTER, client, "108") for sn in ("0", "1")]
    assert not troubles(capture)


@pytest.mark.parametrize(("direction", "shown"), [("downlink", "1"), ("uplink", "0")])
def test_wireshark_shows_leg_bearer_size_and_direction(
    tmp_path: Path, direction: Direction, shown: str
) -> None:
    capture = written(tmp_path / "leg.pcap", pdus(12, [7], datagram(), direction))
    names = ("pdcp-nr.ueid", "pdcp-nr.bearer-id", "pdcp-nr.seqnum_length", "pdcp-nr.direction")
    assert fields(capture, *names) == [("2", "3", "12", shown)]


def test_wireshark_names_the_numbers_that_are_missing_on_a_leg(tmp_path: Path) -> None:
    capture = written(tmp_path / "leg.pcap", pdus(18, [0, 1, 5, 6], datagram()))
    missing = fields(capture, "frame.number", only="pdcp-nr.sequence-analysis.sn-missing-dl")
    assert missing == [("3",)]
