"""What the element costs: `make benchmark` (root, a quiet machine, about 3 minutes).

Three figures, each against a baseline of the same call: the round-trip time that both elements add,
the highest PDU rate carried in order without loss, and the goodput with against without PDCP.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from minitopo_dc.real.machine.run_registry import registered
from minitopo_dc.real.network.elements import ElementFailedError, stop_all
from minitopo_dc.real.network.hosts import Network, network
from minitopo_dc.real.network.testbed import testbed
from minitopo_dc.real.run.probe import send_through
from minitopo_dc.real.run.real import run_real
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address

PINGS = 1000
PDU_BYTES = 1200
PDU_RATES = (10_000, 15_000, 20_000, 25_000, 30_000, 35_000, 40_000)
PDU_SECONDS = 4.0
REPETITIONS = 3
INSTANT = {"rate_mbps": 10_000, "delay_ms": 0, "jitter_ms": 0, "queue_packets": 100_000}
DEFAULT_POINT = {"rate_mbps": 20}
"""The papers' default point is the default of every other setting."""


def scenario(mode: str, leg: dict[str, Any], **more: Any) -> Scenario:
    """Return a scenario with two equal legs."""
    legs = [{"downlink": leg, "uplink": leg}] * 2
    fields = {"transport": "tcp", "mode": mode, "legs": legs, "congestion_control": "reno"}
    return Scenario.check(fields | more, "benchmark")


@contextmanager
def instant() -> Iterator[tuple[Network, Path]]:
    """Give hosts with PDCP and legs without delay for a block; the elements must end well."""
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        directory = Path(name)
        with testbed(scenario("dc", INSTANT), directory) as bed:
            yield bed.hosts, directory
            stop_all(bed.elements)


def round_trips(hosts: Network) -> list[float]:
    """Return round-trip times in ms, server to client, one ping after the other."""
    command = ["ping", "-n", "-i", "0.005", "-c", str(PINGS), client_address(1)]
    ping = hosts.server.popen(command, stdout=subprocess.PIPE)
    output = ping.communicate()[0].decode()
    return [float(found) for found in re.findall(r"time=([\d.]+) ms", output)]


def added_round_trip() -> dict[str, float]:
    """Return the round-trip time (ms) with PDCP and legs without delay, and without both."""
    with registered(), network(2) as plain:
        without = round_trips(plain)
    with instant() as (hosts, _):
        with_pdcp = round_trips(hosts)
    return {
        "without_median_ms": median(without),
        "with_median_ms": median(with_pdcp),
        "added_median_ms": median(with_pdcp) - median(without),
        "added_p99_ms": quantiles(with_pdcp, n=100)[98] - quantiles(without, n=100)[98],
    }


def carried(rate: int) -> bool:
    """Return whether this PDU rate (1/s) passes gnb and ue in order and without loss."""
    try:
        with instant() as (hosts, directory):
            arrivals = send_through(
                hosts.server,
                hosts.client,
                client_address(1),
                rate=rate,
                seconds=PDU_SECONDS,
                size=PDU_BYTES,
                scratch=directory / "arrivals",
            )
    except ElementFailedError:
        return False
    return arrivals.in_order and len(arrivals.number) == round(rate * PDU_SECONDS)


def highest_pdu_rate() -> dict[str, int]:
    """Return the highest rate (PDUs/s) below the first that fails."""
    passed = 0
    for rate in PDU_RATES:
        if not carried(rate):
            break
        passed = rate
    return {"pdu_per_s": passed, "highest_tried": PDU_RATES[-1]}


def goodput(wanted: Scenario) -> float:
    """Return the median goodput in Mbit/s."""
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        results = [run_real(wanted, Path(name) / str(i)) for i in range(REPETITIONS)]
    failed = [result.reason for result in results if result.goodput_mbps is None]
    if failed:
        raise RuntimeError(failed[0])
    return median(result.goodput_mbps or 0.0 for result in results)


def goodput_with_pdcp() -> dict[str, float]:
    """Return TCP's goodput (Mbit/s) on leg 1 of the default point, with and without PDCP.

    Out-of-order delivery shows what numbering and stripping cost. In order, t-Reordering also
    stalls the flow after each loss in the leg's queue, which is what the standard asks for.
    """
    without = goodput(scenario("sc", DEFAULT_POINT, workload={"size_mb": 20}))
    figures = {"without_mbps": without}
    for delivery in ("out-of-order", "in-order"):
        pdcp = {"ratio": [1, 0], "delivery": delivery}
        figures[f"{delivery}_mbps"] = goodput(
            scenario("dc", DEFAULT_POINT, workload={"size_mb": 20}, pdcp=pdcp)
        )
        figures[f"{delivery}_ratio"] = figures[f"{delivery}_mbps"] / without
    return figures


def virtual_clock() -> dict[str, Any]:
    """Return how fast the virtual clock is; it needs none of the other benchmarks."""
    from benchmarks.virtual_clock import speeds  # noqa: PLC0415

    return speeds()


BENCHMARKS = {
    "added-round-trip": added_round_trip,
    "pdu-rate": highest_pdu_rate,
    "pdcp-goodput": goodput_with_pdcp,
    "virtual-clock": virtual_clock,
}


def main() -> None:
    """Run the chosen benchmarks and print one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)} (all)"
    )
    names = parser.parse_args().names or list(BENCHMARKS)
    if unknown := set(names) - set(BENCHMARKS):
        parser.error(f"unknown: {', '.join(unknown)}; allowed: {', '.join(BENCHMARKS)}")
    print(json.dumps({name: BENCHMARKS[name]() for name in names}, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
