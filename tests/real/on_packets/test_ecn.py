"""Marks of a leg's queue discipline on real packets, as their receiver counts them."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from minitopo_dc.fields import IpVersion
from minitopo_dc.link.queue.discipline import Ecn
from minitopo_dc.real.element.kernel.process import inside
from minitopo_dc.runners.processes.udp_socket import receive_with_ecn, set_receive_buffer, use_ecn
from minitopo_dc.scenario.addresses import client_address
from tests import long
from tests.native.extension import needs_native
from tests.real.testbed import running_testbed, scenario

PACKETS, PORT = 300, 5001
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}


@pytest.mark.root
@needs_native
@pytest.mark.parametrize(("core", "version"), [long("native", 4), ("native", 6), ("python", 4)])
def test_the_receiver_counts_the_marks_of_both_legs(
    core: str, version: IpVersion, tmp_path: Path
) -> None:
    """300 packets at once over two legs of 2 Mbit/s: those that wait for over 20 ms are marked."""
    link = {"rate_mbps": 2, "delay_ms": 1, "jitter_ms": 0, "queue_packets": 1000}
    step = {"queue_discipline": "step", "queue_parameters": {"threshold_ms": 20}}
    asked = scenario("dc", link | step, real={"core": core}, ip_version=version, pdcp={"batch": 2})
    with running_testbed(asked, tmp_path) as bed:
        for element in (bed.gnb, bed.ue):
            element.order("start")
        with inside(bed.hosts.client.pid):
            receiver = socket.socket(FAMILIES[version], socket.SOCK_DGRAM)
        with inside(bed.hosts.server.pid):
            sender = socket.socket(FAMILIES[version], socket.SOCK_DGRAM)
        with receiver, sender:
            to = client_address(1, version), PORT
            receiver.bind(to)
            set_receive_buffer(receiver, 4 << 20)
            for udp in (receiver, sender):
                use_ecn(udp, Ecn.ECT_0)
            for _ in range(PACKETS):
                sender.sendto(bytes(1000), to)
            came: list[int] = []
            until = time.monotonic() + 5
            while len(came) < PACKETS and time.monotonic() < until:
                came += [ecn for _, _, ecn in receive_with_ecn(receiver)]
                time.sleep(0.01)
        legs = bed.gnb.stop()["legs"].values()
        bed.ue.stop()
    assert set(came) == {Ecn.ECT_0, Ecn.CE}
    assert len(came) == PACKETS
    assert came.count(Ecn.CE) == sum(leg["marked_packets"] for leg in legs)
    # A packet takes 4 ms: the last half of each leg's 150 waits for about 300 ms and more.
    assert min(leg["marked_packets"] for leg in legs) > PACKETS / 4
