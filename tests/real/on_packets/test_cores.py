"""Elements in Python and in C on the same real packets."""

from __future__ import annotations

import random
import socket
import struct
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from minitopo_dc.real.element.injection import TTL_OFFSET
from minitopo_dc.real.element.loop import inside
from tests.native.extension import needs_native
from tests.real.element.fakes import ones_complement_sum
from tests.real.element.options import FORWARDED, REFUSED
from tests.real.on_packets.test_malformed import CLIENT, SERVER, way
from tests.real.testbed import in_order, running_testbed, scenario

pytestmark = [pytest.mark.root, needs_native]
CORES = ("python", "native")
ODD = 3000
PAUSE_S = 0.001
AT_ONCE = 8
TIMESTAMP = 68
OPTIONS = [each for each in (*FORWARDED.values(), *REFUSED.values()) if each[0] != TIMESTAMP]
"""In a timestamp routers write the time."""
ALL_FRAMES = 3
"""ETH_P_ALL of linux/if_ether.h."""


def test_late_numbers_and_reports_lose_nothing_in_c(tmp_path: Path) -> None:
    link = {"rate_mbps": 10, "delay_ms": 5, "jitter_ms": 0}
    pdcp = {"split": "least-delay", "numbering": "late", "report_ms": 20}
    wanted = scenario("dc", link, pdcp=pdcp, real={"core": "native"})
    with running_testbed(wanted, tmp_path) as bed:
        bed.start()
        arrivals = bed.probe(1500, 1)
        gnb, ue = bed.stop()
    assert [gnb["core"], ue["core"]] == ["native", "native"]
    assert in_order(arrivals)
    assert len(arrivals.number) == 1500
    assert ue["receive"]["1"]["missing"] == 0
    sent = gnb["transmit"]["1"]
    assert min(sent["pdus_1"], sent["pdus_2"]) > 400
    assert sent["reports_received"] > 20


def odd_datagram(draw: random.Random, number: int) -> bytes:
    """A datagram of some protocol, DSCP, ECN, lifetime and options; it may be a fragment."""
    options = draw.choice([b""] * 8 + OPTIONS)
    payload = struct.pack("!I", number) + bytes(draw.choice([0, 1, 90, 1400]))
    total = 20 + len(options) + len(payload)
    fragment = draw.choice([0, 0, 0x4000, 0x2000, 0x2010, 0x00B9])
    lifetime = draw.choice([1, 2, 3, 64, 255])
    first = (0x45 + len(options) // 4, draw.randrange(256), total, number & 0xFFFF, fragment)
    head = struct.pack("!BBHHHBB", *first, lifetime, draw.choice([1, 6, 17, 47, 253]))
    rest = SERVER + CLIENT + options
    checksum = 0xFFFF - ones_complement_sum(head + rest)
    return head + checksum.to_bytes(2, "big") + rest + payload


def carried(core: str, directory: Path) -> tuple[list[bytes], dict[str, int], dict[str, int]]:
    """What reaches the client of odd datagrams, and what both ends of the bearer count."""
    draw = random.Random(26)
    wanted = scenario("dc", real={"core": core}, pdcp={"batch": 3})
    with running_testbed(wanted, directory) as bed, ExitStack() as stack:
        hosts = bed.hosts
        down = stack.enter_context(
            way(hosts.server, "server-core", (hosts.gnb, "gnb-core"), hosts.client)
        )
        with inside(hosts.client.pid):
            seen = stack.enter_context(
                socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL_FRAMES))
            )
        seen.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE of asm/socket.h
        seen.bind(("client-lan1", ALL_FRAMES))
        seen.settimeout(1)
        for number in range(ODD):
            down.send(odd_datagram(draw, number))
            if number % AT_ONCE == 0:
                time.sleep(PAUSE_S)
        found = list(datagrams(seen))
        gnb, ue = bed.stop()
    return found, gnb["transmit"]["1"], ue["receive"]["1"]


def datagrams(seen: socket.socket) -> list[bytes]:
    """What the server sent, until nothing comes any more."""
    found: list[bytes] = []
    while True:
        try:
            data, origin = seen.recvfrom(2000)
        except TimeoutError:
            return found
        if origin[2] == socket.PACKET_HOST and data[0] >> 4 == 4 and data[12:16] == SERVER:
            found.append(data)


def test_odd_packets_survive_alike(tmp_path: Path) -> None:
    results = []
    for core in CORES:
        (tmp_path / core).mkdir()
        results.append(carried(core, tmp_path / core))
    (python, sent, received), (native, sent_in_c, received_in_c) = results
    assert native == python
    assert len(python) > ODD / 3
    assert min(each[TTL_OFFSET] for each in python) == 1
    for name in ("sdus", "malformed", "refused_options", "handed_back", "pdus_1", "pdus_2"):
        assert sent_in_c[name] == sent[name]
    for name in ("delivered", "delivered_bytes", "malformed", "missing"):
        assert received_in_c[name] == received[name]


def test_what_c_lacks_is_carried_by_python_and_said(tmp_path: Path) -> None:
    recovery = {"data_recovery": True, "report_ms": 20}
    with running_testbed(scenario("dc", {"rate_mbps": 20}, pdcp=recovery), tmp_path) as bed:
        gnb, _ = bed.stop()
    assert [gnb["core"], gnb["core_reason"]] == ["python", "pdcp has data_recovery"]
