"""IPv6 through the element and its legs, on real packets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minitopo_dc.fields import IpVersion
from minitopo_dc.real.network.hosts import EmulatedHost
from minitopo_dc.real.run.probe import Arrivals, send_through
from minitopo_dc.real.run.real import run_real
from minitopo_dc.scenario.addresses import client_address, server_address
from minitopo_dc.workloads import Ping
from tests.real.testbed import INSTANT, Bed, running_testbed, scenario

pytestmark = pytest.mark.root
GNB_ON_LEG_1 = "fd00:10:1:1::1"
SEND_WITHOUT_A_LENGTH = """
import socket, sys
addresses = [socket.inet_pton(socket.AF_INET6, address) for address in sys.argv[1:]]
header = bytes((0x60, 0, 0, 0, 0, 0, socket.IPPROTO_HOPOPTS, 64)) + b"".join(addresses)
options = bytes((socket.IPPROTO_NONE, 0, 1, 4, 0, 0, 0, 0))
with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
    raw.sendto(header + options, (sys.argv[2], 0))
"""


def probe(bed: Bed, directory: Path, version: IpVersion = 6) -> Arrivals:
    return send_through(
        bed.hosts.server,
        bed.hosts.client,
        client_address(1, version),
        rate=2000,
        seconds=0.5,
        size=1200,
        scratch=directory / "arrivals",
    )


def output(host: EmulatedHost, *command: str) -> str:
    done = host.popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.communicate()[0].decode()


def test_duplicates_arrive_once_and_a_packet_that_says_no_length_leaves_no_gap(
    tmp_path: Path,
) -> None:
    """As a jumbogram's (RFC 2675): payload length 0, then hop-by-hop options."""
    with running_testbed(scenario("dc-duplicate", ip_version=6), tmp_path) as bed:
        addresses = (server_address(1, 6), client_address(1, 6))
        said = output(bed.hosts.server, sys.executable, "-c", SEND_WITHOUT_A_LENGTH, *addresses)
        arrivals = probe(bed, tmp_path)
        received = bed.ue.stop()["receive"]["1"]
        sent = bed.gnb.stop()["transmit"]["1"]
    assert said == ""
    assert [sent["malformed"], received["missing"]] == [1, 0]
    assert len(arrivals.number) == received["duplicates"] == 1000
    assert received["pdus_1"] == received["pdus_2"] == 1000
    assert received["malformed"] == 0
    assert arrivals.in_order


def test_both_versions_are_shaped_where_both_exist(tmp_path: Path) -> None:
    with running_testbed(scenario("sc", ip_version=6), tmp_path) as bed:
        arrived = [len(probe(bed, tmp_path, version=version).number) for version in (4, 6)]
        leg = bed.gnb.stop()["legs"]["1"]
    assert arrived == [1000, 1000]
    assert (leg["delivered_packets"], leg["delivered_bytes"]) == (2000, 2_400_000)


def test_neighbours_are_found_across_a_leg_that_lets_nothing_pass(tmp_path: Path) -> None:
    """gnb's advertisement reaches ue, its echo replies do not."""
    down = INSTANT | {"outages": [[0, 60]]}
    with running_testbed(scenario("sc", down, ip_version=6), tmp_path) as bed:
        bed.gnb.order("start")
        ue = bed.hosts.ue
        output(ue, "ip", "-6", "neighbour", "flush", "dev", "ue-leg1")
        ping = output(ue, "ping", "-n", "-c", "2", "-i", "0.1", "-W", "0.3", GNB_ON_LEG_1)
        neighbour = output(ue, "ip", "-6", "neighbour", "show", GNB_ON_LEG_1)
        leg = bed.gnb.stop()["legs"]["1"]
    assert "2 packets transmitted, 0 received" in ping
    assert "lladdr" in neighbour
    assert "FAILED" not in neighbour
    assert leg["pushed_packets"] == 2


def test_round_trips_take_the_delay_of_each_leg(tmp_path: Path) -> None:
    wanted = scenario("sc", INSTANT | {"delay_ms": 15}, ip_version=6)
    options = {"transport": "icmp", "workload": Ping(count=5, interval_s=0.05)}
    found = run_real(wanted.model_copy(update=options), tmp_path).details["round_trips"]
    assert [(each["leg"], each["received"]) for each in found] == [(1, 5), (2, 5)]
    for each in found:
        assert each["minimum_ms"] >= 15
    uplink = json.loads((tmp_path / "ue-summary.json").read_text())["legs"]
    assert [uplink[leg]["delivered_packets"] for leg in ("1", "2")] == [5, 5]


def test_a_backhaul_has_ipv6_too(tmp_path: Path) -> None:
    link = {"downlink": INSTANT, "uplink": INSTANT}
    wanted = scenario("sc", ip_version=6, real={"backhaul": [link, link]})
    options = {"transport": "icmp", "workload": Ping(count=2, interval_s=0.05)}
    found = run_real(wanted.model_copy(update=options), tmp_path).details["round_trips"]
    assert [(each["leg"], each["backhaul"], each["received"]) for each in found] == [
        *((1, 1, 2), (2, 1, 2), (1, 2, 2), (2, 2, 2))
    ]
