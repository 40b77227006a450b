"""Dual Connectivity in Mininet scripts and in `mn`: traffic, legs that go down, nothing left."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mininet.log import setLogLevel
from mininet.net import Mininet

from minitopo_dc.topologies.dual_connectivity import addDualConnectivity
from minitopo_dc.topologies.element_process import PROCESS, REGISTRY, TopologyError
from minitopo_dc.topologies.radio_link import RadioLink
from tests import REPOSITORY
from tests.real.processes import with_word

pytestmark = [pytest.mark.root, pytest.mark.alone]
EXAMPLE = REPOSITORY / "examples" / "three_hosts.py"
STATISTICS = 'ue.dual_connectivity.statistics()["uplink"]'
COUNTERS = (
    "sh sleep 0.3",  # they are written each 0.1 s
    f'py {{leg: count["pushed_packets"] for leg, count in {STATISTICS}.items()}}',
)
CARRIER = "sh sleep 1.3"
"""The kernel tells of an interface that comes up at most once a second."""


def kept() -> set[Path]:
    return set(REGISTRY.glob("*"))


def cli(topology: str, orders: list[str]) -> str:
    """What mn says to these orders, each given at its prompt: a program would read the next one."""
    command = ["mn", "--custom", "topologies/two_path.py", "--topo", topology]
    with subprocess.Popen(
        command,
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as mn:
        assert mn.stdin is not None
        assert mn.stdout is not None
        said = b""
        for order in orders:
            before = len(said)
            while b"mininet> " not in said[before:]:
                read = os.read(mn.stdout.fileno(), 4096)
                assert read, said.decode()
                said += read
            mn.stdin.write(order.encode() + b"\n")
            mn.stdin.flush()
        mn.stdin.close()
        said += mn.stdout.read()
    return said.decode()


@contextmanager
def three_hosts() -> Iterator[Any]:
    setLogLevel("error")
    net = Mininet(controller=None)
    for name in ("server", "gnb", "ue"):
        net.addHost(name)
    net.addLink("server", "gnb")
    try:
        yield net
    finally:
        net.stop()


@pytest.mark.long
def test_the_example_runs_as_it_is_printed() -> None:
    before = with_word(PROCESS)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert len(EXAMPLE.read_text().splitlines()) <= 25
    both, one = (float(rate) for rate in re.findall(r"([\d.]+) Mbits/sec", done.stdout))
    assert 12 < both < 30.5
    assert 12 < one < 20.5
    first, second = (
        [int(count) for count in re.findall(r"'(\d+) bytes'", line)]
        for line in done.stdout.splitlines()
        if "bytes" in line
    )
    assert min(first) > 1_000_000  # the machine's load decides how much, the split which share
    assert 1.5 < first[0] / first[1] < 2.5
    assert second[0] - first[0] > 2_000_000
    assert second[1] - first[1] < 200_000
    assert with_word(PROCESS) == before


def test_mn_runs_the_elements_and_a_leg_may_go_down_in_its_cli() -> None:
    before, files = with_word(PROCESS), kept()
    ping = "client ping -c 12 -i 0.02 server"
    orders = [
        *(ping, *COUNTERS, "py ue.dual_connectivity.down(1)", ping, *COUNTERS),
        *("py ue.dual_connectivity.up(1)", CARRIER, ping, *COUNTERS),
        *("link gnb ue down", "client ping -c 1 -W 0.3 server"),
        *("link gnb ue up", CARRIER, "client ping -c 2 -i 0.02 server", *COUNTERS),
        *("server iperf -s &", "client iperf -t 1 -c server", "server kill %iperf"),
        *(*COUNTERS, "pingall"),
    ]
    said = cli("two_path,mode=dc,bw=20,delay=10ms,batch=2", orders)
    assert re.findall(r"(\d+)% packet loss", said) == ["0", "0", "0", "100", "0"], said
    both, down, up, idle, loaded = (
        ast.literal_eval(found) for found in re.findall(r"\{1: .*?\}", said)
    )
    assert min(both.values()) >= 6
    assert down[1] <= both[1] + 1
    assert down[2] >= both[2] + 11
    assert up[1] > down[1]
    of_iperf = [loaded[leg] - idle[leg] for leg in (1, 2)]
    assert min(of_iperf) >= 200
    assert min(of_iperf) > 0.8 * max(of_iperf)
    assert "0% dropped (12/12 received)" in said
    assert with_word(PROCESS) == before
    assert kept() == files


def test_the_legs_may_be_links_of_the_user_s_own_class() -> None:
    with three_hosts() as net:
        for _ in range(2):
            net.addLink("gnb", "ue", cls=RadioLink, bw=10, delay="15ms")
        made = addDualConnectivity(net, "gnb", "ue", batch=2)
        net.start()
        replies = net["server"].cmd("ping -c 10 -i 0.05 10.0.0.3")
        net["ue"].cmd("sleep 0.2")
        counted = made.statistics()["downlink"]
    assert ", 0% packet loss" in replies
    assert 30 < float(re.findall(r"= [\d.]+/([\d.]+)", replies)[0]) < 33
    assert [each["pushed_packets"] for each in counted.values()] == [5, 5]


def test_a_policy_that_sees_legs_is_refused_over_links_of_others() -> None:
    before = kept()
    with three_hosts() as net:
        for _ in range(2):
            net.addLink("gnb", "ue")
        with pytest.raises(TopologyError, match="least-delay"):
            addDualConnectivity(net, "gnb", "ue", split="least-delay")
    assert kept() == before


@pytest.mark.long
def test_late_numbering_works_over_legs_of_the_element_s_own() -> None:
    with three_hosts() as net:
        options = {"split": "least-delay", "numbering": "late", "report_ms": 20}
        legs = [{"bw": 20, "delay": "10ms"}] * 2
        made = addDualConnectivity(net, "gnb", "ue", legs, **options)
        net.start()
        net["server"].cmd("iperf -s &")
        said = net["ue"].cmd("iperf -t 1 -c 10.0.0.1")
        net["server"].cmd("kill %iperf")
        counted = made.statistics()["uplink"]
    assert "Mbits/sec" in said
    delivered = [counters["delivered_bytes"] for counters in counted.values()]
    assert min(delivered) > 0.25 * max(delivered) > 150_000
