"""The plan of runs that a campaign's file means.

Rules:

* A cell is a configuration with one value of each factor of an experiment; it has a run for each
  repetition, and repetition `i` of every cell has the same seed, the base's plus `i - 1`.
* A run is identified by its scenario and by what its trace files hold, nothing else (`run_id`).
  Cells that mean the same scenario share their runs: each is run once.
* All first repetitions come before the second ones, and the configurations of one point before
  those of the next one: an unfinished campaign has whole points to compare.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

from minitopo_dc.campaign.file.cells import Cell
from minitopo_dc.campaign.file.design import Version
from minitopo_dc.campaign.file.fields import CampaignFile
from minitopo_dc.campaign.file.scenarios import Overrides, Planner, read_file
from minitopo_dc.clocks import default_clock
from minitopo_dc.files import parse_json
from minitopo_dc.scenario import Clock, Scenario
from minitopo_dc.scenario.field_paths import LABEL, get_value
from minitopo_dc.scenario.identity import run_id
from minitopo_dc.settings import SettingsError

MAX_RUNS = 1_000_000
"""The most runs of a campaign: each is a directory."""


@dataclass(frozen=True)
class Run:
    """One run, which several cells may need."""

    id: str
    scenario: Scenario
    repetition: int


@dataclass(frozen=True)
class Plan:
    """All cells of a campaign and, unless a directory kept it, their runs."""

    file: CampaignFile
    clock: Clock
    version: Version
    cells: tuple[Cell, ...]
    fields: Mapping[str, Mapping[str, Any]]
    """For each run, by identity, the fields of its scenario that are a factor somewhere."""
    runs: tuple[Run, ...] = ()
    """The runs in the order in which they are to be done. A directory keeps none (`to_json`): its
    runs have their scenarios."""

    @property
    def needed_by(self) -> dict[str, list[str]]:
        """Return the experiments that need each run, by its identity."""
        found: dict[str, list[str]] = {}
        for cell in self.cells:
            for run in cell.runs:
                names = found.setdefault(run, [])
                if cell.experiment not in names:
                    names.append(cell.experiment)
        return found

    @property
    def factors(self) -> list[str]:
        """Return the paths of all scenario fields that vary in some experiment."""
        return list(next(iter(self.fields.values()), {}))

    def to_json(self) -> str:
        """Return the plan as text, from which `from_json` makes the same plan without the runs."""
        document = {
            "clock": self.clock,
            "version": self.version,
            "file": self.file.model_dump(mode="json", exclude_unset=True),
            "cells": [asdict(cell) for cell in self.cells],
            "fields": self.fields,
        }
        return json.dumps(document, indent=1)

    @classmethod
    def from_json(cls, text: str, source: str) -> Plan:
        """Read the text of `to_json`; raise ValueError when it is another."""
        try:
            document = parse_json(text)
            cells = tuple(
                Cell(**{**cell, "runs": tuple(cell["runs"])}) for cell in document["cells"]
            )
            file = CampaignFile.check(document["file"], source)
            plan = cls(file, document["clock"], document["version"], cells, document["fields"])
            plan._check()
            return plan
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{source}: no plan of a campaign: {error}") from None

    def _check(self) -> None:
        """Refuse what `to_json` never writes, with a TypeError or a KeyError."""
        if self.clock not in get_args(Clock) or self.version not in get_args(Version):
            raise TypeError(f"clock {self.clock!r:.40}, version {self.version!r:.40}")
        factors = set(self.factors)
        for cell in self.cells:
            self.file.experiments[cell.experiment]
            self.file.configurations[cell.configuration]
            if not isinstance(cell.factors, dict):
                raise TypeError("factors of a cell are no mapping")
            for run in cell.runs:
                if not isinstance(self.fields[run], dict):
                    raise TypeError(f"fields of run {run!r:.40} are no mapping")
                if set(self.fields[run]) != factors:
                    raise TypeError(f"fields of run {run!r:.40} are not those of the others")


def read_plan(path: Path, overrides: Overrides = Overrides()) -> Plan:  # noqa: B008 (frozen)
    """Read a campaign's file and work out its runs, each validated.

    Raises:
        SettingsError: the file is malformed, a factor is unknown, a value is not allowed, or a
            trace is missing or wrong: the message names file and key.
    """
    file = read_file(path, overrides)
    clock = overrides.clock or file.clock or default_clock()
    planner = Planner(path, file, clock, overrides)
    found = [each for name in planner.experiments() for each in planner.cells(name)]
    runs_of_cells = sum(planner.repetitions(cell.experiment) for cell, _ in found)
    if runs_of_cells > MAX_RUNS:
        raise SettingsError(f"{path}: {runs_of_cells:,} runs; allowed: {MAX_RUNS:,}")
    runs: dict[str, Run] = {}
    points: dict[str, int] = {}
    point_of: dict[str, int] = {}
    cells = []
    for cell, scenario in found:
        its = list(_runs(scenario, planner.repetitions(cell.experiment)))
        cells.append(replace(cell, runs=tuple(run.id for run in its)))
        point = points.setdefault(_point(cell), len(points))
        for run in its:
            runs.setdefault(run.id, run)
            point_of.setdefault(run.id, point)
    ordered = tuple(sorted(runs.values(), key=lambda run: (run.repetition, point_of[run.id])))
    fields = _fields(file, cells, ordered)
    return Plan(file, clock, overrides.version, tuple(cells), fields, ordered)


def _point(cell: Cell) -> str:
    """Return as text what the configurations of a point share: experiment and factors."""
    return f"{cell.experiment} {json.dumps(cell.factors, sort_keys=True)}"


def _runs(scenario: Scenario, repetitions: int) -> Iterator[Run]:
    """Yield the runs of a cell: the seed of each repetition is the first one's plus 0, 1, ..."""
    for number in range(repetitions):
        repeated = scenario.model_copy(update={"seed": scenario.seed + number})
        yield Run(run_id(repeated), repeated, number + 1)


