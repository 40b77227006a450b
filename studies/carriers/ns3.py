"""Compare RLC of a leg that is lte-20 with ns-3's on the same packets and the same block errors.

    g++ -std=c++17 -O2 studies/carriers/ns3_rlc.cc -o ns3-rlc -lns3-lte -lns3-network -lns3-core
    python studies/carriers/ns3.py ./ns3-rlc

Writes `reference/ns3.csv`, a row a case. With `--packets CASE` it prints the delay of each packet.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Literal

import pandas as pd

import minitopo_dc as dc
from minitopo_dc.link.rlc.leg import RlcLeg
from minitopo_dc.numbers import significant

TABLE = Path(__file__).parent / "reference" / "ns3.csv"
US, MS = 1_000, 1_000_000
HARQ_ROUND, TRANSMISSIONS = 8, 5
"""Slots from a transmission to the next one, and how many a block has (docs/radio-legs.md)."""
TIMERS_MS = {"reordering_ms": 45, "poll_retransmit_ms": 60, "status_prohibit_ms": 20}
"""t-Reordering, t-PollRetransmit and t-StatusProhibit of a captured LTE network's bearer."""
AFTER_MS = 2_000
"""How long after the last packet a case goes on."""

Packet = tuple[int, int]
"""When it joins the queue (us), and its bytes."""
Delays = dict[int, float]
"""The delay (ms) of each packet that was delivered, by its number."""


@dataclass(frozen=True)
class Case:
    """Packets of the downlink, and the slots in which no transmission is decoded."""

    name: str
    packets: list[Packet]
    fails: frozenset[int] = frozenset()
    uplink_fails: frozenset[int] = frozenset()
    mode: Literal["am", "um"] = "am"

    @property
    def lasts_ms(self) -> int:
        """Return when it ends, in ms."""
        return self.packets[-1][0] // 1000 + AFTER_MS


def every(interval_us: int, until_ms: int, size: int, begin_ms: int = 0) -> list[Packet]:
    """Return a packet of `size` bytes each `interval_us`, between two moments (ms)."""
    return [(time, size) for time in range(begin_ms * 1000, until_ms * 1000, interval_us)]


def given_up(slot: int) -> set[int]:
    """Return the slots of all transmissions of a block that is sent first in `slot`."""
    return {slot + HARQ_ROUND * number for number in range(TRANSMISSIONS)}


def drawn(share: float, slots: int, seed: int) -> frozenset[int]:
    """Return slots of which each fails with a probability."""
    rng = Random(seed)
    return frozenset(slot for slot in range(slots) if rng.random() < share)


def sequences() -> Iterator[Case]:
    """Yield the cases, from no error to random ones."""
    call = every(5_300, 400, 200)
    busy = every(170, 200, 1500)  # 70.6 of 78.5 Mbit/s
    last = [(100_000, 1500)]
    lost = frozenset(given_up(100))
    yield Case("lone packets", call)
    yield Case("more than the rate", every(100, 200, 1500))
    yield Case("small packets", every(20, 100, 100))
    yield Case("HARQ once", busy, frozenset({50, 100, 150}))
    yield Case("HARQ three times", busy, frozenset({100, 108, 116}))
    yield Case("HARQ gives up, busy", busy, lost)
    yield Case("HARQ gives up, lone", call, frozenset(given_up(101)))
    yield Case("HARQ gives up, last", last, lost)
    yield Case(
        "RLC's repetition lost, too", call, frozenset(given_up(101)) | frozenset(range(150, 200))
    )
    yield Case("a burst of 60 ms", busy, frozenset(range(100, 160)))
    yield Case("a lost status", busy, lost, frozenset(given_up(161)))
    yield Case("10 % random", every(200, 10_000, 1500), drawn(0.1, 13_000, 1))
    yield Case("30 % random", every(260, 10_000, 1500), drawn(0.3, 13_000, 2))
    yield Case("50 % random, lone", every(5_300, 20_000, 200), drawn(0.5, 23_000, 3))
    yield Case("UM: HARQ gives up", busy, lost, mode="um")
    yield Case("UM: 50 % random, lone", every(5_300, 20_000, 200), drawn(0.5, 23_000, 3), mode="um")


