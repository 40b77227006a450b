"""Capture files, read by scapy; and the clock they are dated by."""

from __future__ import annotations

import time
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP
from scapy.utils import rdpcap

from minitopo_dc.capture import CaptureFile, layers, pdu_framing, read_capture, wall_clock_offset
from minitopo_dc.pdcp import append_trailer, sn_format
from tests.capture.packets import datagram

DAY_NS = 86_400_000_000_000


def test_packets_come_back_with_their_times_to_the_nanosecond(tmp_path: Path) -> None:
    path = tmp_path / "leg.pcap"
    capture = CaptureFile(path, offset=1_700_000_000_000_000_000)
    capture.write(123_456_789, datagram(60))
    capture.write(3_000_000_001, datagram(1500))
    capture.close()
    packets = rdpcap(str(path))
    assert [packet.time for packet in packets] == [
        Decimal("1700000000.123456789"),
        Decimal("1700000003.000000001"),
    ]
    assert [bytes(packet) for packet in packets] == [datagram(60), datagram(1500)]


def test_packets_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "client.pcap"
    capture = CaptureFile(path, offset=1_700_000_000_000_000_000)
    capture.write(999_999_999, datagram(60))
    capture.write(1_000_000_000, datagram(1500))
    capture.close()
    with path.open("rb") as file:
        assert list(read_capture(file)) == [
            (1_700_000_000_999_999_999, datagram(60)),
            (1_700_000_001_000_000_000, datagram(1500)),
        ]


def test_a_packet_longer_than_any_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "client.pcap"
    CaptureFile(path, offset=0).close()
    path.write_bytes(path.read_bytes() + b"\xff" * 16 + bytes(1000))
    with path.open("rb") as file, pytest.raises(ValueError, match="4,294,967,295 bytes"):
        list(read_capture(file))


def test_scapy_understands_a_captured_pdu(tmp_path: Path) -> None:
    path = tmp_path / "leg.pcap"
    capture = CaptureFile(path, offset=0)
    frame = pdu_framing(leg=2, bearer=1, direction="downlink", sn_bits=18)
    capture.write(0, frame(append_trailer(datagram(), sn_format(18).encode(200_000))))
    capture.close()
    (packet,) = rdpcap(str(path))
    assert packet[layers.PdcpData18].sn == 200_000
    assert bytes(packet[layers.PdcpData18][IP]) == datagram()


def test_a_capture_may_be_closed_twice(tmp_path: Path) -> None:
    capture = CaptureFile(tmp_path / "leg.pcap", offset=0)
    capture.write(0, datagram())
    capture.close()
    capture.close()
    assert len(rdpcap(str(tmp_path / "leg.pcap"))) == 1


@given(st.lists(st.integers(0, DAY_NS), min_size=1, max_size=5).map(sorted))
def test_every_time_survives(times: list[int]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "leg.pcap"
        capture = CaptureFile(path, offset=0)
        for moment in times:
            capture.write(moment, datagram(40))
        capture.close()
        assert [packet.time * 10**9 for packet in rdpcap(str(path))] == times


def test_the_offset_turns_the_monotonic_clock_into_the_wall_clock() -> None:
    before = time.time_ns()
    offset = wall_clock_offset()
    dated = time.monotonic_ns() + offset
    assert before - 1_000_000 <= dated <= time.time_ns() + 1_000_000
