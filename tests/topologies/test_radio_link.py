"""RadioLink in Mininet: what packets meet between two hosts, and what is left behind."""

from __future__ import annotations

import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mininet.log import setLogLevel
from mininet.net import Mininet

from minitopo_dc.link import Bernoulli
from minitopo_dc.real.calibration import send_through
from minitopo_dc.real.hosts import EmulatedHost
from minitopo_dc.topologies.element_process import TopologyError
from minitopo_dc.topologies.radio_link import PROCESS, RadioLink
from tests import REPOSITORY, long
from tests.real.processes import with_word

pytestmark = pytest.mark.root
TOLERANCE = 0.02
PACKET = 1500
ECHO_BITS = 84 * 8
"""Of a usual ping: IPv4 20, ICMP 8, data 56 bytes."""
COUNT_TCP = """
import socket, time
with socket.create_server(("", 9000)) as server:
    print("ready", flush=True)
    connection = server.accept()[0]
    size, begin = 0, time.monotonic()
    while data := connection.recv(1 << 20):
        size += len(data)
    print(size * 8 / (time.monotonic() - begin) / 1e6)
"""
SEND_TCP = """
import socket
with socket.create_connection(("10.0.0.2", 9000)) as connection:
    connection.sendall(bytes(5_000_000))
"""
STAYS = """
import time
from mininet.net import Mininet
from minitopo_dc.topologies.radio_link import RadioLink
net = Mininet(controller=None, link=RadioLink)
net.addLink(net.addHost("k1"), net.addHost("k2"))
print("built", flush=True)
time.sleep(60)
"""


class Pair:
    """Two hosts, 10.0.0.1 and 10.0.0.2, with one radio link between them."""

    def __init__(self, net: Any) -> None:
        self.left, self.right = net["h1"], net["h2"]
        (self.link,) = net.links

    def round_trips(self, count: int = 40) -> list[float]:
        """Times in ms of the echoes that came back; the first had to wait for ARP."""
        self.left.cmd("ping -c 1 10.0.0.2")
        replies = self.left.cmd(f"ping -c {count} -i 0.01 10.0.0.2")
        return [float(found) for found in re.findall(r"time=([\d.]+) ms", replies)]

    def send(self, rate: float, seconds: float, scratch: Path) -> pd.DataFrame:
        """UDP from left to right."""
        hosts = EmulatedHost(self.left), EmulatedHost(self.right)
        return send_through(
            *hosts, "10.0.0.2", rate=rate, seconds=seconds, size=PACKET, scratch=scratch
        )


@contextmanager
def pair(**parameters: Any) -> Iterator[Pair]:
    setLogLevel("error")
    net = Mininet(controller=None, link=RadioLink)
    try:
        net.addLink(net.addHost("h1"), net.addHost("h2"), **parameters)
        net.build()
        yield Pair(net)
    finally:
        net.stop()


@pytest.mark.alone
def test_rate_delay_and_loss_are_those_asked_for(tmp_path: Path) -> None:
    with pair(bw=10, delay="15ms", loss=1) as hosts:
        trips = hosts.round_trips(100)
        arrivals = hosts.send(1.5 * 10e6 / 8 / PACKET, 2, tmp_path / "arrivals")
        sent = hosts.link.intf1.statistics()
    expected = 30 + 2 * ECHO_BITS / 10e3
    assert statistics.median(trips) == pytest.approx(expected, rel=TOLERANCE)
    settled = arrivals.received[arrivals.received > arrivals.received[0] + 500_000_000]
    mbps = (len(settled) - 1) * PACKET * 8e3 / (settled.iloc[-1] - settled.iloc[0])
    assert mbps == pytest.approx(10 * 0.99, rel=TOLERANCE)
    # The seed fixes which packets are lost: not about one in a hundred, but exactly these.
    on_the_leg = sent["pushed_packets"] - sent["dropped_queue"]
    assert sent["dropped_loss"] == losses(on_the_leg, 0.01, "1/h1-eth0")
    assert sent["kernel_drops"] == 0


def losses(packets: int, share: float, seed: str) -> int:
    """Of so many packets how many a leg of this seed loses: its loss generator is drawn first."""
    rng, model = Random(Random(seed).getrandbits(64)), Bernoulli(share)
    return sum(model.lost(rng) for _ in range(packets))


@pytest.mark.alone
def test_tcp_fills_a_link_between_two_hosts_in_spite_of_tcp_small_queues() -> None:
    with pair(bw=20, delay="15ms", max_queue_size=100) as hosts:
        receiving = hosts.right.popen([sys.executable, "-c", COUNT_TCP], stdin=subprocess.DEVNULL)
        assert receiving.stdout.readline() == b"ready\n"
        hosts.left.pexec([sys.executable, "-c", SEND_TCP])
        mbps = float(receiving.communicate()[0])
    # Held on the sending host it was 2.9 of 20 Mbit/s, and 3.0 of 100.
    assert mbps > 15


@pytest.mark.alone
def test_each_direction_has_its_own_parameters_and_a_change_keeps_the_others() -> None:
    with pair(params1={"delay": "5ms"}, params2={"delay": "30ms", "bw": 1}) as hosts:
        before = hosts.round_trips()
        hosts.link.intf1.config(bw=10)
        hosts.link.intf2.config(delay="15ms")
        behind = hosts.round_trips()
        with pytest.raises(TopologyError, match="queue_packets: "):
            hosts.link.intf1.config(max_queue_size=7)
    serialisation = ECHO_BITS / 1e3
    assert statistics.median(before) == pytest.approx(35 + serialisation, rel=TOLERANCE)
    expected = 20 + serialisation + ECHO_BITS / 10e3
    assert statistics.median(behind) == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.long
