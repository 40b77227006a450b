"""The reading of condensed results: cells as of a campaign's directory, and seeds put together."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.campaign.condensed.recipe import Recipe
from minitopo_dc.campaign.condensed.runs_file import asked_measures, read_runs
from minitopo_dc.campaign.execution.store import CONDENSED
from minitopo_dc.campaign.execution.table import cell_rows
from minitopo_dc.campaign.file.cells import Cell
from minitopo_dc.campaign.file.plan import Plan
from minitopo_dc.scenario import Scenario
from minitopo_dc.shipped import shipped

MEASURED = "measured"
"""The folder of `reference/` with this project's own condensed results."""
MARK = "condensed"
"""The column of cells that says that measures are columns, and no files."""


@dataclass(frozen=True)
class Condensed:
    """A condensed result, or several that differ in their seeds and cells alone."""

    root: Path
    recipe: Recipe
    plan: Plan
    rows: Sequence[Mapping[str, Any]]
    """The rows of `cell_table`, in which each measure is a column."""
    stale: Mapping[Path, int]
    """How many runs of which directory the campaign's file no longer has; they are in no row."""
    lacking: Mapping[str, int]
    """The measures that the file asks for and that so many ok runs do not have here."""

    @property
    def cells(self) -> pd.DataFrame:
        """Return the table of `cell_table`."""
        return pd.DataFrame(self.rows)

    @property
    def notes(self) -> list[str]:
        """Return what is not as the campaign's file of now has it, in words."""
        stale = sum(self.stale.values())
        old = [f"{stale} runs of an earlier campaign file left out"] if stale else []
        return old + [f"{name} of {runs} runs not kept" for name, runs in self.lacking.items()]


def is_condensed(directory: Path) -> bool:
    """Return whether a directory has a condensed result."""
    return (directory / CONDENSED).is_file()


def shipped_results() -> list[Path]:
    """Return the condensed results that come with the package, by name."""
    return sorted(filter(is_condensed, (shipped("reference") / MEASURED).glob("*")))


def load_condensed(directory: Path) -> Condensed:
    """Read a condensed result, with the campaign's file as it is now.

    Raises:
        SettingsError: its description is malformed, its campaign is unknown or lacks what it names.
        ResultError: its table is missing or damaged.
    """
    path = directory / CONDENSED
    recipe = Recipe.load(path)
    found = read_runs(directory, recipe)
    plan = recipe.plan(path)
    its = {"directory": str(directory)}
    rows = [
        row | {MARK: True}
        for row in cell_rows(plan, {id_: its | run for id_, run in found.items()})
    ]
    old = len(found.keys() - plan.needed_by.keys())
    stale = {directory: old} if old else {}
    return Condensed(directory, recipe, plan, rows, stale, _lacking(plan, rows))


def _lacking(plan: Plan, rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    asked = asked_measures(plan.file, {cell.experiment for cell in plan.cells})
    lacking = {
        (name, row["id"])
        for row in rows
        for name in asked[row["experiment"], row["configuration"]] - row.keys()
        if row["status"] == "ok"
    }
    return dict(sorted(Counter(name for name, _ in lacking).items()))


def pooled(results: Iterable[Condensed]) -> list[Condensed]:
    """Put results of the same settings together, each cell with all its seeds.

    A group has the place of its first member. A repetition's number is that of its seed, as runs of
    one seed are compared in pairs.
    """
    groups: dict[Any, list[Condensed]] = {}
    for each in results:
        groups.setdefault(each.recipe.settings, []).append(each)
    return [group[0] if len(group) == 1 else _together(group) for group in groups.values()]


def _together(group: Sequence[Condensed]) -> Condensed:
    cells, rows = [], []
    for number, runs in enumerate(_runs_of_cells(group)):
        names = {key: runs[0][key] for key in ("experiment", "configuration", "factors")}
        cells.append(Cell(**names, runs=tuple(run["id"] for run in runs)))
        rows += [run | {"cell": number} for run in runs]
    fields = {run: values for each in group for run, values in each.plan.fields.items()}
    plan = replace(group[0].plan, cells=tuple(cells), fields=fields)
    stale = {root: number for each in group for root, number in each.stale.items()}
    lacking = sum((Counter(each.lacking) for each in group), Counter[str]())
    return replace(group[0], plan=plan, rows=rows, stale=stale, lacking=lacking)


def _runs_of_cells(group: Sequence[Condensed]) -> list[list[dict[str, Any]]]:
    """Return the rows of each cell, every run once, by their repetitions."""
    first = min(map(_seed, group))
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for each in group:
        for row in each.rows:
            runs = found.setdefault(_cell(row), {})
            if row["id"] not in runs or _rank(row) < _rank(runs[row["id"]]):
                number = row["repetition"] + _seed(each) - first
                runs[row["id"]] = {**row, "repetition": number}
    return [
        sorted(runs.values(), key=lambda row: int(row["repetition"])) for runs in found.values()
    ]


def _cell(row: Mapping[str, Any]) -> str:
    return json.dumps([row["experiment"], row["configuration"], row["factors"]], sort_keys=True)


def _rank(row: Mapping[str, Any]) -> int:
    """Return the place of a status, of which the least counts where results share a run."""
    return {"ok": 0, "missing": 2}.get(row["status"], 1)


def _seed(result: Condensed) -> int:
    """Return the seed of the first repetition, where no cell has one of its own."""
    base: int = result.plan.file.base.get("seed", Scenario.model_fields["seed"].default)
    return base if result.recipe.seed is None else result.recipe.seed
