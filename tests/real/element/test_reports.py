"""Reports of the receiver as the element sends and takes them, without root."""

from __future__ import annotations

import random
import select
import socket
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.utils import rdpcap

from minitopo_dc.link import ConstantDelay, Leg, LegParameters, make_capacity
from minitopo_dc.pdcp import (
    Feedback,
    FeedbackStatistics,
    LegReception,
    Report,
    append_trailer,
    decode_report,
    encode_report,
    sn_format,
)
from minitopo_dc.real.element import captures, drivers
from minitopo_dc.real.element.captures import Captures
from minitopo_dc.real.element.drivers import LegDriver, ReceiveDriver
from minitopo_dc.real.element.kernel.loop import Loop
from minitopo_dc.real.element.kernel.process import ElementError
from minitopo_dc.real.element.reports import ReportReceiver, report_sender, udp_datagram
from minitopo_dc.router.drivers import ReportSender, Way
from minitopo_dc.scenario import Pdcp
from minitopo_dc.scenario.element import ElementSettings, ReportPath
from tests.capture.packets import datagram
from tests.real.element.fakes import MS, FakePacket, NoInjector

PATH = ReportPath.check(
    {
        "legs": [
            {"leg": leg, "source": f"10.1.{leg}.2", "destination": f"10.1.{leg}.1"}
            for leg in (1, 2)
        ],
        "port": 49153,
    },
    "test",
)
HEADERS = 28
PAYLOADS = [bytes(46), bytes(range(47)), b"\xff" * 86]


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize(
    ("ends", "head"),
    [
        (("10.1.1.2", "10.1.1.1"), IP(id=0, ttl=64)),
        (("fd00:10:1:1::2", "fd00:10:1:1::1"), IPv6(hlim=64)),
    ],
)
def test_a_datagram_has_the_lengths_and_checksums_of_its_contents(
    ends: tuple[str, str], head: Any, payload: bytes
) -> None:
    made = udp_datagram(ip_address(ends[0]), ip_address(ends[1]), 49153, payload)
    head.src, head.dst = ends
    assert made == bytes(head / UDP(sport=49153, dport=49153) / payload)


def test_a_udp_checksum_of_0_is_written_as_all_ones() -> None:
    addresses = ip_address("10.1.1.2"), ip_address("10.1.1.1")
    checksum = udp_datagram(*addresses, 1, bytes(2))[26:28]  # with no payload but 0, so that ...
    made = udp_datagram(*addresses, 1, checksum)  # ... this one's sum is all ones
    assert made[26:28] == b"\xff\xff"


