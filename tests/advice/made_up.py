"""Runs whose goodput follows from their scenario, in no time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.advice.runs import Runs
from minitopo_dc.comparison_runs import Execute
from minitopo_dc.runs.judge import blank_result
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario

Goodput = Callable[[Scenario], float]
LEGS = [
    {"downlink": {"rate_mbps": 30, "delay_ms": 10}},
    {"downlink": {"rate_mbps": 10, "delay_ms": 40}},
]


def made_up(goodput: Goodput) -> Execute:
    """A run with a goodput; 0 of it is a failure."""

    def execute(scenario: Scenario, directory: Path) -> RunResult:
        found = goodput(scenario)
        blank = blank_result(scenario, directory)
        if not found:
            return replace(blank, reason="it broke")
        numbers: dict[str, Any] = {
            "goodput_mbps": found,
            "completion_s": 80 / found,
            "capacity_share": 0.5,
        }
        return replace(blank, status="ok", leg_bytes=[1, 1], **numbers)

    return execute


def name_of(scenario: Scenario) -> str:
    """`leg 1`, `least-delay`, `MP-QUIC lia`."""
    if scenario.mode == "sc":
        return f"leg {scenario.leg}"
    if scenario.mode == "dc":
        return scenario.pdcp.split
    return f"multipath {scenario.congestion_control}"


def by_name(scatter: float = 0.0, **goodputs: float) -> Goodput:
    """Goodputs by the names of rows, those that are not named 10; each run apart by its seed."""

    def goodput(scenario: Scenario) -> float:
        name = name_of(scenario)
        noise = random.Random(f"{scenario.seed} {name}").gauss(0, scatter)
        return goodputs.get(name.replace("-", "_").replace(" ", "_"), 10.0) * (1 + noise)

    return goodput


class Clock:
    """A clock that goes on by a second each time that it is read."""

    def __init__(self, step: float = 1.0) -> None:
        self.now = 0.0
        self.step = step

    def __call__(self) -> float:
        """Read it."""
        self.now += self.step
        return self.now


def runs(goodput: Goodput, clock: Clock | None = None) -> Runs:
    """Makers of such runs, one after the other; unless there is a clock, in no time."""
    return Runs(1, made_up(goodput), clock or Clock(0))
