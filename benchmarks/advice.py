"""How often `advise` is right, and what it takes: `python -m benchmarks.advice` (no root, minutes).

Over networks that a Latin hypercube draws, its verdict stands beside that of the means of 20 other
seeds: the best of all variants of both sides, taken as they are.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from minitopo_dc.advice import advise, base_of
from minitopo_dc.advice.candidates import QUIC, candidates_of
from minitopo_dc.advice.criterion import Criterion, criterion
from minitopo_dc.advice.sequence import Runs, comparison_of
from minitopo_dc.campaign.designs import Factor, latin_hypercube
from minitopo_dc.campaign.executors import local
from minitopo_dc.scenario import Scenario
from minitopo_dc.statistics import Interval, Outcome, outcome

SEEDS = 20
FIRST_SEED = 1001
"""Of those that `advise` does not have."""
FACTORS: dict[str, Factor] = {
    "total": (4, 100, "log"),
    "share": (0.5, 0.95),
    "delay_sum": (10, 300, "log"),
    "delay_ratio": (0.2, 5, "log"),
    "queue_1": (10, 300, "log"),
    "queue_2": (10, 300, "log"),
    "loss_1": [0, 0, 0.01, 0.1],
    "loss_2": [0, 0, 0.01, 0.1],
    "control": ["cubic", "reno"],
    "size": (1, 20, "log"),
}
"""About those of the study (docs/study.md)."""


def network(point: dict[str, Any]) -> dict[str, Any]:
    """Return the legs and the download of a point, as fields of a scenario."""
    legs = [
        {
            "downlink": {
                "rate_mbps": point["total"] * share,
                "queue_ms": point[f"queue_{number}"],
                "loss_percent": point[f"loss_{number}"],
                "delay_ms": point["delay_sum"] * part / 2,
            }
        }
        for number, share, part in (
            (1, point["share"], 1 / (1 + point["delay_ratio"])),
            (2, 1 - point["share"], point["delay_ratio"] / (1 + point["delay_ratio"])),
        )
    ]
    workload = {"kind": "download", "size_mb": point["size"]}
    return {"legs": legs, "workload": workload, "congestion_control": point["control"]}


def reference(base: Scenario, judged: Criterion, root: Path) -> tuple[Outcome, float]:
    """Return the outcome of the mean scores of `SEEDS` seeds, and the difference in its unit."""
    base = base.model_copy(update={"seed": FIRST_SEED})
    (stack,) = candidates_of(base, QUIC)
    rows = [*stack.dual, *stack.multipath]
    comparison = comparison_of(root, rows)
    with comparison.held(), local(1) as workers:
        runs = Runs(comparison, rows, judged, workers)
        runs.make(rows, range(1, SEEDS + 1))
    dual, multipath = (
        runs.scores[[row.name for row in side]].mean(skipna=False).max()
        for side in (stack.dual, stack.multipath)
    )
    difference = float(dual - multipath)
    as_it_is = Interval(difference, difference, "none")
    return outcome(as_it_is, judged.limit), judged.in_unit(difference)


def measure(number: int, seed: int, seconds: float, skip: int = 0) -> list[dict[str, Any]]:
    """Return of each network but the first ones both outcomes, and what the first one took."""
    found = []
    for point in latin_hypercube(number, FACTORS, seed=seed)[skip:]:
        fields = network(point)
        with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as other:
            wall, cpu = time.monotonic(), time.process_time()
            (verdict,) = advise(**fields, output=Path(root), seconds=seconds).verdicts
            took = {"wall_s": time.monotonic() - wall, "cpu_s": time.process_time() - cpu}
            base = base_of(**fields)
            right, difference = reference(base, criterion(base.workload), Path(other))
        told = {
            "outcome": verdict.outcome,
            "sentence": verdict.sentence,
            "stopped": verdict.stopped,
        }
        found.append({**told, **took, "reference": right, "difference": difference})
        print(json.dumps(found[-1]), flush=True)  # noqa: T201
    return found


def main() -> None:
    """Measure the networks and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=30)
    parser.add_argument("--skip", type=int, default=0, help="first networks, measured before")
    parser.add_argument("--seed", type=int, default=11, help="of the design")
    parser.add_argument("--time", type=float, default=60.0, help="for a verdict, s")
    arguments = parser.parse_args()
    found = measure(arguments.networks, arguments.seed, arguments.time, arguments.skip)
    sure = [each for each in found if each["outcome"] != "open"]
    right = sum(each["outcome"] == each["reference"] for each in sure)
    lines = [f"{len(found)} networks, {len(sure)} with a verdict, {right} of them right"]
    for name in ("wall_s", "cpu_s"):
        times = [each[name] for each in found]
        lines.append(f"{name}: median {statistics.median(times):.2f}, most {max(times):.2f}")
    print("\n".join(lines))  # noqa: T201


if __name__ == "__main__":
    main()
