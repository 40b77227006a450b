"""Random path scripts with outages: MP-QUIC while paths open, are abandoned and become backups."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import Any

from minitopo_dc.clocks import run_scenario
from minitopo_dc.quic.noq import NOQ
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario

CONTROLS = {
    "picoquic": ("newreno", "cubic", "bbr1", "fast"),  # that the comparison has
    "noq": NOQ.congestion_controls,
}
LAST_CHANGE_S = 12.0
PATIENCE_S = 120.0
"""Four idle timeouts: what has stalled has ended by then, and says so."""


def random_scenario(seed: int, stack: str = "picoquic") -> Scenario:
    """Return a download of 1 to 8 MB over two to four legs, with a script and outages."""
    random = Random(seed)
    legs = random.choice((2, 2, 3, 4))
    values: dict[str, Any] = {
        "transport": f"mpquic-{stack}",
        "mode": "multipath",
        "clock": "virtual",
        "legs": [_leg(random) for _ in range(legs)],
        "workload": {"size_mb": random.choice((1, 2, 4, 8))},
        "congestion_control": random.choice(CONTROLS[stack]),
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
    outages, at = [], 0.0
    for _ in range(random.choice((0, 0, 1, 2, 3))):
        begin = round(at + random.uniform(0.1, 4), 3)
        at = round(begin + random.choice((0.05, 0.5, 2, 5)), 3)
        outages.append((begin, at))
    return outages


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


def run_script(seed: int, stack: str = "picoquic") -> RunResult:
    """Run the script of a seed."""
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        return run_scenario(random_scenario(seed, stack), Path(name) / "run")
