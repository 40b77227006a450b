"""How fast virtual time passes: `python -m benchmarks.virtual_clock` (no root, two minutes).

Simulated seconds and Mbit per CPU second of one core, for the papers' default point, aioquic and
picoquic in turn; with `--profile TRANSPORT MODE` where the CPU time of one of these runs goes.
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
from typing import Any, NamedTuple

from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.run import run_virtual

REPETITIONS = 5
SIZE_MB = 40
"""Long enough that slow start hardly counts."""
AIOQUIC, PICOQUIC, MULTIPATH = "quic", "quic-picoquic", "mpquic-picoquic"
ONE_PATH_MODES = ("sc", "dc", "dc-duplicate")
ROWS = (
    *((name, mode) for mode in ONE_PATH_MODES for name in (AIOQUIC, PICOQUIC)),
    (MULTIPATH, "multipath"),
)
RATIOS = {
    **{mode: ((PICOQUIC, mode), (AIOQUIC, mode)) for mode in ONE_PATH_MODES},
    "multipath to sc": ((MULTIPATH, "multipath"), (AIOQUIC, "sc")),
    "multipath to dc": ((MULTIPATH, "multipath"), (AIOQUIC, "dc")),
}
"""Of picoquic's Mbit per CPU second to aioquic's."""

PARTS = {
    "picoquic in C": ("minitopo_dc_picoquic",),
    "aioquic": ("/aioquic/",),
    "hashes": ("_hashlib",),
    "legs": ("/minitopo_dc/link/", "/random.py"),
    "PDCP": ("/minitopo_dc/pdcp/",),
    "events, hosts, elements": ("/minitopo_dc/virtual/",),
    "picoquic's Python": ("/minitopo_dc/picoquic/",),
    "client and server": ("/minitopo_dc/runners/",),
}
"""Of the profile, by what a function's file or, in C, its name contains; all else is `others`."""


UPLINK = {"rate_mbps": 20, "delay_ms": 10, "queue_packets": 10_000}
"""The papers' (thesis, table 4.3, listing 4.1)."""


class Speed(NamedTuple):
    """Simulated seconds and Mbit of a run, per CPU second."""

    simulated_s: float
    mbit: float


def scenario(transport: str, mode: str, size_mb: float = SIZE_MB) -> Scenario:
    """Return a scenario of the papers' default point."""
    values: dict[str, Any] = {
        "transport": transport,
        "mode": mode,
        "clock": "virtual",
        "legs": [{"downlink": {"rate_mbps": 20}, "uplink": UPLINK}] * 2,
        "workload": {"size_mb": size_mb},
        "congestion_control": "reno",
        "options": {"receive_buffer_bytes": 33_554_432},
    }
    return Scenario.check(values, "benchmark")


def speed(transport: str, mode: str) -> Speed:
    """Return the speed of one run, without the program's start-up."""
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        begin = time.process_time()
        result = run_virtual(scenario(transport, mode), Path(name))
        cpu = time.process_time() - begin
    if result.completion_s is None:
        raise RuntimeError(result.reason)
    return Speed(result.completion_s / cpu, result.size_bytes * 8 / 1e6 / cpu)


def speeds() -> dict[str, Any]:
    """Return the medians of each row, after one run that is not counted.

    Each repetition has all rows.
    """
    _warm_up()
    found: dict[tuple[str, str], list[Speed]] = {row: [] for row in ROWS}
    for _ in range(REPETITIONS):
        for row in ROWS:
            found[row].append(speed(*row))
    seconds = {row: median(each.simulated_s for each in runs) for row, runs in found.items()}
    mbit = {row: median(each.mbit for each in runs) for row, runs in found.items()}
    return {
        "simulated_s_per_cpu_s": {" ".join(row): round(seconds[row], 1) for row in ROWS},
        "simulated_mbit_per_cpu_s": {" ".join(row): round(mbit[row]) for row in ROWS},
        "ratio": {name: round(mbit[one] / mbit[two], 1) for name, (one, two) in RATIOS.items()},
    }


def _warm_up() -> None:
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        for row in ROWS:
            run_virtual(scenario(*row, size_mb=0.1), Path(name))


def profile(transport: str, mode: str) -> dict[str, float]:
    """Return the percentage of a run's CPU time by part, and print the functions."""
    _warm_up()
    profiler = cProfile.Profile()
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        profiler.runcall(run_virtual, scenario(transport, mode, 10), Path(name))
    own: dict[str, float] = {}
    for entry in profiler.getstats():
        where = getattr(entry.code, "co_filename", str(entry.code))  # C functions have no file
        part = next(
            (name for name, words in PARTS.items() if _contains_word(where, words)), "others"
        )
        own[part] = own.get(part, 0.0) + entry.inlinetime
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
    return {part: round(100 * own[part] / sum(own.values()), 1) for part in sorted(own)}


def _contains_word(where: str, words: tuple[str, ...]) -> bool:
    return any(word in where for word in words)


def main() -> None:
    """Print one JSON object, or a profile."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.virtual_clock", description=__doc__)
    parser.add_argument(
        "--profile", nargs=2, metavar=("TRANSPORT", "MODE"), help="cProfile of 10 MB"
    )
    wanted = parser.parse_args().profile
    print(json.dumps(profile(*wanted) if wanted else speeds(), indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
