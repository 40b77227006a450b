"""What tests of studies have in common: their cases, the runs of these, and tables of a report."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from minitopo_dc.campaign.designs import spread
from minitopo_dc.campaign.plan import Plan
from minitopo_dc.campaign.program import Program, load_program
from minitopo_dc.runs.identity import run_id
from tests import REPOSITORY

STUDIES = REPOSITORY / "studies"
MOST = 40
"""The most cases that are planned: of thousands some, evenly chosen."""


def program(study: str, file: str = "campaign") -> Program:
    """Return a study's campaign."""
    return load_program(STUDIES / study / f"{file}.py")


def module(study: str, name: str) -> Any:
    """Return a module of a study, as its campaign's file imports it."""
    program(study)
    return importlib.import_module(name)


def runs_of(study: str, file: str, version: str) -> pd.DataFrame:
    """Return labels, seed and identity of each run of a version, of whose cases some are planned.

    A plan checks scenarios, which takes twice as long as to make them.
    """
    mine = program(study, file)
    cases, seeds = mine.cases(version), mine.seeds(version)
    rows = [
        {**labels, "seed": seed, "run": run_id(scenario.model_copy(update={"seed": seed}))}
        for scenario, labels in cases
        for seed in seeds or [scenario.seed]
    ]
    runs = pd.DataFrame(rows)
    assert Plan(spread(cases, MOST), seeds).scenarios.keys() <= set(runs["run"])
    return runs


def digest(runs: pd.DataFrame) -> tuple[int, str]:
    """Return the number of runs, and SHA-256 of their sorted identities."""
    ids = sorted(set(runs["run"]))
    return len(ids), hashlib.sha256("".join(ids).encode()).hexdigest()[:16]


def long_if_large(versions: Mapping[Any, tuple[int, str]]) -> list[Any]:
    """Return the parameters of a test of versions by their number of runs and digest.

    Of each campaign `test_small` has the digest of some runs, which takes a second less a version.
    """
    return [
        pytest.param(*version, marks=[pytest.mark.slow, pytest.mark.long] if runs > 600 else [])
        for version, (runs, _) in versions.items()
    ]


def with_numbers(runs: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return a table whose measures are drawn from a narrow distribution."""
    random = np.random.default_rng(1)
    values = {name: random.lognormal(0, 0.2, len(runs)) for name in names}
    return runs.assign(**values, status="ok", reason="")


def titles(study: str, runs: pd.DataFrame, file: str = "campaign") -> list[str]:
    """Return the titles of a report's sections, whose contents are made."""
    return [title for title, content in program(study, file).sections(runs) if content is not None]
