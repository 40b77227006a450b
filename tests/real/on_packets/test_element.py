"""The element on real packets: what it promises about order, loss, contents and failure."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from minitopo_dc.fields import IpVersion
from minitopo_dc.real.network.elements import ElementFailedError
from minitopo_dc.real.network.hosts import EmulatedHost
from minitopo_dc.real.run.probe import Arrivals, send_through
from minitopo_dc.scenario.addresses import client_address, server_address
from tests import long
from tests.real.testbed import INSTANT, Bed, running_testbed, scenario, start_with_traffic

pytestmark = pytest.mark.root
RATE = 25_000


def probe(
    bed: Bed,
    directory: Path,
    rate: float,
    seconds: float,
    *,
    size: int = 1200,
    version: IpVersion = 4,
) -> Arrivals:
    return send_through(
        bed.hosts.server,
        bed.hosts.client,
        client_address(1, version),
        rate=rate,
        seconds=seconds,
        size=size,
        scratch=directory / "arrivals",
    )


def output(host: EmulatedHost, *command: str) -> str:
    return host.popen(command, stdout=subprocess.PIPE).communicate()[0].decode()


def lose_one_pdu(host: EmulatedHost) -> None:
    """Drop the 10,000th packet that enters by leg 1, before the element sees it."""
    nth = ["-m", "statistic", "--mode", "nth", "--every", "10000000", "--packet", "9999"]
    rule = ["iptables", "-w", "-t", "raw", "-A", "PREROUTING", "-i", "ue-leg1", *nth, "-j", "DROP"]
    assert host.popen(rule).wait() == 0


@pytest.mark.alone
def test_after_one_lost_pdu_at_25000_a_second_exactly_one_is_missing(tmp_path: Path) -> None:
    with running_testbed(scenario("dc"), tmp_path) as bed:
        lose_one_pdu(bed.hosts.ue)
        arrivals = probe(bed, tmp_path, RATE, 1)
        received = bed.ue.stop()["receive"]["1"]
        bed.gnb.stop()
    assert len(arrivals.number) == RATE - 1
    assert arrivals.in_order
    assert received["missing"] == 1
    assert received["t_reordering_expiries"] == 1


@pytest.mark.parametrize("delivery", ["in-order", "off"])
def test_legs_of_different_delay_keep_the_order_unless_reordering_is_off(
    tmp_path: Path, delivery: str
) -> None:
    legs = [{"downlink": INSTANT | {"delay_ms": ms}, "uplink": INSTANT} for ms in (0, 30)]
    wanted = scenario("dc", legs=legs, pdcp={"delivery": delivery})
    with running_testbed(wanted, tmp_path) as bed:
        arrivals = probe(bed, tmp_path, 2000, 0.5)
        received = bed.ue.stop()["receive"]["1"]
    assert len(arrivals.number) == 1000
    assert arrivals.in_order == (received["buffered_maximum"] > 0) == (delivery == "in-order")


def test_of_duplicates_on_both_legs_one_arrives_whatever_one_leg_loses(tmp_path: Path) -> None:
    legs = [{"downlink": INSTANT | {"loss_percent": loss}, "uplink": INSTANT} for loss in (50, 0)]
    with running_testbed(scenario("dc-duplicate", legs=legs), tmp_path) as bed:
        arrivals = probe(bed, tmp_path, 2000, 0.5)
        received = bed.ue.stop()["receive"]["1"]
    assert len(arrivals.number) == received["pdus_2"] == 1000
    assert arrivals.in_order
    assert 300 < received["pdus_1"] == received["duplicates"] < 700


@pytest.mark.parametrize(
    ("version", "bits"),
    [
        *((4, 12), (6, 18)),
        *(long(4, 16), long(4, 18), long(6, 12), long(6, 16)),
    ],
)
def test_packets_of_full_mtu_pass_whole_and_with_their_contents(
    tmp_path: Path, version: IpVersion, bits: int
) -> None:
    """UDP discards a datagram whose checksum is wrong; a fragment would be a PDU more."""
    wanted = scenario("dc", ip_version=version, pdcp={"sn_bits": bits})
    with running_testbed(wanted, tmp_path) as bed:
        arrivals = probe(bed, tmp_path, 500, 0.8, size=1500, version=version)
        received = bed.ue.stop()["receive"]["1"]
        legs = bed.gnb.stop()["legs"]
    assert len(arrivals.number) == received["pdus_1"] + received["pdus_2"] == 400
    assert arrivals.in_order
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
    assert arrivals.in_order
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
        arrivals = probe(bed, tmp_path, 500, 0.2)
        received = bed.ue.stop()["receive"]["1"]
        sent = bed.gnb.stop()["transmit"]["1"]
    assert all("Time to live exceeded" in answer for answer in answers), answers
    assert ["10.0.0.1" in answers[0], "10.1." in answers[1]] == [True, True]
    assert sent["sdus"] == received["delivered"] == len(arrivals.number) + 1
    assert received["missing"] == 0


@pytest.mark.alone
def test_a_leg_that_is_down_delays_packets_until_it_is_up(tmp_path: Path) -> None:
    downlink = INSTANT | {"outages": [[0.5, 1.0]]}
    wanted = scenario("sc", downlink)
    with running_testbed(wanted, tmp_path) as bed, ThreadPoolExecutor() as pool:
        started = pool.submit(start_with_traffic, bed)
        arrivals = probe(bed, tmp_path, 1000, 1.5)
        started.result()
    assert len(arrivals.number) == 1500
    assert 300 < arrivals.delays_ms.max() < 600


@pytest.mark.parametrize("version", [4, long(6)])
def test_no_packet_passes_a_dead_element(tmp_path: Path, version: IpVersion) -> None:
    with running_testbed(scenario("dc", ip_version=version), tmp_path) as bed:
        bed.ue.kill()
        ping = ["ping", "-n", "-c", "3", "-i", "0.1", "-W", "0.5", client_address(1, version)]
        assert bed.hosts.server.popen(ping, stdout=subprocess.DEVNULL).wait() != 0
        with pytest.raises(ElementFailedError, match="element on ue ended with -9"):
            bed.ue.stop()


def test_an_element_with_wrong_settings_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "element.yaml"
    path.write_text("host: gnb\nlegs: []\ndirectory: .\nqueue: 3\n")
    command = [sys.executable, "-m", "minitopo_dc.real.element", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "element.yaml: queue: unknown field; known: host, legs" in done.stderr


@pytest.mark.long
def test_the_same_seed_loses_the_same_packets(tmp_path: Path) -> None:
    losses = []
    for attempt in range(2):
        directory = tmp_path / str(attempt)
        directory.mkdir()
        with running_testbed(scenario("sc", INSTANT | {"loss_percent": 10}), directory) as bed:
            arrivals = probe(bed, directory, 1000, 1)
        losses.append(hashlib.sha256(arrivals.number.tobytes()).hexdigest())
    assert losses[0] == losses[1]
