"""The labels that tell runs apart, as columns for a run, a comparison and a campaign.

docs/data-model.md describes them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.analysis.tables.run_files import read_text_in
from minitopo_dc.files import parse_json
from minitopo_dc.runs.results import GIVEN, SETTINGS
from minitopo_dc.settings import SettingsError, read_yaml
from minitopo_dc.settings.base import error_text

PLAN = "plan.json"
MAX_PLAN = 1 << 30
"""The most bytes of `plan.json`: the 1,000,000 runs that a campaign may have, 1 kB each."""
FIRST = ("id", "experiments", "configuration")
"""Labels before all other columns; except for the first, they are empty for a run of no
campaign."""
Labels = Mapping[str, Any]


class PlannedCell(Protocol):
    """The interface of a cell in a campaign's plan."""

    @property
    def experiment(self) -> str:
        """Return the name of the cell's experiment."""

    @property
    def configuration(self) -> str:
        """Return the name of the cell's configuration."""

    @property
    def factors(self) -> Mapping[str, Any]:
        """Return the value of each of the experiment's factors."""

    @property
    def runs(self) -> Sequence[str]:
        """Return the identities of the cell's runs, one per repetition."""


@dataclass(frozen=True)
class _Cell:
    experiment: str
    configuration: str
    factors: dict[str, Any]
    runs: list[str]


@dataclass(frozen=True)
class LabelledPlan:
    """The part of a campaign's plan that labels its runs."""

    cells: list[_Cell]
    fields: dict[str, dict[str, Any]]


_PLAN = TypeAdapter(LabelledPlan)


def read_labelled_plan(directory: Path) -> LabelledPlan:
    """Read from a campaign's `plan.json` what labels its runs.

    Raises:
        ResultError: it is missing or broken.
    """
    path = directory / PLAN
    text = read_text_in(directory, path, MAX_PLAN)
    try:
        return _PLAN.validate_python(parse_json(text))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise ResultError(f"{path}: {field}: {error_text(first)}") from None
    except ValueError as error:
        raise ResultError(f"{path}: no plan of a campaign: {error}") from None


def labelled(table: pd.DataFrame, labels: Sequence[Labels]) -> pd.DataFrame:
    """Return a table of runs with its labels: those of `FIRST` come first, factors last.

    A factor that is one of `SETTINGS` has its place: it has a value also where a mode has no part
    in it. One that every run has, as `transport`, is there already.

    Args:
        table: `results_table`.
        labels: the labels of each row.
    """
    given = {*table} - {*SETTINGS}
    table = table.copy()
    names = [Path(directory).absolute().name for directory in table["directory"]]
    for place, name in enumerate(FIRST):
        values = names if name == "id" else [str(each.get(name, "")) for each in labels]
        table.insert(place, name, values)
    for path in dict.fromkeys(path for each in labels for path in each):
        if path not in given and path not in FIRST:
            table[path] = uniform_column([each.get(path) for each in labels])
    return table


def campaign_labels(
    cells: Iterable[PlannedCell], fields: Mapping[str, Labels]
) -> dict[str, dict[str, Any]]:
    """Return the labels of each run of a campaign, by its identity.

    A factor that is no field of the scenario describes a cell: it is missing where a run is in
    several cells with different values of it.

    Args:
        cells: the cells of the plan.
        fields: for each run the fields of its scenario that are a factor somewhere.
    """
    said: dict[str, dict[str, list[Any]]] = {}
    for cell in cells:
        for run in cell.runs:
            known = said.setdefault(run, defaultdict(list))
            for name, value in _labels_of(cell, fields.get(run, {})):
                if value not in known[name]:
                    known[name].append(value)
    found = {}
    for run, known in said.items():
        names = {name: " ".join(known.pop(name)) for name in FIRST[1:]}
        alone = {path: each[0] if len(each) == 1 else None for path, each in known.items()}
        found[run] = {**names, **fields.get(run, {}), **alone}
    return found


def _labels_of(cell: PlannedCell, fields: Labels) -> Iterator[tuple[str, Any]]:
    yield "experiments", cell.experiment
    yield "configuration", cell.configuration
    yield from ((path, value) for path, value in cell.factors.items() if path not in fields)


def cells_as_rows(table: pd.DataFrame, cells: Iterable[PlannedCell]) -> pd.DataFrame:
    """Return one row for each cell and repetition, where `labelled` has one for each run.

    Args:
        table: the campaign's runs; cells whose run is not in it have no row.
        cells: the cells of one experiment.
    """
    rows = [
        {"id": run, "repetition": number, "configuration": cell.configuration, **cell.factors}
        for cell in cells
        for number, run in enumerate(cell.runs, start=1)
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: uniform_column([row.get(name) for row in rows]) for name in names}
    rest = table.drop(columns=[name for name in names if name != "id" and name in table])
    joined = pd.DataFrame(columns).merge(rest, on="id", validate="many_to_one")
    known = [name for name in table if name in joined]
    return joined[[*known, *(name for name in joined if name not in known)]]


def compared_labels(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return for each run of a table the fields in which their scenarios differ.

    Raises:
        ResultError: a scenario is broken; a run without one has no such labels.
    """
    scenarios = [scenario_fields(Path(directory)) for directory in table["directory"]]
    paths = dict.fromkeys(path for fields in scenarios for path in fields)
    differ = [
        path
        for path in paths
        if path not in table
        and len({json.dumps(fields.get(path)) for fields in scenarios if fields}) > 1
    ]
    return [{path: fields.get(path) for path in differ} for fields in scenarios]


def scenario_fields(run: Path) -> dict[str, Any]:
    """Return the fields of a run's scenario by their paths; empty when it kept no scenario.

    Raises:
        ResultError: the file is broken.
    """
    path = run / GIVEN
    if not path.exists() and not path.is_symlink():
        return {}
    try:
        values = read_yaml(path, within=run)
    except SettingsError as error:
        raise ResultError(str(error)) from None
    if not isinstance(values, dict):
        raise ResultError(f"{path}: no scenario: no mapping of names to values")
    return dict(_flat(values))


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of fields with their dotted paths.

    Items of a list of mappings are counted from 0; any other list is one value.
    """
    before = f"{path}." if path else ""
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        value = {str(number): each for number, each in enumerate(value)}
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _flat(each, f"{before}{name}")
    else:
        yield path, value


def uniform_column(values: Sequence[Any]) -> pd.Series[Any]:
    """Return a column of one type, as Parquet wants it: `sp` beside 1 makes both texts.

    A list or mapping becomes JSON. A missing number is NaN, or NA among whole ones.
    """
    plain = [json.dumps(each) if isinstance(each, dict | list) else each for each in values]
    if any(isinstance(each, str) for each in plain):
        plain = [each if each is None else str(each) for each in plain]
    elif None in plain:
        known = {type(each) for each in plain if each is not None}
        return pd.Series(plain, dtype="Int64" if known == {int} else "float64")
    return pd.Series(plain, dtype=object).infer_objects()
