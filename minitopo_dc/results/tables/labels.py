"""The labels that tell the runs of a comparison apart, as columns (docs/data-model.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.results.errors import ResultError
from minitopo_dc.runs.results import GIVEN, SETTINGS
from minitopo_dc.settings import SettingsError, read_yaml

ID = "id"
"""The first column: the name of a run's directory."""
Labels = Mapping[str, Any]


def labelled(table: pd.DataFrame, labels: Sequence[Labels]) -> pd.DataFrame:
    """Return a table of runs with its labels: `ID` comes first, the fields that differ last.

    A field that is one of `SETTINGS` has its place: it has a value also where a mode has no part
    in it. One that every run has, as `transport`, is there already.

    Args:
        table: `results_table`.
        labels: the labels of each row.
    """
    given = {*table} - {*SETTINGS}
    table = table.copy()
    names = [Path(directory).absolute().name for directory in table["directory"]]
    table.insert(0, ID, names)
    for path in dict.fromkeys(path for fields in labels for path in fields):
        if path not in given and path != ID:
            table[path] = uniform_column([fields.get(path) for fields in labels])
    return table


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
