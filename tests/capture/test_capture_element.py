"""An element's captures, with packets that are no kernel's: what is written, and when."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Literal

import pytest
from scapy.layers.inet import IP
from scapy.packet import Packet
from scapy.utils import rdpcap

from minitopo_dc.capture import layers
from minitopo_dc.link import ConstantDelay, Leg, LegParameters, make_capacity
from minitopo_dc.pdcp import append_trailer, sn_format
from minitopo_dc.real.element import captures, drivers
from minitopo_dc.real.element.captures import Captures
from minitopo_dc.real.element.drivers import LegDriver, ReceiveDriver, TransmitDriver
from minitopo_dc.real.element.kernel.loop import Loop
from minitopo_dc.router import ElementSettings, ReceiveBearer, TransmitBearer
from tests.capture.packets import datagram

MS = 1_000_000
RADIO = {"rate_mbps": 8, "delay_ms": 10, "queue_packets": 2}
INDEX = {11: 1, 12: 2}
"""Leg of each interface."""


class FakePacket:
    """A packet that, as the kernel's, has no bytes after its callback unless they were set."""

    def __init__(self, payload: bytes, indev: int = 0) -> None:
        self.indev = indev
        self.verdict = ""
        self._payload: bytes | None = payload
        self._new: bytes | None = None

    def get_payload(self) -> bytes:
        payload = self._new or self._payload
        assert payload is not None, "too late"
        return payload

    def end_of_callback(self) -> None:
        self._payload = None

    def set_payload(self, payload: bytes) -> None:
        self._new = payload

    def set_mark(self, mark: int) -> None:
        pass

    def accept(self) -> None:
        self.verdict = "accept"

    def drop(self) -> None:
        self.verdict = "drop"


class NoInjector:
    """Stands in for the raw socket, which needs root."""

    def __init__(self, leg: int, host: int | None = None) -> None:
        pass

    def send(self, datagram: bytes) -> None:
        pass


class Bench:
    """Two legs with captures, and a clock that tests set."""

    def __init__(self, directory: Path, pcap: Literal["downlink", "uplink"] | None) -> None:
        self.now = 0
        self.directory = directory
        self.loop = Loop()
        parameters = LegParameters(queue_packets=2, delay=ConstantDelay(10 * MS))
        rate = make_capacity(8_000_000, "loop")  # 1 byte a us
        self.legs = {
            n: LegDriver(n, Leg(parameters, rate, random.Random(n)), self.loop) for n in (1, 2)
        }
        legs = [{"leg": n, "interface": f"leg{n}", "seed": "", "radio": RADIO} for n in (1, 2)]
        settings = ElementSettings.check(
            {"host": "gnb", "legs": legs, "directory": directory, "pcap": pcap}, "test"
        )
        self.captures = Captures(settings, offset=0)

    def serve(self, now: int) -> None:
        self.now = now
        self.loop.serve(now)

    def read(self, leg: int) -> list[Packet]:
        self.captures.close()
        return list(rdpcap(str(self.directory / f"gnb-leg{leg}.pcap")))

    def transmitter(self, **pdcp: object) -> TransmitDriver:
        bearer = TransmitBearer.check(
            {"bearer": 1, "interface": "core", "legs": [1, 2], "pdcp": pdcp}, "test"
        )
        outlets = [self.captures.outlet(leg, bearer) for leg in self.legs.values()]
        return TransmitDriver(1, bearer.pdcp.transmitter(2), sn_format(18), outlets, self.loop)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(drivers, "Injector", NoInjector)
    made = Bench(tmp_path, "downlink")
    for module in (captures, drivers):
        monkeypatch.setattr(module, "clock", lambda: made.now)
    return made


def test_a_packet_is_captured_when_it_leaves_the_leg(bench: Bench) -> None:
    packet = FakePacket(datagram())
    bench.captures.departures(bench.legs[1])(packet)
    packet.end_of_callback()
    bench.serve(11 * MS)
    (captured,) = bench.read(1)
    assert packet.verdict == "accept"
    assert captured.time == Decimal("0.011")
    assert bytes(captured) == datagram()


def test_a_packet_that_the_leg_loses_is_not_captured(bench: Bench) -> None:
    packets = [FakePacket(datagram()) for _ in range(3)]
    for packet in packets:
        bench.captures.departures(bench.legs[1])(packet)
    bench.serve(1000 * MS)
    assert [packet.verdict for packet in packets] == ["accept", "accept", "drop"]
    assert len(bench.read(1)) == 2


def test_each_leg_s_capture_has_the_pdus_of_that_leg(bench: Bench) -> None:
    transmitter = bench.transmitter(batch=2)
    for size in (500, 501):
        packet = FakePacket(datagram(size))
        transmitter.on_packet(packet)
        packet.end_of_callback()
    bench.serve(1000 * MS)
    for leg, size in ((1, 500), (2, 501)):
        (captured,) = bench.read(leg)
        assert captured[layers.PdcpNrUdp].ueid == leg
        assert captured[layers.PdcpNrUdp].sprintf("%PdcpNrUdp.direction%") == "downlink"
        assert captured[layers.PdcpData18].sn == leg - 1
        assert bytes(captured[layers.PdcpData18][IP]) == datagram(size)


def test_a_duplicate_is_captured_on_both_legs_with_the_same_number(bench: Bench) -> None:
    packet = FakePacket(datagram())
    bench.transmitter(split="duplicate").on_packet(packet)
    packet.end_of_callback()
    bench.serve(1000 * MS)
    assert [bench.read(leg)[0][layers.PdcpData18].sn for leg in (1, 2)] == [0, 0]


def test_an_arriving_pdu_is_captured_before_reordering(bench: Bench) -> None:
    bearer = ReceiveBearer.check({"bearer": 1, "legs": [1, 2]}, "test")
    entity = bearer.pdcp.receiver(2)
    driver = ReceiveDriver(1, entity, sn_format(18), {11: 0, 12: 1}, bench.loop)
    packet = FakePacket(append_trailer(datagram(), sn_format(18).encode(7)), indev=12)
    bench.now = 5 * MS
    bench.captures.arrivals(driver, bearer, INDEX)(packet)
    (captured,) = bench.read(2)
    assert packet.verdict == ""
    assert captured.time == Decimal("0.005")
    assert captured[layers.PdcpData18].sn == 7
    assert captured[layers.PdcpNrUdp].sprintf("%PdcpNrUdp.direction%") == "uplink"
    assert not bench.read(1)


def test_without_captures_nothing_stands_between_queue_and_leg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "Injector", NoInjector)
    bench = Bench(tmp_path, None)
    sending = TransmitBearer.check({"bearer": 1, "interface": "core", "legs": [1]}, "test")
    receiving = ReceiveBearer.check({"bearer": 1, "legs": [1]}, "test")
    entity = receiving.pdcp.receiver(1)
    driver = ReceiveDriver(1, entity, sn_format(18), {11: 0}, bench.loop)
    leg = bench.legs[1]
    assert bench.captures.outlet(leg, sending) is leg
    assert bench.captures.departures(leg) == leg.on_packet
    assert bench.captures.arrivals(driver, receiving, INDEX) == driver.on_packet
    assert not list(tmp_path.iterdir())
