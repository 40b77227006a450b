"""RLC and HARQ against theory: `python -m benchmarks.rlc_theory`, as root (ten minutes).

One leg's downlink, in virtual time and with UDP packets on the real clock: how many packets needed
how many of HARQ's retransmissions, what was lost, whether the order was kept, and what a leg that
is never idle carries. `--virtual-only` needs no root and takes seconds.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from minitopo_dc.real.network.elements import stop_all
from minitopo_dc.real.network.testbed import testbed
from minitopo_dc.real.run.probe import send_through
from minitopo_dc.router.recorder import flatten
from minitopo_dc.runs.routers import leg_seed
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address
from minitopo_dc.units import NS_PER_MS, NS_PER_S

Times = npt.NDArray[np.int64]

ERRORS_PERCENT = (1.0, 10.0, 30.0)
MODES = ("am", "um")
RATE_MBPS, DELAY_MS = 20.0, 10.0
RTT_MS, RETRANSMISSIONS, SLOT_MS = 8.0, 4, 1.0
SINGLE_RATE, SINGLE_BYTES = 490.0, 100
"""Packets a second that hardly ever share a slot, and come at every phase of it."""
FULL_RATE, FULL_BYTES = 2500.0, 1500
"""30 Mbit/s: half as much again as the leg carries."""
SETTLE_S = 2.0
"""Left out at the beginning of a goodput, until the queue is full."""


@dataclass(frozen=True)
class Arrived:
    """Packets that arrived, in order of arrival, and the leg's own counts; times in ns."""

    number: Times
    sent: Times
    received: Times
    given_up_percent: float
    """Blocks that HARQ gave up: a machine that is late changes delays, but not this."""


def scenario(percent: float, mode: str, *, in_order: bool) -> Scenario:
    """Return a scenario of one leg, without jitter so that delays tell retransmissions."""
    rlc = {"block_error_percent": percent, "mode": mode, "in_order": in_order}
    down = {"rate_mbps": RATE_MBPS, "delay_ms": DELAY_MS, "jitter_ms": 0, "rlc": rlc}
    up = {"rate_mbps": 20, "delay_ms": 10, "jitter_ms": 1, "queue_packets": 10_000}
    legs = [{"downlink": down, "uplink": up}]
    values: dict[str, Any] = {"transport": "tcp", "mode": "sc", "legs": legs}
    return Scenario.check(values, "benchmark")


def virtual(wanted: Scenario, rate: float, size: int, seconds: float) -> Arrived:
    """Run the leg alone, in virtual time, with packets at even distances."""
    leg = wanted.legs[0].downlink.build(leg_seed(wanted, 1, "downlink"))
    leg.start(0)
    rows: list[tuple[int, int, int]] = []
    sent: list[int] = []

    def drain(until: int | None) -> None:
        while (due := leg.next_timeout()) is not None and (until is None or due <= until):
            rows.extend((number, sent[number], due) for number in leg.poll(due))

    for number in range(round(rate * seconds)):
        sent.append(round(number / rate * NS_PER_S))
        drain(sent[-1])
        leg.push(number, size, sent[-1])
    drain(None)
    table = np.array(rows, dtype=np.int64)
    counted = flatten(leg.statistics())
    return Arrived(table[:, 0], table[:, 1], table[:, 2], given_up(counted))


def given_up(counters: Mapping[str, int]) -> float:
    """Return the percentage of blocks that HARQ gave up."""
    return 100 * counters["harq_failures"] / counters["blocks"]


def real(wanted: Scenario, rate: float, size: int, seconds: float) -> Arrived:
    """Send UDP packets from the server to the client, through the element on gnb.

    Raises:
        RuntimeError: the leg kept packets, so what was measured is not all.
    """
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        directory = Path(name)
        with testbed(wanted, directory) as bed:
            bed.start()
            found = send_through(
                bed.hosts.server,
                bed.hosts.client,
                client_address(1),
                rate=rate,
                seconds=seconds,
                size=size,
                scratch=directory / "arrivals",
            )
            summaries = stop_all(bed.elements)
    counters = summaries[0]["legs"]["1"]
    if counters["queue_packets"] or counters["air_packets"]:
        raise RuntimeError(f"packets left on the leg: {counters}")
    return Arrived(found.number, found.sent, found.received, given_up(counters))


