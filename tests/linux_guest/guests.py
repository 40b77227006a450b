"""Tests that need a guest, and scenarios for them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.clocks import run_scenario
from minitopo_dc.linux_guest import obstacle
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario

needs_guest = pytest.mark.skipif(
    obstacle() is not None and not os.environ.get("CI"), reason=obstacle() or ""
)
"""In CI they fail instead: the set-up for tests builds it."""

DIRECTION = {"rate_mbps": 20, "delay_ms": 10}
LEG = {"downlink": DIRECTION, "uplink": DIRECTION}


def scenario(legs: int | list[Any] = 1, **fields: Any) -> Scenario:
    """A small download by tcp on one of some equal legs."""
    given = {"transport": "tcp", "mode": "sc", "workload": {"size_mb": 0.3}, **fields}
    return Scenario.model_validate(
        {"clock": "virtual", "legs": [LEG] * legs if isinstance(legs, int) else legs, **given}
    )


def multipath(legs: int | list[Any] = 2, **fields: Any) -> Scenario:
    """The same by mptcp on all legs."""
    given = {"workload": {"size_mb": 0.6}, **fields}
    return scenario(legs, transport="mptcp", mode="multipath", **given)


def run(wanted: Scenario, directory: Path) -> RunResult:
    """Run it; it must do what it should."""
    result = run_scenario(wanted, directory)
    assert (result.status, result.reason) == ("ok", "")
    return result