def of_this_project(case: Case) -> Delays:
    """Return the delays over the downlink of lte-20, with RLC and HARQ but no core behind it."""
    direction = dc.lte(core_ms=0).downlink
    assert direction.rlc is not None
    rlc = direction.rlc.model_copy(update={"mode": case.mode, "block_error_percent": 0.0})
    leg = direction.model_copy(update={"rlc": rlc, "queue_packets": len(case.packets)}).build("1")
    assert isinstance(leg, RlcLeg)
    leg.start(0)
    edges = {slot for fail in case.fails for slot in (fail, fail + 1)}
    changes = [(slot * MS, 0, float(slot in case.fails)) for slot in edges]
    joins = [(time * US, 1, float(number)) for number, (time, _) in enumerate(case.packets)]
    delays: Delays = {}
    for now, kind, value in [*sorted(changes + joins), (case.lasts_ms * MS, 2, 0.0)]:
        while (due := leg.next_timeout()) is not None and due <= now:
            for number in leg.poll(due):
                delays[number] = due / MS - case.packets[number][0] / 1000
        if kind == 0:
            leg.retune(now, block_error=value)
        elif kind == 1:
            leg.push(int(value), case.packets[int(value)][1], now)
    return delays


def of_ns3(case: Case, program: str) -> Delays:
    """Return the delays by the program made of ns3_rlc.cc.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    lines = [f"mode {case.mode}", f"block_bytes {block_bytes()}", f"lasts_ms {case.lasts_ms}"]
    lines += [f"{name} {value}" for name, value in TIMERS_MS.items()]
    lines += [f"fails {slot}" for slot in case.fails]
    lines += [f"uplink_fails {slot}" for slot in case.uplink_fails]
    lines += [f"packet {time} {size}" for time, size in case.packets]
    text = "\n".join(lines) + "\n"
    printed = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    arrived = (line.split() for line in printed.stdout.splitlines())
    return {
        int(number): int(time) / 1000 - case.packets[int(number)][0] / 1000
        for number, time in arrived
    }


def block_bytes() -> int:
    """Return what a slot of lte-20 carries, in bytes."""
    rate = dc.lte().downlink.rate_mbps
    assert rate is not None
    return round(rate * 1e6 / 8000)


def row(case: Case, program: str) -> dict[str, object]:
    """Return both results of a case beside each other."""
    ours, theirs = of_this_project(case), of_ns3(case, program)
    apart = [ours[number] - theirs[number] for number in ours.keys() & theirs.keys()]
    columns: dict[str, object] = {"case": case.name, "packets": len(case.packets)}
    for name, delays in (("", ours), ("ns3_", theirs)):
        columns |= {f"{name}{column}": value for column, value in measures(case, delays).items()}
    same = sum(abs(difference) < 1e-6 for difference in apart)
    return columns | {
        "same_percent": significant(100 * same / len(apart)),
        "least_apart_ms": significant(min(apart)),
        "most_apart_ms": significant(max(apart)),
    }


def measures(case: Case, delays: Delays) -> dict[str, object]:
    """Return what was delivered, how late, and how fast."""
    series = pd.Series(delays)
    ends = [case.packets[number][0] / 1000 + delay for number, delay in delays.items()]
    sizes = sum(case.packets[number][1] for number in delays)
    return {
        "lost": len(case.packets) - len(delays),
        "mean_ms": significant(fmean(series)),
        "p95_ms": significant(float(series.quantile(0.95))),
        "most_ms": significant(float(series.max())),
        "goodput_mbps": significant(sizes * 8 / 1000 / (max(ends) - case.packets[0][0] / 1000)),
    }


def show(case: Case, program: str) -> Iterable[str]:
    """Yield a line a packet: when it joins the queue, and its delay here and in ns-3 (ms)."""
    ours, theirs = of_this_project(case), of_ns3(case, program)
    for number, (time, _) in enumerate(case.packets):
        yield f"{time / 1000:10.3f} {ours.get(number)!s:>10.8} {theirs.get(number)!s:>10.8}"


def main() -> None:
    """Compare all cases, or print one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="what g++ made of ns3_rlc.cc")
    parser.add_argument("--packets", metavar="CASE", help="print the packets of this case only")
    options = parser.parse_args()
    if options.packets:
        chosen = next(case for case in sequences() if case.name == options.packets)
        print(*show(chosen, options.program), sep="\n")  # noqa: T201
    else:
        table = pd.DataFrame([row(case, options.program) for case in sequences()])
        table.to_csv(TABLE, index=False)
        print(table.to_string(index=False))  # noqa: T201


if __name__ == "__main__":
    main()
