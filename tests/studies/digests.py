"""What tests of studies have in common: their cases, the runs of these, and tables of a report."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from minitopo_dc.campaign.program import Program, load_program
from minitopo_dc.runs.identity import run_id
from tests import REPOSITORY

STUDIES = REPOSITORY / "studies"


def program(study: str, file: str = "campaign") -> Program:
    """Return a study's campaign."""
    return load_program(STUDIES / study / f"{file}.py")


def module(study: str, name: str) -> Any:
    """Return a module of a study, as its campaign's file imports it."""
    program(study)
    return importlib.import_module(name)


def runs_of(study: str, file: str, version: str) -> pd.DataFrame:
    """Return labels, seed and identity of each run of a version; no scenario is checked."""
    mine = program(study, file)
    seeds = mine.seeds(version)
    rows = [
        {**labels, "seed": seed, "run": run_id(scenario.model_copy(update={"seed": seed}))}
        for scenario, labels in mine.cases(version)
        for seed in seeds or [scenario.seed]
    ]
    return pd.DataFrame(rows)


def digest(runs: pd.DataFrame) -> tuple[int, str]:
    """Return the number of runs, and SHA-256 of their sorted identities."""
    ids = sorted(set(runs["run"]))
    return len(ids), hashlib.sha256("".join(ids).encode()).hexdigest()[:16]


def with_numbers(runs: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return a table whose measures are drawn from a narrow distribution."""
    random = np.random.default_rng(1)
    values = {name: random.lognormal(0, 0.2, len(runs)) for name in names}
    return runs.assign(**values, status="ok", reason="")


def titles(study: str, runs: pd.DataFrame, file: str = "campaign") -> list[str]:
    """Return the titles of a report's sections, whose contents are made."""
    return [title for title, content in program(study, file).sections(runs) if content is not None]
