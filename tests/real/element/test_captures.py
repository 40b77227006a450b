"""Captures between an element's parts: nothing of a packet's way waits for the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP
from scapy.utils import rdpcap

from minitopo_dc.capture.layers import PdcpData18, PdcpNrUdp
from minitopo_dc.pdcp import append_trailer, sn_format
from minitopo_dc.real.element import captures as module
from minitopo_dc.real.element.captures import Captures
from minitopo_dc.real.element.loop import RealLoop
from minitopo_dc.router.drivers import LegDriver
from minitopo_dc.scenario import Pdcp
from minitopo_dc.scenario.element import Bearer, ElementSettings, TransmitBearer
from tests.real.element.fakes import LATER, Clock, FakePacket, datagram, departing, receiver, sender

RADIO = {"rate_mbps": 8}
SENDING = TransmitBearer.check({"bearer": 1, "interface": "core", "legs": [1, 2]}, "test")
RECEIVING = Bearer.check({"bearer": 1, "legs": [1, 2]}, "test")
Legs = tuple[RealLoop, list[LegDriver]]


def settings(directory: Path, **fields: Any) -> ElementSettings:
    legs = [{"leg": n, "interface": f"leg{n}", "seed": "", "radio": RADIO} for n in (1, 2)]
    values = {"host": "gnb", "legs": legs, "directory": directory, "pcap": "downlink"}
    return ElementSettings.check(values | fields, "test")


class Log:
    """In place of a file, and of packets: when it is written, and when they get their verdict."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, _path: Path, offset: int) -> Log:
        self.offset = offset
        return self

    def write(self, now: int, frame: bytes) -> None:
        self.lines.append(f"{now + self.offset}: {len(frame)}")

    def packet(self) -> Any:
        packet: Any = FakePacket(datagram())
        packet._decide = self.lines.append
        return packet


def test_what_a_leg_lets_go_is_written_behind_its_verdict_and_what_it_drops_is_not(
    clock: Clock, legs: Legs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log()
    monkeypatch.setattr(module, "CaptureFile", log)
    loop, (leg, _) = legs
    on_packet = departing(loop, leg, Captures(settings(tmp_path), 7).plain(1))
    for _ in range(3):
        on_packet(log.packet())
    assert log.lines == ["drop"]
    clock.serve(loop, LATER)
    assert log.lines[1:] == ["accept", f"{LATER + 7}: 1000"] * 2


@pytest.mark.parametrize(("split", "numbers"), [("batch", [[0], [1]]), ("duplicate", [[0, 1]] * 2)])
def test_a_leg_s_capture_has_the_pdus_of_that_leg(
    split: str, numbers: list[list[int]], clock: Clock, legs: Legs, tmp_path: Path
) -> None:
    loop, both = legs
    made = Captures(settings(tmp_path), 0)
    entity = Pdcp.model_validate({"split": split, "batch": 2}).transmitter(2)
    driver = sender(loop, entity, both, sn_format(18), made.outbound(SENDING))
    for _ in range(2):
        driver.on_packet(FakePacket(datagram(500)))
    clock.serve(loop, LATER)
    made.close()
    for leg, expected in enumerate(numbers, start=1):
        captured = rdpcap(str(tmp_path / f"gnb-leg{leg}.pcap"))
        assert {packet[PdcpNrUdp].ueid for packet in captured} == {leg}
        assert [packet[PdcpData18].sn for packet in captured] == expected
        assert {len(packet[PdcpData18][IP]) for packet in captured} == {500}


@pytest.mark.parametrize(("pcap", "source"), [("downlink", "192.0.2.2"), ("uplink", "192.0.2.1")])
@pytest.mark.usefixtures("clock")
def test_what_arrives_goes_the_other_way_than_what_leaves(
    pcap: str, source: str, legs: Legs, tmp_path: Path
) -> None:
    made = Captures(settings(tmp_path, pcap=pcap), 0)
    on_packet = made.arrivals(receiver(legs[0]).on_packet, RECEIVING, {11: 1, 12: 2})
    on_packet(FakePacket(append_trailer(datagram(), sn_format(18).encode(0)), indev=11))
    made.close()
    (captured,) = rdpcap(str(tmp_path / "gnb-leg1.pcap"))
    assert captured[IP].src == source
