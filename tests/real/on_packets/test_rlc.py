"""A leg with RLC and HARQ on real packets: what it loses is let go, all else arrives."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitopo_dc.real.network.hosts import EmulatedHost
from minitopo_dc.real.run.probe import Arrivals, send_through
from minitopo_dc.topologies.two_path import client_address
from tests.real.testbed import running_testbed, scenario

pytestmark = pytest.mark.root
RATE, SECONDS = 500, 2
PACKETS = RATE * SECONDS


def held(host: EmulatedHost) -> int:
    """Packets that the kernel keeps until somebody gives their verdict."""
    listing = ["cat", "/proc/net/netfilter/nfnetlink_queue"]
    lines = host.popen(listing, stdout=subprocess.PIPE).communicate()[0].decode().splitlines()
    assert lines, "no queue of the element's"
    return sum(int(line.split()[2]) for line in lines)  # number, port, packets that wait, ...


def probe(directory: Path, rlc: dict[str, Any]) -> tuple[Arrivals, dict[str, int], int]:
    """What arrived, gnb's counters of the leg, and what the kernel still holds for it."""
    downlink = {"rate_mbps": 20, "delay_ms": 10, "jitter_ms": 0, "rlc": rlc}
    with running_testbed(scenario("sc", downlink), directory) as bed:
        bed.gnb.order("start")
        arrivals = send_through(
            bed.hosts.server,
            bed.hosts.client,
            client_address(1),
            rate=RATE,
            seconds=SECONDS,
            size=1000,
            scratch=directory / "arrivals",
        )
        left = held(bed.hosts.gnb)
        return arrivals, bed.gnb.stop()["legs"]["1"], left


def test_in_acknowledged_mode_everything_arrives_in_order(tmp_path: Path) -> None:
    arrivals, counters, left = probe(tmp_path, {"block_error_percent": 10})
    assert len(arrivals.number) == PACKETS
    assert arrivals.in_order
    assert 0.05 < counters["harq_retransmissions"] / counters["blocks"] < 0.2
    assert (left, counters["queue_packets"], counters["air_packets"]) == (0, 0, 0)
    # At least one round trip for one packet in ten, and for those that wait for it.
    assert np.percentile(arrivals.delays_ms, 99) > 18


def test_what_unacknowledged_mode_loses_is_let_go(tmp_path: Path) -> None:
    rlc = {"mode": "um", "block_error_percent": 50, "harq_retransmissions": 1}
    arrivals, counters, left = probe(tmp_path, rlc)
    assert counters["dropped_radio"] == counters["pushed_packets"] - counters["delivered_packets"]
    assert 0.15 < counters["dropped_radio"] / counters["pushed_packets"] < 0.35
    assert len(arrivals.number) == pytest.approx(PACKETS * 0.75, abs=100)
    assert (left, counters["queue_packets"], counters["air_packets"]) == (0, 0, 0)
