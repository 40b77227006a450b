"""Packets that are too large for a leg: the kernel that sent them learns of it, or does not."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import IpVersion
from minitopo_dc.real.element.kernel.process import inside
from minitopo_dc.scenario.addresses import client_address
from tests.real.testbed import INSTANT, running_testbed, scenario

FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
MTU = {4: (socket.IPPROTO_IP, 14, 10), 6: (socket.IPPROTO_IPV6, 24, 23)}
"""The options of a connected socket that tell the path's MTU, and forbid fragments (linux/in.h)."""
FORBID = 2

pytestmark = pytest.mark.root


def learnt(directory: Path, mode: str, version: IpVersion, **narrow: Any) -> tuple[int, int]:
    """What the server's kernel takes for the path's MTU after 1400 bytes, and what legs dropped."""
    asked = scenario(mode, INSTANT | {"mtu_bytes": 1300} | narrow, ip_version=version)
    with running_testbed(asked, directory) as bed:
        with inside(bed.hosts.server.pid):
            sender = socket.socket(FAMILIES[version], socket.SOCK_DGRAM)
        level, mtu, discover = MTU[version]
        with sender:
            sender.setsockopt(level, discover, FORBID)
            sender.connect((client_address(1, version), 5001))
            sender.send(bytes(1400))
            until = time.monotonic() + 5
            while sender.getsockopt(level, mtu) == 1500 and time.monotonic() < until:
                time.sleep(0.05)
            seen = sender.getsockopt(level, mtu)
        legs = bed.gnb.stop()["legs"].values()
        bed.ue.stop()
    return seen, sum(leg["dropped_mtu"] for leg in legs)


@pytest.mark.parametrize(("mode", "version", "mtu"), [("sc", 6, 1300), ("dc", 4, 1297)])
def test_a_kernel_learns_the_mtu_of_a_leg(
    tmp_path: Path, mode: str, version: IpVersion, mtu: int
) -> None:
    assert learnt(tmp_path, mode, version, mtu_icmp=True) == (mtu, 1)


def test_a_black_hole_tells_nobody(tmp_path: Path) -> None:
    assert learnt(tmp_path, "sc", 4) == (1500, 1)
