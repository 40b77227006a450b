"""Runs whose goodput follows from their scenario, in no time."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.advice.sequence import ThisProcess
from minitopo_dc.comparison_runs import Execute
from minitopo_dc.results.judge import blank_result
from minitopo_dc.results.run_result import RunResult
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


class Few(ThisProcess):
    """Makes a number of runs, as if the time was up then."""

    def __init__(self, number: int) -> None:
        self.left = number

    def results(self, calls: Sequence[tuple[Any, ...]], until: float) -> Iterator[tuple[int, Any]]:
        made = min(self.left, len(calls))
        self.left -= made
        assert until == 0.0
        return super().results(calls[:made], math.inf)
