"""A testbed of two instant legs, for tests that send packets of their own."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from minitopo_dc.fields import IpVersion
from minitopo_dc.real.calibration import send_through
from minitopo_dc.real.elements import ElementProcess, start, testbed
from minitopo_dc.real.hosts import EmulatedHost, Network
from minitopo_dc.real.run import run_real
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address

INSTANT = {"rate_mbps": 10_000, "delay_ms": 0, "jitter_ms": 0, "queue_packets": 100_000}
SOME_BYTES = 12_000
"""Ten packets: more than hosts say to find each other."""


class Bed(NamedTuple):
    """Hosts and the elements on gnb and ue."""

    hosts: Network
    gnb: ElementProcess
    ue: ElementProcess
    directory: Path

    def start(self) -> None:
        """Start the elements' time."""
        start((self.gnb, self.ue))

    def probe(
        self,
        rate: float,
        seconds: float,
        *,
        size: int = 1200,
        version: IpVersion = 4,
        leg: int = 1,
        starts: bool = False,
    ) -> pd.DataFrame:
        """Send from the server to the client.

        `starts`: the elements' time begins once packets arrive; a program's start may take seconds.
        """
        with ThreadPoolExecutor() as pool:
            started = pool.submit(self._start_with_traffic) if starts else None
            arrivals = send_through(
                self.hosts.server,
                self.hosts.client,
                client_address(leg, version),
                rate=rate,
                seconds=seconds,
                size=size,
                scratch=self.directory / f"arrivals-{leg}",
            )
            if started is not None:
                started.result()
        return arrivals

    def _start_with_traffic(self) -> None:
        deadline = time.monotonic() + 60
        while self.hosts.client.received_bytes() < SOME_BYTES and time.monotonic() < deadline:
            time.sleep(0.05)
        self.start()

    def stop(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """End both elements; return the summaries of gnb and ue."""
        return self.gnb.stop(), self.ue.stop()


def scenario(mode: str, downlink: dict[str, Any] | None = None, **more: Any) -> Scenario:
    """Two equal legs."""
    legs = [{"downlink": downlink or INSTANT, "uplink": INSTANT}] * 2
    return Scenario.check({"transport": "tcp", "mode": mode, "legs": legs} | more, "test")


@contextlib.contextmanager
def running_testbed(wanted: Scenario, directory: Path) -> Iterator[Bed]:
    """Hosts with running elements."""
    with testbed(wanted, directory) as bed:
        gnb, ue = bed.elements
        yield Bed(bed.hosts, gnb, ue, directory)


def in_order(arrivals: pd.DataFrame) -> bool:
    """Whether every packet came after all that were sent before it."""
    return bool((arrivals["number"].diff().dropna() > 0).all())


def ok(directory: Path, **fields: Any) -> RunResult:
    """The result of a scenario on the real clock, which must do what it should."""
    result = run_real(Scenario.check(fields, "test"), directory)
    assert (result.status, result.reason) == ("ok", ""), f"{result.status}: {result.reason}"
    return result


def output(host: EmulatedHost, *command: str) -> str:
    """What a command prints on a host, errors too."""
    done = host.popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.communicate()[0].decode()
