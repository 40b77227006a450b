"""Legs at 5G's rates beside the ideal leg: `python -m benchmarks.element.legs`, as root.

One leg carries PDUs of 1,200 bytes in bursts of 4. Its rate is measured at 1.2 times the capacity,
its delay at half of it. The ideal leg is the same model fed with the same packets in virtual time.
Beside each measurement runs a timer that does nothing: how late it wakes is the machine's part.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.element.__main__ import PORT, SILENCE_MS, SIZE, answer, compiled, running
from minitopo_dc.real.network.testbed import testbed
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address

BURST = 4
DELAY_MS = 10
QUEUE_PACKETS = 1000
FULL, HALF = 1.2, 0.5
"""Times the leg's rate: its queue never runs empty; no queue builds up beyond a burst."""
TIMER_US = "1000"


@dataclass(frozen=True)
class Row:
    """One leg's rate in Mbit/s, its one-way delays in us, and how late an idle timer was in us."""

    core: str
    rate_mbps: float
    measured_mbps: float
    ideal_median_us: float
    median_us: float
    ideal_p99_us: float
    p99_us: float
    timer_median_us: float
    timer_p99_us: float


def scenario(core: str, rate_mbps: float) -> Scenario:
    """Return one leg of this rate with a constant delay, without loss."""
    radio = {
        "rate_mbps": rate_mbps,
        "delay_ms": DELAY_MS,
        "jitter_ms": 0,
        "queue_packets": QUEUE_PACKETS,
    }
    leg = {"downlink": radio, "uplink": radio}
    fields = {"transport": "tcp", "mode": "sc", "legs": [leg], "real": {"core": core}}
    return Scenario.check(fields, "benchmark")


def sent_through(
    tested: Scenario, load: float, seconds: float, program: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Send at `load` times the leg's rate; return what the sink and the timer found."""
    packets_per_s = load * packet_rate(tested)
    words = [str(packets_per_s), str(seconds), str(SIZE), str(BURST)]
    with (
        tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name,
        testbed(tested, Path(name)) as bed,
        running(bed.hosts.client, program, "sink", PORT, str(SILENCE_MS)) as sink,
    ):
        bed.start()
        asleep = [str(program), "timer", str(seconds), TIMER_US]
        timer = bed.hosts.gnb.popen(asleep, stdout=subprocess.PIPE)
        send = [str(program), "send", client_address(1), PORT, *words]
        answer(bed.hosts.server.popen(send, stdout=subprocess.PIPE))
        return answer(sink), answer(timer)


def packet_rate(tested: Scenario) -> float:
    """Return how many packets of SIZE bytes the leg carries in a second."""
    rate_mbps = tested.legs[0].downlink.rate_mbps
    assert rate_mbps is not None
    return rate_mbps * 1e6 / 8 / SIZE


def ideal_delays_us(tested: Scenario, seconds: float) -> list[float]:
    """Return the one-way delays that the leg's model gives the same packets."""
    leg = tested.legs[0].downlink.build("benchmark")
    leg.start(0)
    rate = HALF * packet_rate(tested)
    delays: list[float] = []
    for number in range(round(rate * seconds)):
        sent = round(number // BURST * BURST / rate * 1e9)
        while (due := leg.next_timeout()) is not None and due <= sent:
            delays.extend((due - moment) / 1e3 for moment in leg.poll(due))
        leg.push(sent, SIZE, sent)
    return delays


def measured(core: str, rate_mbps: float, seconds: float, program: Path) -> Row:
    """Measure one leg's rate and delay."""
    tested = scenario(core, rate_mbps)
    ideal = quantiles(ideal_delays_us(tested, seconds), n=100)
    full, _ = sent_through(tested, FULL, seconds, program)
    half, timer = sent_through(tested, HALF, seconds, program)
    return Row(
        core,
        rate_mbps,
        full["mbps"],
        ideal[49],
        half["median_us"],
        ideal[98],
        half["p99_us"],
        timer["median_us"],
        timer["p99_us"],
    )


def medians(rows: list[Row]) -> str:
    """Return a line of the medians over repetitions."""
    first = rows[0]
    numbers = {
        name: median(getattr(row, name) for row in rows)
        for name in asdict(first)
        if name not in ("core", "rate_mbps")
    }
    return (
        f"{first.rate_mbps:>6g} Mbit/s {first.core:7} {numbers['measured_mbps']:9.2f} Mbit/s  "
        f"median {numbers['median_us']:8.0f} us (ideal {numbers['ideal_median_us']:.0f})  "
        f"p99 {numbers['p99_us']:8.0f} us (ideal {numbers['ideal_p99_us']:.0f})  "
        f"timer {numbers['timer_median_us']:.0f} us, p99 {numbers['timer_p99_us']:.0f} us"
    )


def main() -> None:
    """Measure all rates in turn and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", nargs="+", choices=("python", "native"), default=["native"])
    parser.add_argument("--rates", nargs="+", type=float, default=[100, 300, 500, 1000])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write every measurement there, a line each")
    asked = parser.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}", file=sys.stderr)  # noqa: T201
    found: dict[tuple[float, str], list[Row]] = {}
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        program = compiled(Path(name)).traffic
        for _ in range(asked.repetitions):
            for rate in asked.rates:
                for core in asked.cores:
                    row = measured(core, rate, asked.seconds, program)
                    found.setdefault((rate, core), []).append(row)
                    if asked.json:
                        with asked.json.open("a", encoding="utf-8") as file:
                            print(json.dumps(asdict(row)), file=file)
    for rows in found.values():
        print(medians(rows))  # noqa: T201


if __name__ == "__main__":
    main()
