"""Reports of the receiver as the element sends and takes them, without root."""

from __future__ import annotations

import select
import socket
from ipaddress import ip_address
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6

from minitopo_dc.pdcp import Feedback, LegReception, Report
from minitopo_dc.pdcp.report import encode_report
from minitopo_dc.real.element.injection import ReportReceiver
from minitopo_dc.real.element.loop import ElementError
from minitopo_dc.router.ip import udp_datagram


@pytest.mark.parametrize("payload", [bytes(46), bytes(range(47)), b"\xff" * 86])
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
    assert feedback.counts() == (1, 1, 2)
    assert feedback.reports[0] is not None


def test_an_address_that_the_host_has_not_is_named() -> None:
    with pytest.raises(ElementError, match=r"192\.0\.2\.1 port 49153: "):
        ReportReceiver(ip_address("192.0.2.1"), 49153, Feedback(1).push)