def shares(found: Arrived, sent: int) -> list[float]:
    """Return percentages: packets by retransmissions, sent again by RLC, lost; blocks given up."""
    extra = (found.received - found.sent) / NS_PER_MS - DELAY_MS - SLOT_MS
    # A packet waits for its slot for up to 1 ms, and the machine is late: less than a round trip.
    count = np.clip(np.floor(extra / RTT_MS).astype(int), 0, RETRANSMISSIONS + 1)
    arrived = np.bincount(count, minlength=RETRANSMISSIONS + 2).tolist()
    packets = [100 * number / sent for number in (*arrived, sent - len(count))]
    return [*packets, found.given_up_percent]


def theory(percent: float, mode: str) -> list[float]:
    """Return the same in closed form; RLC's loss in acknowledged mode is p^45, shown as 0."""
    p = percent / 100
    left = 100 * p ** (RETRANSMISSIONS + 1)
    last = [left, 0.0, left] if mode == "am" else [0.0, left, left]
    return [100 * (1 - p) * p**k for k in range(RETRANSMISSIONS + 1)] + last


def overtaken(found: Arrived) -> int:
    """Return how many packets arrived after one that was sent later."""
    return int(np.sum(found.number < np.maximum.accumulate(found.number)))


def goodput_mbps(found: Arrived, seconds: float) -> float:
    """Return the goodput (Mbit/s) of packets between `SETTLE_S` and the sender's end."""
    times = (found.received - found.sent.min()) / NS_PER_S
    inside = np.count_nonzero((times >= SETTLE_S) & (times < seconds))
    return inside * FULL_BYTES * 8 / (seconds - SETTLE_S) / 1e6


def retransmission_rows(clocks: dict[str, Any], seconds: float) -> Iterator[list[str]]:
    """Yield shares by mode and error probability: theory, and each clock."""
    sent = round(SINGLE_RATE * seconds)
    for mode in MODES:
        for percent in ERRORS_PERCENT:
            name = [mode.upper(), f"{percent:g}"]
            yield [*name, "theory", *(f"{each:.3f}" for each in theory(percent, mode))]
            for clock, run in clocks.items():
                wanted = scenario(percent, mode, in_order=False)
                found = shares(run(wanted, SINGLE_RATE, SINGLE_BYTES, seconds), sent)
                yield [*name, clock, *(f"{each:.3f}" for each in found)]


def full_rows(clocks: dict[str, Any], seconds: float) -> Iterator[list[str]]:
    """Yield goodput and order of a leg that is never idle, in acknowledged mode."""
    for percent in ERRORS_PERCENT:
        asked = f"{RATE_MBPS * (1 - percent / 100):.2f}"
        yield [f"{percent:g}", "theory", asked, "0", ""]
        for clock, run in clocks.items():
            found = [
                run(scenario(percent, "am", in_order=order), FULL_RATE, FULL_BYTES, seconds)
                for order in (True, False)
            ]
            late = [str(overtaken(each)) for each in found]
            yield [f"{percent:g}", clock, f"{goodput_mbps(found[0], seconds):.2f}", *late]


def table(head: Sequence[str], rows: Iterator[list[str]]) -> None:
    """Print a table in Markdown, row by row."""
    for row in (head, ["---"] * len(head)):
        print(f"| {' | '.join(row)} |")  # noqa: T201
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)  # noqa: T201
    print()  # noqa: T201


def main() -> None:
    """Print both tables in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rlc_theory", description=__doc__)
    parser.add_argument("--seconds", type=float, default=40, help="of each first-table run (40)")
    parser.add_argument("--full", type=float, default=12, help="of each second-table run (12)")
    parser.add_argument("--virtual-only", action="store_true", help="without the real clock")
    given = parser.parse_args()
    clocks = {"virtual": virtual} if given.virtual_only else {"virtual": virtual, "real": real}
    counts = [str(count) for count in range(RETRANSMISSIONS + 1)]
    head = ["mode", "block errors (%)", "clock", *counts, "by RLC", "lost", "given up"]
    table(head, retransmission_rows(clocks, given.seconds))
    head = ["block errors (%)", "clock", "goodput (Mbit/s)", "overtaken, in order", "not in order"]
    table(head, full_rows(clocks, given.full))


if __name__ == "__main__":
    main()
