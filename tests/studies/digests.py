"""What tests of studies have in common: their cases, the runs of these, and tables of a report."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from minitopo_dc.campaign.designs import spread
from minitopo_dc.campaign.plan import Plan, Program, load_program, studies
from minitopo_dc.results.kept_scenario import run_id
from tests import REPOSITORY

STUDIES = REPOSITORY / "studies"
EXAMPLES = sorted((REPOSITORY / "examples/campaigns").glob("*.py"))
FILES = studies() | {f"examples/{path.stem}": path for path in EXAMPLES}
"""Campaigns by name: `mesh`, `thesis/fairness`, `examples/latency`."""
MOST = 40
"""The most cases that are planned: of thousands some, evenly chosen."""


def program(name: str) -> Program:
    """Return a campaign."""
    return load_program(FILES[name])


def module(study: str, name: str) -> Any:
    """Return a module of a study, as its campaign's file imports it."""
    program(next(known for known in FILES if known.split("/")[0] == study))
    return importlib.import_module(name)


@cache
def runs_of(name: str, version: str) -> pd.DataFrame:
    """Return labels, seed and identity of each run of a version, of whose cases some are planned.

    A plan checks scenarios, which takes twice as long as to make them.
    """
    mine = program(name)
    cases, seeds = mine.cases(version), mine.seeds(version)
    rows = [
        {**labels, "seed": seed, "run": run_id(scenario.model_copy(update={"seed": seed}))}
        for scenario, labels in cases
        for seed in seeds or [scenario.seed]
    ]
    runs = pd.DataFrame(rows)
    assert Plan(spread(cases, MOST), seeds).scenarios.keys() <= set(runs["run"])
    return runs


def digest(runs: Iterable[str]) -> str:
    """Return the begin of SHA-256 of sorted identities."""
    return hashlib.sha256("".join(sorted(runs)).encode()).hexdigest()[:16]


def with_numbers(runs: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return a table whose measures are drawn from a narrow distribution."""
    random = np.random.default_rng(1)
    values = {name: random.lognormal(0, 0.2, len(runs)) for name in names}
    return runs.assign(**values, status="ok", reason="")
