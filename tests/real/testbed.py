"""A testbed of two instant legs, for tests that send packets of their own."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from minitopo_dc.real.network.elements import ElementProcess
from minitopo_dc.real.network.hosts import Network
from minitopo_dc.real.network.testbed import testbed
from minitopo_dc.scenario import Scenario

INSTANT = {"rate_mbps": 10_000, "delay_ms": 0, "jitter_ms": 0, "queue_packets": 100_000}
SOME_BYTES = 12_000
"""Ten packets: more than hosts say to find each other."""


class Bed(NamedTuple):
    """Hosts and the elements on gnb and ue."""

    hosts: Network
    gnb: ElementProcess
    ue: ElementProcess


def scenario(mode: str, downlink: dict[str, Any] | None = None, **more: Any) -> Scenario:
    """Two equal legs."""
    legs = [{"downlink": downlink or INSTANT, "uplink": INSTANT}] * 2
    return Scenario.check({"transport": "tcp", "mode": mode, "legs": legs} | more, "test")


@contextlib.contextmanager
def running_testbed(wanted: Scenario, directory: Path) -> Iterator[Bed]:
    """Hosts with running elements."""
    with testbed(wanted, directory) as bed:
        yield Bed(bed.hosts, *bed.elements)


def start_with_traffic(bed: Bed) -> None:
    """Start the elements' time once packets arrive: a program's start may take seconds."""
    deadline = time.monotonic() + 60
    while bed.hosts.client.received_bytes() < SOME_BYTES and time.monotonic() < deadline:
        time.sleep(0.05)
    for element in (bed.gnb, bed.ue):
        element.order("start")
