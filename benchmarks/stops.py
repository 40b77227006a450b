"""Stops of a process in a download on the real clock: what they cost, and whether it is told.

Each stop has an undisturbed run of the same download right before it, whose goodput is the
reference: what loads the machine meanwhile has a part in both.
"""

from __future__ import annotations

import argparse
import json
import sys
from random import Random
from typing import Any

from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.trust import OFF, measured_goodput
from minitopo_dc.scratch import scratch

# ruff: noqa: PLC0415
# What needs Mininet is imported when it is used: other benchmarks run without.

MB_PER_S = 2.3
"""What such a download gets over its leg of 20 Mbit/s."""
SHORTEST_S, LONGEST_S = 0.05, 1.0
LATEST = 0.9
"""Of the download: the latest begin of a stop."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the goodput and the verdict of downloads in which a process is stopped (root)."""
    from minitopo_dc.real.run.disturbance import STOPPED_PARTS

    rng = Random(options.seed)
    rows = []
    for _ in range(options.repetitions):
        for seconds in options.seconds:
            for part in STOPPED_PARTS:
                rows.append(_pair(seconds, part, rng))
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)  # noqa: T201
    told = [row for row in rows if row["error"] is not None and row["reference"] == "ok"]
    wrong = [row for row in told if abs(row["error"]) > OFF]
    return {
        "pairs": len(rows),
        "with an undisturbed reference": len(told),
        "wrong": len(wrong),
        "wrong and ok": [row for row in wrong if row["status"] == "ok"],
        "right and disturbed": sum(
            row["status"] == "disturbed" for row in told if row not in wrong
        ),
        "rows": rows,
    }


def _pair(seconds: float, part: str, rng: Random) -> dict[str, Any]:
    from minitopo_dc.real.run.disturbance import (
        CASES,
        NONE,
        Disturbance,
        case_scenario,
        disturbed,
    )
    from minitopo_dc.real.run.real import run_real

    def run(disturbance: Disturbance, after_s: float) -> RunResult:
        with scratch() as directory:
            return run_real(
                scenario, directory, disturb=lambda watch: disturbed(disturbance, watch, after_s)
            )

    scenario = case_scenario(NONE, CASES[0] | {"workload": {"size_mb": MB_PER_S * seconds}}, seed=1)
    stop_s = SHORTEST_S * (LONGEST_S / SHORTEST_S) ** rng.random()
    before = run(NONE, 0.0)
    stopped = run(Disturbance("stop", stop_s, part), rng.uniform(0.5, 0.5 + LATEST * seconds))
    reference, goodput = measured_goodput(before), measured_goodput(stopped)
    evidence = stopped.details.get("trust", {}).get("evidence", {})
    return {
        "seconds": seconds,
        "part": part,
        "stop_s": round(stop_s, 3),
        "reference": before.status,
        "error": None if not reference or goodput is None else round(goodput / reference - 1, 4),
        "status": stopped.status,
        "lost": evidence.get("lost", {}).get("machine"),
        "stopped": max(evidence.get("stopped", {}).values(), default=0.0),
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the downloads."""
    parser.add_argument("--repetitions", type=int, default=3, help="of each stop (3)")
    parser.add_argument("--seed", type=int, default=1, help="of lengths and moments (1)")
    parser.add_argument(
        "--seconds", type=float, nargs="+", default=[1, 2, 5, 10, 20], help="of the downloads"
    )
