"""The options that a campaign's directory was run with, found in what it keeps.

Its plan has the clock, the version, the parameters, the experiments and the repetitions. Other
options change the scenarios only: they are found as differences from those of the file's own plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitopo_dc.campaign.condensed.recipe import Parameter, placed, portable
from minitopo_dc.campaign.execution.store import Store
from minitopo_dc.campaign.file.cells import Cell
from minitopo_dc.campaign.file.plan import Plan, Run, read_plan
from minitopo_dc.campaign.file.scenarios import Overrides, read_file
from minitopo_dc.runs.results import GIVEN, load_recorded
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.field_paths import get_value
from minitopo_dc.settings import SettingsError


def options_of(path: Path, kept: Plan, store: Store) -> tuple[Overrides, Plan]:
    """Return the options that plan most of a directory's runs with a campaign's file of now.

    Args:
        path: the campaign's file.
        kept: the plan that the directory keeps.
        store: the directory.

    Returns:
        The options, and the plan that they make.

    Raises:
        SettingsError: the file has none of the directory's experiments, or no plan of it has any
            of its runs.
    """
    first = _from_plan(path, kept)
    tries = [first, replace(first, configurations=_configurations(kept))]
    best = _best(path, kept, tries)
    if _apart(kept, best[1]) and (changes := _changes(kept, best[1], store)):
        other = _best(path, kept, [replace(each, **changes) for each in tries])
        best = min(best, other, key=lambda each: _apart(kept, each[1]))
    if not kept.needed_by.keys() & best[1].needed_by.keys():
        raise SettingsError(f"{store.root}: {path} has none of its runs; was the file changed?")
    return best


def cell_key(cell: Cell) -> str:
    """Return as text what tells the cells of a campaign apart."""
    return json.dumps([cell.experiment, cell.configuration, cell.factors], sort_keys=True)


def parameters_of(path: Path, kept: Plan) -> dict[str, Parameter]:
    """Return the parameters whose values are not those of the file of now, as they are written."""
    defaults = read_file(path, Overrides()).parameters
    return {
        name: portable(name, value)
        for name, value in kept.file.parameters.items()
        if name in defaults and value != defaults[name] and isinstance(value, int | float | str)
    }


def _from_plan(path: Path, kept: Plan) -> Overrides:
    known = read_file(path, Overrides()).experiments
    used = dict.fromkeys(cell.experiment for cell in kept.cells)
    experiments = tuple(name for name in used if name in known)
    if not experiments:
        raise SettingsError(f"{path}: has none of the experiments {', '.join(used)}")
    numbers = {len(cell.runs) for cell in kept.cells}
    parameters = parameters_of(path, kept).items()
    return Overrides(
        version=kept.version,
        clock=kept.clock,
        repetitions=numbers.pop() if len(numbers) == 1 else None,
        experiments=experiments,
        parameters=tuple((name, placed(value)) for name, value in parameters),
    )


def _configurations(kept: Plan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell.configuration for cell in kept.cells))


def _best(path: Path, kept: Plan, tries: Iterable[Overrides]) -> tuple[Overrides, Plan]:
    """Return the first options that plan the same runs, or those that plan the most similar.

    Options that the file does not allow are none, but for the first ones.
    """
    found: list[tuple[Overrides, Plan]] = []
    for overrides in tries:
        try:
            found.append((overrides, read_plan(path, overrides)))
        except SettingsError:
            if not found:
                raise
            continue
        if not _apart(kept, found[-1][1]):
            return found[-1]
    return min(found, key=lambda each: _apart(kept, each[1]))


def _apart(kept: Plan, plan: Plan) -> int:
    """Return how many runs only one of two plans has."""
    return len(kept.needed_by.keys() ^ plan.needed_by.keys())


def _changes(kept: Plan, plan: Plan, store: Store) -> dict[str, Any]:
    """Return the options by which the first run that differs from the plan's may differ."""
    for identity, planned in _differing(kept, plan):
        if (store.runs / identity / GIVEN).exists():
            given = load_recorded(store.runs / identity)
            return _differences(given, planned)
    return {}


def _differing(kept: Plan, plan: Plan) -> Iterator[tuple[str, Run]]:
    """Yield the identity of each run that only the first plan has, and the second one's instead."""
    runs = {run.id: run for run in plan.runs}
    cells = {cell_key(cell): cell for cell in plan.cells}
    for cell in kept.cells:
        other = cells.get(cell_key(cell))
        for identity, instead in zip(cell.runs, other.runs if other else (), strict=False):
            if identity not in runs:
                yield identity, runs[instead]


def _differences(given: Scenario, planned: Run) -> dict[str, Any]:
    ours, theirs = (each.model_dump(mode="json") for each in (given, planned.scenario))
    values = {
        name: get_value(ours, path)
        for name, path in (("size_mb", "workload.size_mb"), ("core", "virtual.core"))
        if get_value(ours, path) != get_value(theirs, path)
    }
    seed = {"seed": given.seed - planned.repetition + 1}
    return {**values, **(seed if given.seed != planned.scenario.seed else {})}
