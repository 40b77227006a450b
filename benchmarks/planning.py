"""What planning the runs of a study takes beside checking its first scenario as often.

A plan has the cases, which are checked scenarios, and the identity of each with each seed: what
`campaign run` does before its first run, and `campaign run --dry-run` does in all.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from minitopo_dc.campaign.plan import Plan, load_program, studies
from minitopo_dc.cli.screen import progress
from minitopo_dc.scenario import Scenario

CHECKS = 200
"""How often a scenario is checked for the time of a check."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--studies", nargs="+", choices=studies(), default=list(studies()))
    parser.add_argument("--version", choices=("full", "quick", "sample"), default="full")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure CPU time of planning a study beside checking a scenario as often."""
    return {name: planned(studies()[name], options.version) for name in progress(options.studies)}


def planned(path: Path, version: str) -> dict[str, float]:
    """Return the number of runs, and CPU times per run and per check of a scenario (ms)."""
    program = load_program(path)
    begin = time.process_time()
    plan = Plan(program.cases(version), program.seeds(version))
    plan_s = time.process_time() - begin
    values = next(iter(plan.scenarios.values())).model_dump()
    begin = time.process_time()
    for _ in range(CHECKS):
        Scenario.check(values, "benchmark")
    check_ms = 1e3 * (time.process_time() - begin) / CHECKS
    run_ms = 1e3 * plan_s / len(plan.scenarios)
    return {
        "runs": len(plan.scenarios),
        "plan_s": round(plan_s, 2),
        "run_ms": round(run_ms, 3),
        "check_ms": round(check_ms, 3),
        "ratio": round(run_ms / check_ms, 2),
    }
