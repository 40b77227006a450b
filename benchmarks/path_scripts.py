"""Random path scripts with outages: `python -m benchmarks.path_scripts --runs 300` (no root).

MP-QUIC on the virtual clock while paths open, are abandoned and become backups, and legs go down,
lose packets and differ. Every run must end, with every byte right or as failed with a reason; the
reasons are counted without their numbers, each with the first seed that gave it: `--seed N --runs 1
--verbose` shows its run.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from minitopo_dc.clocks import run_scenario
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario

TRANSPORT = "mpquic-picoquic"
CONTROLS = ("newreno", "cubic", "bbr1", "fast")
"""Those that the comparison has."""
LAST_CHANGE_S = 12.0
PATIENCE_S = 120.0
"""Four idle timeouts of picoquic's: what has stalled has ended by then, and says so."""


def random_scenario(seed: int) -> Scenario:
    """Return a download of 1 to 8 MB over two to four legs, with a script and outages."""
    random = Random(seed)
    legs = random.choice((2, 2, 3, 4))
    values: dict[str, Any] = {
        "transport": TRANSPORT,
        "mode": "multipath",
        "clock": "virtual",
        "legs": [_leg(random) for _ in range(legs)],
        "workload": {"size_mb": random.choice((1, 2, 4, 8))},
        "congestion_control": random.choice(CONTROLS),
        "paths": _paths(random, legs),
        "options": {"receive_buffer_bytes": None},
        "seed": seed,
        "timeout_s": PATIENCE_S,
    }
    return Scenario.check(values, f"seed {seed}")


def _leg(random: Random) -> dict[str, Any]:
    down: dict[str, Any] = {
        "rate_mbps": random.choice((2, 5, 10, 20, 50)),
        "delay_ms": random.choice((1, 10, 30, 60, 150)),
        "loss_percent": random.choice((0, 0, 0, 0.1, 1)),
    }
    # Down both ways, as when the terminal has lost the cell.
    up = {"rate_mbps": 20, "delay_ms": 10}
    return {"downlink": down, "uplink": up, "outages": _outages(random)}


def _outages(random: Random) -> list[tuple[float, float]]:
    found, at = [], 0.0
    for _ in range(random.choice((0, 0, 1, 2, 3))):
        begin = round(at + random.uniform(0.1, 4), 3)
        at = round(begin + random.choice((0.05, 0.5, 2, 5)), 3)
        found.append((begin, at))
    return found


def _paths(random: Random, legs: int) -> dict[str, Any]:
    """Return a valid script: what is abandoned is open, and is not the last one."""
    numbers = range(1, legs + 1)
    initial = random.sample(numbers, random.randint(1, legs))
    status = dict.fromkeys(initial, "available")
    changes: list[dict[str, Any]] = []
    for at_s in sorted(round(random.uniform(0, LAST_CHANGE_S), 3) for _ in range(6)):
        leg = random.choice(numbers)
        if leg not in status:
            action = "open"
        elif len(status) > 1 and random.random() < 0.5:
            action = "abandon"
        else:
            action = "available" if status[leg] == "backup" else "backup"
        changes.append({"at_s": at_s, action: leg})
        if action == "abandon":
            del status[leg]
        else:
            status[leg] = "backup" if action == "backup" else "available"
    return {"initial": initial, "schedule": changes}


def run(seed: int) -> RunResult:
    """Run the script of a seed."""
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        return run_scenario(random_scenario(seed), Path(name) / "run")


def summary(seeds: range, *, verbose: bool = False) -> dict[str, Any]:
    """Return what became of the runs, by reason."""
    begin = time.process_time()
    reasons: Counter[str] = Counter()
    first: dict[str, int] = {}
    for seed in seeds:
        result = run(seed)
        if result.status == "unsupported":
            raise SystemExit(result.reason)
        what = "ok" if result.status == "ok" else re.sub(r"\d+", "N", result.reason)
        reasons[what] += 1
        first.setdefault(what, seed)
        if verbose:
            print(seed, what, result.completion_s, result.details.get("paths"))  # noqa: T201
    return {
        "runs": len(seeds),
        "outcomes": dict(reasons.most_common()),
        "first_seed": first,
        "cpu_s": round(time.process_time() - begin, 1),
    }


def main() -> None:
    """Print the summary as one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.path_scripts", description=__doc__)
    parser.add_argument("--runs", type=int, default=300, help="how many (300)")
    parser.add_argument("--seed", type=int, default=1, help="of the first; the next has the next")
    parser.add_argument("--verbose", action="store_true", help="a line a run")
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.runs)
    print(json.dumps(summary(seeds, verbose=given.verbose), indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