class Terminal:
    """ue with a bearer over two legs, and their uplinks, in time that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0
        monkeypatch.setattr(drivers, "Injector", NoInjector)
        for module in (drivers, captures):
            monkeypatch.setattr(module, "clock", lambda: self.now)
        self.loop = Loop()
        settings = Pdcp(report_ms=20)
        entity = settings.receiver(2)
        maker = settings.report_maker(entity, 2)
        assert maker is not None
        self.driver = ReceiveDriver(
            1, entity, sn_format(18), {11: 0, 12: 1}, self.loop, reports=maker
        )
        parameters = LegParameters(delay=ConstantDelay(10 * MS))
        cores: list[Leg[drivers.Held]] = [
            Leg(parameters, make_capacity(8_000_000), random.Random(1)) for _ in range(2)
        ]
        self.leg, self.other = (LegDriver(n, core, self.loop) for n, core in enumerate(cores, 1))
        self.maker = maker

    def send_on(self, outlet: drivers.Outlet, *, every_leg: bool = False) -> ReportSender:
        """Reports take the first leg by `outlet`, else the other."""
        pairs = zip((self.leg.leg, self.other.leg), (outlet, self.other), PATH.legs, strict=True)
        ways: list[Way] = [(leg, report_sender(to, ends, PATH.port)) for leg, to, ends in pairs]
        sender = ReportSender(self.maker, ways, every_leg=every_leg)
        self.loop.add_timed(sender, first=True)
        return sender

    def receive(self, sn: int, interface: int) -> None:
        pdu = append_trailer(datagram(500), sn_format(18).encode(sn))
        self.driver.on_packet(FakePacket(pdu, interface))

    def serve(self, now: int) -> list[bytes]:
        """What has left leg 1 by then."""
        self.now = now
        self.loop.serve(now)
        return left(self.leg)


def left(leg: Any) -> list[bytes]:
    sent: list[bytes] = leg.injector.sent
    return sent


@pytest.fixture
def ue(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(monkeypatch)


def test_a_report_crosses_the_uplink_leg_and_leaves_for_the_other_end(ue: Terminal) -> None:
    ue.send_on(ue.leg).start(0)
    ue.receive(0, 11)
    ue.receive(1, 12)
    size = HEADERS + 86
    leaves = 30 * MS + size * 1000  # 1 byte a us
    assert ue.serve(20 * MS) == []
    assert ue.leg.leg.statistics().pushed_bytes == size
    assert ue.loop.due == leaves  # the loop knows of the packet that it gave the leg itself
    assert ue.serve(leaves - 1) == []
    [sent] = ue.serve(leaves)
    assert (
        sent[:HEADERS]
        == udp_datagram(ip_address("10.1.1.2"), ip_address("10.1.1.1"), 49153, sent[HEADERS:])[
            :HEADERS
        ]
    )
    report = decode_report(sent[HEADERS:], 2)
    assert report == Report(1, (LegReception(1, 1, 500, 0, 0), LegReception(2, 1, 500, 0, 0)))


def test_where_legs_may_fail_a_report_takes_all_that_are_up(ue: Terminal) -> None:
    ue.send_on(ue.leg, every_leg=True).start(0)
    ue.serve(20 * MS)
    ue.serve(39 * MS)
    ue.leg.leg.set_up(False, 39 * MS)
    for now in (40, 59):
        ue.serve(now * MS)
    first, others = left(ue.leg), left(ue.other)
    assert [decode_report(sent[HEADERS:], 2).number for sent in first] == [1]
    assert [decode_report(sent[HEADERS:], 2).number for sent in others] == [1, 2]
    assert first[0][HEADERS:] == others[0][HEADERS:]


def test_a_report_is_in_the_uplink_leg_s_capture(ue: Terminal, tmp_path: Path) -> None:
    legs = [{"leg": 1, "interface": "ue-leg1", "seed": "", "radio": {"rate_mbps": 8}}]
    wanted = {"host": "ue", "legs": legs, "directory": tmp_path, "pcap": "uplink"}
    captured = Captures(ElementSettings.check(wanted, "test"), offset=0)
    ue.send_on(captured.reports(ue.leg)).start(0)
    ue.serve(20 * MS)
    [sent] = ue.serve(32 * MS)
    captured.close()
    [packet] = rdpcap(str(tmp_path / "ue-leg1.pcap"))
    assert bytes(packet) == sent


def test_what_reaches_the_socket_is_taken_at_once_garbage_too() -> None:
    feedback = Feedback(1)
    feedback.sent(0, 0)
    receiver = ReportReceiver(ip_address("127.0.0.1"), 0, feedback.push)
    report = encode_report(Report(1, (LegReception(1, 1, 500, 0, 0),)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for data in (report, b"", report[:-1], report):
            sender.sendto(data, receiver._socket.getsockname())
    assert select.select([receiver], [], [], 5)[0] == [receiver]
    receiver.read()
    receiver.close()
    assert feedback.statistics() == FeedbackStatistics(1, 1, 2)
    assert feedback.reports[0] is not None


def test_an_address_that_the_host_has_not_is_named() -> None:
    with pytest.raises(ElementError, match=r"reports cannot reach 192\.0\.2\.1 port 49153: Cannot"):
        ReportReceiver(ip_address("192.0.2.1"), 49153, Feedback(1).push)
