"""Campaign files for tests, and runs that are not run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from minitopo_dc.campaign.execution.resume import missing_runs, run_missing
from minitopo_dc.campaign.execution.store import Store
from minitopo_dc.campaign.executors import Execute, Serial
from minitopo_dc.campaign.file.plan import read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.runs.judge import blank_result
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Clock, Scenario


def document(**changes: Any) -> dict[str, Any]:
    """Two configurations, two batch sizes, two repetitions: eight runs."""
    values: dict[str, Any] = {
        "title": "Test",
        "clock": "virtual",
        "repetitions": 2,
        "base": {
            "mode": "dc",
            "legs": [{"downlink": {"rate_mbps": 20}}, {"downlink": {"rate_mbps": 20}}],
            "workload.size_mb": 0.1,
        },
        "configurations": {
            "default": {"transport": "quic"},
            "large": {"transport": "quic", "options.receive_buffer_bytes": 67_108_864},
        },
        "experiments": {"batch": {"title": "Batch", "grid": {"pdcp.batch": [2, 100]}}},
    }
    return values | changes


def experiment(**fields: Any) -> dict[str, Any]:
    """A campaign with this one experiment."""
    return document(experiments={"one": {"title": "One", **fields}})


def write(directory: Path, content: dict[str, Any]) -> Path:
    """Save a campaign's file."""
    path = directory / "campaign.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def pretend(scenario: Scenario, directory: Path) -> RunResult:
    """A run that went well at once: 10 MB in 4 s, whatever was asked for."""
    scenario.save(directory / "scenario.yaml")
    return replace(
        blank_result(scenario, directory),
        status="ok",
        goodput_mbps=20.0,
        completion_s=4.0,
        leg_bytes=[5_300_000, 5_200_000],
        capacity_share=0.5,
    )


def fail(scenario: Scenario, directory: Path) -> RunResult:
    """A run that failed at once."""
    scenario.save(directory / "scenario.yaml")
    return replace(blank_result(scenario, directory), reason="it broke")


def run_with(
    root: Path, content: dict[str, Any], execute: Execute, clock: Clock = "virtual"
) -> Path:
    """Run a campaign by a function of a test's; return its directory."""
    root.mkdir(exist_ok=True)
    plan = read_plan(write(root, content), Overrides(clock=clock))
    store = Store(root / clock)
    with store.open(plan):
        missing = missing_runs(plan, store)
        run_missing(plan, store, missing, workers=Serial(), execute=execute, ended=lambda *_: None)
    return store.root
