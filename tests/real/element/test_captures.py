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
from minitopo_dc.real.element.drivers import LegDriver, TransmitDriver
from minitopo_dc.real.element.kernel.loop import Loop
from minitopo_dc.scenario import Pdcp
from minitopo_dc.scenario.element import ElementSettings, ReceiveBearer, TransmitBearer
from tests.real.element.fakes import (
    LATER,
    Clock,
    FakePacket,
    datagram,
    receiver,
)

RADIO = {"rate_mbps": 8}
SENDING = TransmitBearer.check({"bearer": 1, "interface": "core", "legs": [1, 2]}, "test")
RECEIVING = ReceiveBearer.check({"bearer": 1, "legs": [1, 2]}, "test")


class Log:
    """Files that say when they are written, and packets that say when they get their verdict."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def file(self, path: Path, offset: int) -> LoggedFile:
        return LoggedFile(path.name, offset, self.lines)

    def packet(self, payload: bytes, indev: int = 0) -> FakePacket:
        lines = self.lines

        class Logged(FakePacket):
            def accept(self) -> None:
                super().accept()
                lines.append("accept")

            def drop(self) -> None:
                super().drop()
                lines.append("drop")

        return Logged(payload, indev)


class LoggedFile:
    """A capture file that writes nothing."""

    def __init__(self, name: str, offset: int, lines: list[str]) -> None:
        self._name, self._offset, self._lines = name, offset, lines

    def write(self, now: int, frame: bytes) -> None:
        self._lines.append(f"{self._name} {now + self._offset}: {len(frame)}")

    def close(self) -> None:
        self._lines.append(f"{self._name} closed")


def settings(directory: Path, **fields: Any) -> ElementSettings:
    legs = [{"leg": n, "interface": f"leg{n}", "seed": "", "radio": RADIO} for n in (1, 2)]
    values = {"host": "gnb", "legs": legs, "directory": directory, "pcap": "downlink"}
    return ElementSettings.check(values | fields, "test")


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    made = Log()
    monkeypatch.setattr(module, "CaptureFile", made.file)
    return made


Legs = tuple[Loop, list[LegDriver]]


def test_a_packet_has_its_verdict_before_it_is_written(
    log: Log, clock: Clock, legs: Legs, tmp_path: Path
) -> None:
    loop, (leg, _) = legs
    on_packet = Captures(settings(tmp_path), 7).departures(leg)
    on_packet(log.packet(datagram()))
    assert log.lines == []
    clock.serve(loop, LATER)
    assert log.lines == ["accept", f"gnb-leg1.pcap {LATER + 7}: 1000"]


def test_what_a_leg_drops_is_dropped_and_never_written(
    log: Log, clock: Clock, legs: Legs, tmp_path: Path
) -> None:
    loop, (leg, _) = legs
    outlet = Captures(settings(tmp_path), 0).outlet(leg, SENDING)
    for _ in range(3):
        outlet.push(log.packet(datagram()), 1000, 0)
    assert log.lines == ["drop"]
    clock.serve(loop, LATER)
    assert ["accept" if line == "accept" else line[:13] for line in log.lines[1:]] == [
        *("accept", "gnb-leg1.pcap"),
        *("accept", "gnb-leg1.pcap"),
    ]


@pytest.mark.parametrize(("split", "numbers"), [("batch", [[0], [1]]), ("duplicate", [[0, 1]] * 2)])
def test_a_leg_s_capture_has_the_pdus_of_that_leg(
    split: str, numbers: list[list[int]], clock: Clock, legs: Legs, tmp_path: Path
) -> None:
    loop, both = legs
    made = Captures(settings(tmp_path), 0)
    entity = Pdcp.model_validate({"split": split, "batch": 2}).transmitter(2)
    outlets = [made.outlet(leg, SENDING) for leg in both]
    driver = TransmitDriver(1, entity, sn_format(18), outlets, loop)
    for _ in range(2):
        driver.on_packet(FakePacket(datagram(500)))
    clock.serve(loop, LATER)
    made.close()
    for leg, expected in enumerate(numbers, start=1):
        captured = rdpcap(str(tmp_path / f"gnb-leg{leg}.pcap"))
        assert {packet[PdcpNrUdp].ueid for packet in captured} == {leg}
        assert [packet[PdcpData18].sn for packet in captured] == expected
        assert {len(packet[PdcpData18][IP]) for packet in captured} == {500}


def test_an_arriving_pdu_is_written_when_it_is_read_before_its_turn(
    log: Log, clock: Clock, legs: Legs, tmp_path: Path
) -> None:
    on_packet = Captures(settings(tmp_path), 0).arrivals(
        receiver(legs[0]), RECEIVING, {11: 1, 12: 2}
    )
    clock.now = 5
    on_packet(log.packet(b"no datagram at all", indev=12))
    assert log.lines == ["gnb-leg2.pcap 5: 18", "drop"]


def test_each_leg_has_a_file_which_is_closed_with_the_captures(log: Log, tmp_path: Path) -> None:
    Captures(settings(tmp_path), 0).close()
    assert log.lines == ["gnb-leg1.pcap closed", "gnb-leg2.pcap closed"]


@pytest.mark.parametrize(("pcap", "source"), [("downlink", "192.0.2.2"), ("uplink", "192.0.2.1")])
@pytest.mark.usefixtures("clock")
def test_what_arrives_goes_the_other_way_than_what_leaves(
    pcap: str, source: str, legs: Legs, tmp_path: Path
) -> None:
    made = Captures(settings(tmp_path, pcap=pcap), 0)
    on_packet = made.arrivals(receiver(legs[0]), RECEIVING, {11: 1, 12: 2})
    on_packet(FakePacket(append_trailer(datagram(), sn_format(18).encode(0)), indev=11))
    made.close()
    (captured,) = rdpcap(str(tmp_path / "gnb-leg1.pcap"))
    assert captured[IP].src == source