@dataclass(frozen=True)
class PlanCount:
    """The size of a plan: its cells, and its runs by scenario."""

    cells: int
    clock: Clock
    weighted: tuple[tuple[Scenario, int], ...]
    """Scenarios that differ in more than their seeds, and how many runs have each."""

    @property
    def runs(self) -> int:
        """Return the number of all runs."""
        return sum(times for _, times in self.weighted)


def count_plan(path: Path, overrides: Overrides) -> PlanCount:
    """Return the size of the plan that `read_plan` would make, without making each run.

    All checks of `read_plan` are done.

    Raises:
        SettingsError: see `read_plan`.
    """
    file = read_file(path, overrides)
    clock = overrides.clock or file.clock or default_clock()
    planner = Planner(path, file, clock, overrides)
    cells = 0
    seeds: dict[str, list[tuple[int, int]]] = {}
    scenarios: dict[str, Scenario] = {}
    for name in planner.experiments():
        for _, scenario in planner.cells(name):
            cells += 1
            same = run_id(scenario.model_copy(update={"seed": 0}))
            span = scenario.seed, scenario.seed + planner.repetitions(name)
            seeds.setdefault(same, []).append(span)
            scenarios.setdefault(same, scenario)
    weighted = tuple((scenarios[same], _covered(spans)) for same, spans in seeds.items())
    return PlanCount(cells, clock, weighted)


def _covered(spans: Iterable[tuple[int, int]]) -> int:
    """Return how many whole numbers are in any of the spans, each without its end."""
    total, reached = 0, -math.inf
    for begin, end in sorted(spans):
        total += max(0, int(end - max(begin, reached)))
        reached = max(reached, end)
    return total


def _fields(
    file: CampaignFile, cells: Iterable[Cell], runs: Iterable[Run]
) -> dict[str, dict[str, Any]]:
    used = {cell.experiment for cell in cells}
    factors = {path for name in used for path in file.experiments[name].factors()}
    paths = sorted(path for path in factors if not path.startswith(LABEL))
    documents = {run.id: run.scenario.model_dump(mode="json") for run in runs}
    return {
        run: {path: get_value(document, path) for path in paths}
        for run, document in documents.items()
    }
