"""The element on real packets: what it promises about order, loss, contents and failure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minitopo_dc.fields import IpVersion
from minitopo_dc.real.calibration import send_through
from minitopo_dc.real.hosts import EmulatedHost
from minitopo_dc.real.run import run_real
from minitopo_dc.runs.perform import RunFailedError
from minitopo_dc.scenario.addresses import client_address, server_address
from minitopo_dc.workloads import Ping
from tests import long
from tests.real.testbed import INSTANT, in_order, output, running_testbed, scenario

pytestmark = pytest.mark.root
RATE = 25_000
GNB_ON_LEG_1 = "fd00:10:1:1::1"
SEND_WITHOUT_A_LENGTH = """
import socket, sys
addresses = [socket.inet_pton(socket.AF_INET6, address) for address in sys.argv[1:]]
header = bytes((0x60, 0, 0, 0, 0, 0, socket.IPPROTO_HOPOPTS, 64)) + b"".join(addresses)
options = bytes((socket.IPPROTO_NONE, 0, 1, 4, 0, 0, 0, 0))
with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
    raw.sendto(header + options, (sys.argv[2], 0))
"""


def lose_one_pdu(host: EmulatedHost) -> None:
    """Drop the 10,000th packet that enters by leg 1, before the element sees it."""
    nth = ["-m", "statistic", "--mode", "nth", "--every", "10000000", "--packet", "9999"]
    rule = ["iptables", "-w", "-t", "raw", "-A", "PREROUTING", "-i", "ue-leg1", *nth, "-j", "DROP"]
    assert host.popen(rule).wait() == 0


@pytest.mark.alone
def test_after_one_lost_pdu_at_25000_a_second_exactly_one_is_missing(tmp_path: Path) -> None:
    with running_testbed(scenario("dc"), tmp_path) as bed:
        lose_one_pdu(bed.hosts.ue)
        arrivals = bed.probe(RATE, 1)
        received = bed.stop()[1]["receive"]["1"]
    assert len(arrivals.number) == RATE - 1
    assert in_order(arrivals)
    assert received["missing"] == 1
    assert received["t_reordering_expiries"] == 1


@pytest.mark.parametrize("delivery", ["in-order", "off"])
def test_legs_of_different_delay_keep_the_order_unless_reordering_is_off(
    tmp_path: Path, delivery: str
) -> None:
    legs = [{"downlink": INSTANT | {"delay_ms": ms}, "uplink": INSTANT} for ms in (0, 30)]
    wanted = scenario("dc", legs=legs, pdcp={"delivery": delivery})
    with running_testbed(wanted, tmp_path) as bed:
        arrivals = bed.probe(2000, 0.5)
        received = bed.ue.stop()["receive"]["1"]
    assert len(arrivals.number) == 1000
    assert in_order(arrivals) == (received["buffered_maximum"] > 0) == (delivery == "in-order")


def test_of_duplicates_on_both_legs_one_arrives_whatever_one_leg_loses(tmp_path: Path) -> None:
    """A packet that says no length, as a jumbogram's (RFC 2675), leaves no gap among them."""
    legs = [{"downlink": INSTANT | {"loss_percent": loss}, "uplink": INSTANT} for loss in (50, 0)]
    with running_testbed(scenario("dc-duplicate", legs=legs, ip_version=6), tmp_path) as bed:
        addresses = (server_address(1, 6), client_address(1, 6))
        said = output(bed.hosts.server, sys.executable, "-c", SEND_WITHOUT_A_LENGTH, *addresses)
        arrivals = bed.probe(2000, 0.5, version=6)
        gnb, ue = bed.stop()
    received = ue["receive"]["1"]
    assert said == ""
    assert [gnb["transmit"]["1"]["malformed"], received["missing"]] == [1, 0]
    assert len(arrivals.number) == received["pdus_2"] == 1000
    assert in_order(arrivals)
    assert 300 < received["pdus_1"] == received["duplicates"] < 700


@pytest.mark.parametrize(
    ("version", "bits"),
    [(4, 12), (6, 18), long(4, 16), long(4, 18), long(6, 12), long(6, 16)],
)
def test_packets_of_full_mtu_pass_whole_and_with_their_contents(
    tmp_path: Path, version: IpVersion, bits: int
) -> None:
    """UDP discards a datagram whose checksum is wrong; a fragment would be a PDU more."""
    wanted = scenario("dc", ip_version=version, pdcp={"sn_bits": bits})
    with running_testbed(wanted, tmp_path) as bed:
        arrivals = bed.probe(500, 0.8, size=1500, version=version)
        gnb, ue = bed.stop()
    received, legs = ue["receive"]["1"], gnb["legs"]
    assert len(arrivals.number) == received["pdus_1"] + received["pdus_2"] == 400
    assert in_order(arrivals)
    assert received["malformed"] == 0
    size = 1500 + (3 if bits == 18 else 2)
    assert [legs[leg]["delivered_bytes"] for leg in ("1", "2")] == [200 * size] * 2


