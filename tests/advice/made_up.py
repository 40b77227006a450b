"""Runs whose goodput follows from their scenario, in no time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from minitopo_dc.campaign.executors import Results, Scenarios, Workers
from minitopo_dc.results.judge import blank_result
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.perform import Retries
from minitopo_dc.scenario import Scenario

Goodput = Callable[[Scenario], float]
LEGS = [
    {"downlink": {"rate_mbps": 30, "delay_ms": 10}},
    {"downlink": {"rate_mbps": 10, "delay_ms": 40}},
]


def made_up(goodput: Goodput, number: int | None = None) -> Workers:
    """Workers that give runs a goodput, 0 of which is a failure; some runs, or all."""
    left = [number]

    def workers(scenarios: Scenarios, _: Retries, working: Path) -> Results:
        for name, scenario in scenarios.items():
            if left[0] is not None:
                if not left[0]:
                    return
                left[0] -= 1
            (working / name).mkdir()
            yield name, _result(scenario, working / name, goodput(scenario))

    return workers


def _result(scenario: Scenario, directory: Path, mbps: float) -> RunResult:
    blank = blank_result(scenario, directory)
    if not mbps:
        return replace(blank, reason="it broke")
    return replace(
        blank,
        status="ok",
        leg_bytes=[1, 1],
        goodput_mbps=mbps,
        completion_s=80 / mbps,
        capacity_share=0.5,
    )


def name_of(scenario: Scenario) -> str:
    """`leg 1`, `deployable`, `multipath`."""
    if scenario.mode == "sc":
        return f"leg {scenario.leg}"
    return scenario.dc_name.partition(",")[0] or "multipath"


def by_name(scatter: float = 0.0, **goodputs: float) -> Goodput:
    """Goodputs by the names of rows, those that are not named 10; each run apart by its seed."""

    def goodput(scenario: Scenario) -> float:
        name = name_of(scenario)
        noise = random.Random(f"{scenario.seed} {name}").gauss(0, scatter)
        return goodputs.get(name.replace(" ", "_"), 10.0) * (1 + noise)

    return goodput