@pytest.mark.alone
def test_uniform_jitter_is_around_the_delay_and_keeps_the_order(tmp_path: Path) -> None:
    with pair(params1={"delay": "20ms", "jitter": "5ms", "jitter_model": "uniform"}) as hosts:
        hosts.left.cmd("ping -c 1 10.0.0.2")
        arrivals = hosts.send(100, 3, tmp_path / "arrivals")
    assert (np.diff(arrivals.number) > 0).all()
    delays = arrivals.delays_ms
    assert delays.min() >= 15
    # A packet every 10 ms never meets another: no delay is longer for the order's sake.
    assert np.median(delays) == pytest.approx(20, abs=1)
    assert np.diff(np.percentile(delays, (10, 90))) == pytest.approx(8, abs=1)


@pytest.mark.alone
def test_a_trace_is_the_capacity_over_time_from_the_restart_on(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,rate_mbps\n0,8\n2,2\n4,2\n")
    with pair(params1={"trace": str(trace), "end": "hold", "max_queue_size": 100}) as hosts:
        hosts.left.cmd("ping -c 1 10.0.0.2")
        hosts.link.restart()
        start = time.monotonic_ns()
        arrivals = hosts.send(1000, 3, tmp_path / "arrivals")
    since = (arrivals.received - start) / 1e9
    for begin, end, mbps in ((1, 1.9, 8), (2.1, 2.9, 2)):  # 1 s: the sender is a process
        count = np.count_nonzero((since >= begin) & (since < end))
        assert count * PACKET * 8 / (end - begin) / 1e6 == pytest.approx(mbps, rel=TOLERANCE)


@pytest.mark.long
@pytest.mark.alone
def test_a_bridge_carries_ipv6_from_one_radio_link_to_another() -> None:
    setLogLevel("error")
    net = Mininet(controller=None, link=RadioLink)
    try:
        bridge = net.addHost("br", ip=None)
        hosts = [net.addHost(name) for name in ("h1", "h2")]
        for host in hosts:
            net.addLink(host, bridge, delay="25ms")
        net.build()
        bridge.cmd("ip link add bridge0 type bridge && ip link set bridge0 up")
        for port in bridge.intfList():
            bridge.cmd(f"ip link set {port} master bridge0")
        for number, host in enumerate(hosts, start=1):
            host.cmd(f"ip address add fd00::{number}/64 dev {host.defaultIntf()} nodad")
        hosts[0].cmd("ping -c 1 -W 5 fd00::2")
        answer = hosts[0].cmd("ping -c 5 -i 0.1 fd00::2")
    finally:
        net.stop()
    assert ", 0% packet loss" in answer
    assert float(re.findall(r"= ([\d.]+)/", answer)[0]) == pytest.approx(100, rel=TOLERANCE)


@pytest.mark.alone
def test_stopping_the_network_leaves_nothing_behind() -> None:
    setLogLevel("error")
    net = Mininet(controller=None, link=RadioLink)
    outside = net.addHost("h0", inNamespace=False)
    net.addLink(outside, net.addHost("h1"), bw=10)
    net.build()
    interface = Path("/sys/class/net/h0-eth0")
    assert (interface.exists(), len(with_word(PROCESS))) == (True, 1)
    net.stop()
    assert (interface.exists(), with_word(PROCESS)) == (False, [])


@pytest.mark.alone
def test_a_killed_program_leaves_nothing_behind() -> None:
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", STAYS], cwd=REPOSITORY, stdout=subprocess.PIPE
    )
    assert program.stdout is not None
    assert program.stdout.readline() == b"built\n"
    assert len(with_word(PROCESS)) == 1
    program.send_signal(signal.SIGKILL)
    program.communicate()
    deadline = time.monotonic() + 5
    while with_word(PROCESS) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert with_word(PROCESS) == []


@pytest.mark.alone
@pytest.mark.parametrize(
    ("topology", "files", "pings", "more"),
    [
        ("two_path", ("two_path",), 12, ""),
        ("two_path,2,2", ("two_path",), 30, ""),
        ("many_clients,2,2,6", ("two_path",), 20, ""),
        long("many_clients,3,2", ("two_path",), 30, ""),
        long("two_path", ("two_path", "radio_link"), 12, "--link radio,bw=10,delay=5ms"),
    ],
)
def test_every_host_reaches_every_other_with_mininet_s_own_command(
    topology: str, files: tuple[str, ...], pings: int, more: str
) -> None:
    """What this says of `--test pingall`; with IPv6 beside IPv4, and by IPv4 alone."""
    custom = ",".join(f"topologies/{file}.py" for file in files)
    words = ["--custom", custom, "--topo", topology, "--test", "pingall", *more.split()]
    done = subprocess.run(
        ["mn", *words], capture_output=True, text=True, cwd=REPOSITORY, check=True, timeout=60
    )
    assert f"0% dropped ({pings}/{pings} received)" in done.stdout + done.stderr
    assert with_word(PROCESS) == []