@pytest.mark.parametrize("version", [6, long(4)])
def test_a_split_uplink_arrives_in_order_and_elements_take_their_rules_with_them(
    tmp_path: Path, version: IpVersion
) -> None:
    programs = ("iptables", "ip6tables") if version == 6 else ("iptables",)
    listed = [(program, "-w", "-t", "mangle", "-S") for program in programs]
    with running_testbed(scenario("dc", ip_version=version, split_uplink=True), tmp_path) as bed:
        hosts, scratch, server = bed.hosts, tmp_path / "arrivals", server_address(1, version)
        arrivals = send_through(
            hosts.client, hosts.server, server, rate=2000, seconds=0.5, size=1200, scratch=scratch
        )
        sent = bed.ue.stop()["transmit"]["2"]
        before = [output(hosts.gnb, *command) for command in listed]
        bed.gnb.stop()
        behind = [output(hosts.gnb, *command) for command in listed]
    assert len(arrivals.number) == 1000
    assert in_order(arrivals)
    assert sent["pdus_1"] == sent["pdus_2"] == 500
    assert all("NFQUEUE" in rules for rules in before)
    assert all("-P PREROUTING ACCEPT" in rules and "-A" not in rules for rules in behind)


def test_a_packet_at_the_end_of_its_time_to_live_is_answered_and_leaves_no_gap(
    tmp_path: Path,
) -> None:
    with running_testbed(scenario("dc-duplicate"), tmp_path) as bed:
        answers = []
        for hops in ("1", "2"):
            words = ("ping", "-c", "1", "-W", "5", "-t", hops, client_address(1))
            answers.append(output(bed.hosts.server, *words))
        arrivals = bed.probe(500, 0.2)
        gnb, ue = bed.stop()
    received = ue["receive"]["1"]
    assert all("Time to live exceeded" in answer for answer in answers), answers
    assert ["10.0.0.1" in answers[0], "10.1." in answers[1]] == [True, True]
    assert gnb["transmit"]["1"]["sdus"] == received["delivered"] == len(arrivals.number) + 1
    assert received["missing"] == 0


@pytest.mark.parametrize("version", [4, long(6)])
def test_no_packet_passes_a_dead_element(tmp_path: Path, version: IpVersion) -> None:
    with running_testbed(scenario("dc", ip_version=version), tmp_path) as bed:
        bed.ue.kill()
        ping = ["ping", "-n", "-c", "3", "-i", "0.1", "-W", "0.5", client_address(1, version)]
        assert bed.hosts.server.popen(ping, stdout=subprocess.DEVNULL).wait() != 0
        with pytest.raises(RunFailedError, match=r"ue .*-9"):
            bed.ue.stop()


def test_both_versions_are_shaped_where_both_exist(tmp_path: Path) -> None:
    with running_testbed(scenario("sc", ip_version=6), tmp_path) as bed:
        arrived = [len(bed.probe(2000, 0.5, version=version).number) for version in (4, 6)]
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


@pytest.mark.parametrize("links", [0, 2])
def test_round_trips_of_ipv6_take_the_delay_of_each_leg_and_each_backhaul(
    links: int, tmp_path: Path
) -> None:
    link = {"downlink": INSTANT, "uplink": INSTANT}
    real = {"backhaul": [link] * links}
    wanted = scenario("sc", INSTANT | {"delay_ms": 15}, ip_version=6, real=real)
    ping = {"transport": "icmp", "workload": Ping(count=2, interval_s=0.05)}
    trips = run_real(wanted.model_copy(update=ping), tmp_path).details["round_trips"]
    pairs = [(leg, backhaul) for backhaul in range(1, max(1, links) + 1) for leg in (1, 2)]
    assert [(trip["leg"], trip.get("backhaul", 1), trip["received"]) for trip in trips] == [
        (*pair, 2) for pair in pairs
    ]
    assert all(trip["minimum_ms"] >= 15 for trip in trips)
    uplink = json.loads((tmp_path / "ue-summary.json").read_text())["legs"]
    carried = 2 * max(1, links)
    assert [uplink[leg]["delivered_packets"] for leg in ("1", "2")] == [carried] * 2
