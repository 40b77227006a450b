"""How fast virtual time passes: `python -m benchmarks.virtual_clock` (no root, half a minute).

Simulated seconds per CPU second of one core, for the papers' default point; with `--profile`
where the CPU time of the DC run goes.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from minitopo_dc.scenario import Scenario
from minitopo_dc.simulation.run import run_virtual

REPETITIONS = 3
MODES = ("sc", "dc", "dc-duplicate")
SIZE_MB = 40
"""Long enough that slow start hardly counts."""

PARTS = ("aioquic/quic", "aioquic/h3", "aioquic", "runners", "link", "pdcp", "simulation")
"""Packages of the profile; functions written in C count as others."""


def scenario(mode: str, size_mb: float = SIZE_MB) -> Scenario:
    """The papers' default point."""
    values: dict[str, Any] = {
        "transport": "quic",
        "mode": mode,
        "clock": "virtual",
        "legs": [{"downlink": {"rate_mbps": 20}}] * 2,
        "workload": {"size_mb": size_mb},
        "options": {"receive_buffer_bytes": 33_554_432},
    }
    return Scenario.check(values, "benchmark")


def speed(mode: str) -> float:
    """Simulated seconds per CPU second, start-up of the program left out."""
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        begin = time.process_time()
        result = run_virtual(scenario(mode), Path(name))
        cpu = time.process_time() - begin
    if result.completion_s is None:
        raise RuntimeError(result.reason)
    return result.completion_s / cpu


def simulated_seconds_per_cpu_second() -> dict[str, float]:
    """The median of each mode, after one run that is not counted."""
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        run_virtual(scenario("dc", 0.1), Path(name))
    return {mode: round(median(speed(mode) for _ in range(REPETITIONS)), 2) for mode in MODES}


def profile() -> dict[str, float]:
    """Where the time of the DC run goes: percent of it by package; the functions are printed."""
    profiler = cProfile.Profile()
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        run_virtual(scenario("dc", 0.1), Path(name))
        profiler.runcall(run_virtual, scenario("dc", 10), Path(name))
    own: dict[str, float] = {}
    for entry in profiler.getstats():
        file = getattr(entry.code, "co_filename", "")  # a function written in C has none
        part = next((part for part in PARTS if f"/{part}/" in file), "others")
        own[part] = own.get(part, 0.0) + entry.inlinetime
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
    return {part: round(100 * own[part] / sum(own.values()), 1) for part in sorted(own)}


def main() -> None:
    """Print one JSON object, or a profile."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.virtual_clock", description=__doc__)
    parser.add_argument("--profile", action="store_true", help="cProfile of 10 MB over DC")
    wanted = profile if parser.parse_args().profile else simulated_seconds_per_cpu_second
    print(json.dumps(wanted(), indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
