"""What the evidence of trust costs: `python -m benchmarks.evidence_cost`, as root.

The same download with and without the watch, in turn: CPU time of the process that runs it, which
has the watching thread, and goodput. Each figure is the median of the pairs' differences or ratios,
with Student's 95 % interval of their mean.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from minitopo_dc.real.run import watch
from minitopo_dc.real.run.real import run_real
from minitopo_dc.results.trust import measured_goodput
from minitopo_dc.scenario import Scenario
from minitopo_dc.statistics import mean_interval

LEG = {
    "downlink": {"rate_mbps": 20, "delay_ms": 10, "queue_packets": 1000},
    "uplink": {"rate_mbps": 20, "delay_ms": 10, "queue_packets": 10_000},
}
SIZE_MB = 20.0
"""5 s over two legs: start and end of a run weigh little."""
PAIRS = 9


def main() -> None:
    """Run the pairs and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS, metavar="N", help=f"({PAIRS})")
    print(json.dumps(compared(parser.parse_args().pairs), indent=1))  # noqa: T201


def compared(pairs: int) -> dict[str, Any]:
    """Return CPU time added, in ms per s of transfer, and the ratio of goodputs."""
    wanted = Scenario.check(
        {
            "transport": "quic-picoquic",
            "mode": "dc",
            "clock": "real",
            "legs": [LEG, LEG],
            "workload": {"size_mb": SIZE_MB},
            "congestion_control": "reno",
            "options": {"receive_buffer_bytes": None},
        },
        "benchmark",
    )
    added, ratios = [], []
    for _ in range(pairs):
        cpu, mbps = _run(wanted)
        with _unwatched():
            cpu_without, mbps_without = _run(wanted)
        added.append(1e3 * (cpu - cpu_without) / (8 * SIZE_MB / mbps))
        ratios.append(mbps / mbps_without)
    return {
        "pairs": pairs,
        "added_cpu_ms_per_s": _summary(added),
        "goodput_ratio": _summary(ratios),
    }


def _summary(values: list[float]) -> dict[str, float]:
    interval = mean_interval(values)
    return {"median": median(values), "low": interval.low, "high": interval.high}


def _run(wanted: Scenario) -> tuple[float, float]:
    """Return this process' CPU time (s), and the goodput (Mbit/s), also of a disturbed run."""
    before = _cpu_s()
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        result = run_real(wanted, Path(name))
    measured = measured_goodput(result)
    if measured is None:
        raise RuntimeError(result.reason)
    return _cpu_s() - before, measured


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


@contextlib.contextmanager
def _unwatched() -> Iterator[None]:
    """Let the watch look at the run's ends only."""
    before = watch.INTERVAL_S
    watch.INTERVAL_S = 1e6
    try:
        yield
    finally:
        watch.INTERVAL_S = before


if __name__ == "__main__":
    main()
