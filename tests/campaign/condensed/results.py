"""Condensed results of campaigns that were not run, of a package that has one campaign."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.campaign.condensed import recipe
from minitopo_dc.campaign.condensed.condense import condense
from minitopo_dc.campaign.execution.resume import missing_runs, run_missing
from minitopo_dc.campaign.execution.store import Store
from minitopo_dc.campaign.executors import Execute, Serial
from minitopo_dc.campaign.file.plan import read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from tests.campaign.campaigns import pretend, write

VIRTUAL = Overrides(clock="virtual")


def by_seed(scenario: Scenario, directory: Path) -> RunResult:
    """A run whose goodput is its seed, to nine digits."""
    made = pretend(scenario, directory)
    (directory / "environment.json").write_text('{"packages": {"minitopo-dc": "0.2.0"}}')
    return replace(made, goodput_mbps=scenario.seed + 0.000123456)


def change(root: Path, content: dict[str, Any]) -> None:
    """Change the package's one campaign, `campaign`, for good."""
    write(root, content)
    recipe._file.cache_clear()
    recipe._planned.cache_clear()


def run(root: Path, name: str, overrides: Overrides = VIRTUAL, execute: Execute = by_seed) -> Store:
    """Run the package's campaign into a directory."""
    plan = read_plan(root / "campaign.yaml", overrides)
    store = Store(root / name)
    with store.open(plan):
        missing = missing_runs(plan, store)
        run_missing(plan, store, missing, workers=Serial(), execute=execute, ended=lambda *_: None)
    return store


def condensed(root: Path, name: str, overrides: Overrides = VIRTUAL, **others: Any) -> Path:
    """The condensed result of a campaign that is run for it."""
    target = root / f"condensed-{name}"
    condense(run(root, name, overrides, **others), target)
    return target
