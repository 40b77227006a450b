"""The conditions of a table of runs: what their scenarios have in common, and what varies by what.

A scenario is read of each case, not of each run, as data: nothing that it names is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pandas as pd

from minitopo_dc.plots.labels import is_number, label_of, value_name
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.tables.runs import flat, scenario_fields
from minitopo_dc.scenario import Scenario

MOST_CASES = 200
"""The most cases whose scenario is read; of more, some at equal distances: half a second."""
MOST_VALUES = 6
ALWAYS: Final = frozenset(
    {
        *("transport", "mode", "congestion_control", "clock", "workload.kind", "workload.size_mb"),
        *("pdcp.split", "pdcp.t_reordering_ms", "rate_mbps", "delay_ms", "jitter_ms"),
        *("loss_percent", "queue_packets"),
    }
)
"""Fields that are shown whatever they are; of others those that vary or have no default value."""
NEVER: Final = frozenset({"seed", "plugins"})
"""Fields that are no conditions."""


def condition_tables(
    directory: Path, runs: pd.DataFrame, labels: Sequence[str]
) -> Iterator[pd.DataFrame | str]:
    """Yield the tables of the conditions, and what could not be read.

    Args:
        directory: that to which the runs' paths are relative.
        runs: a row a run.
        labels: the columns by which fields may vary.
    """
    known = runs[runs["run"].fillna("").astype(str) != ""]
    cases = known.loc[known[list(labels)].map(value_name).drop_duplicates().index]
    read = cases.iloc[:: -(-len(cases) // MOST_CASES) or 1]
    if len(read) < len(cases):
        yield f"Scenarios of {len(read)} of {len(cases)} cases were read."
    fields, errors = dict[Any, dict[str, Any]](), []
    for index, run in read["run"].items():
        try:
            fields[index] = _fields(directory, directory / str(run))
        except ResultError as error:
            errors.append(str(error).replace(f"{directory}/", ""))
    yield from errors[:MOST_VALUES]
    if fields:
        table = pd.DataFrame(fields, dtype=object).T.map(_text)
        shown = [path for path in map(str, table) if _is_shown(path, table[path])]
        by = read.loc[table.index, list(labels)]
        yield from _tables({path: _summary(table[path], by) for path in shown})


def _fields(directory: Path, run: Path) -> dict[str, Any]:
    """Return the fields that count in this mode: PDCP's of DC, the leg of a single one.

    Raises:
        ResultError: the run has no scenario, or a broken one, or is not within `directory`.
    """
    if not run.resolve().is_relative_to(directory.resolve()):
        raise ResultError(f"{run}: not within the directory of the results")
    fields = scenario_fields(run)
    if not fields:
        raise ResultError(f"{run}: no scenario")
    mode, unused = fields.get("mode"), NEVER
    unused |= frozenset() if mode == "sc" else {"leg"}
    unused |= {"pdcp", "uplink_pdcp"} if mode in ("sc", "multipath") else frozenset()
    return {
        path: Path(value).name if path.endswith(".trace") and isinstance(value, str) else value
        for path, value in fields.items()
        if path.partition(".")[0] not in unused
    }


@cache
def _defaults() -> Mapping[str, Any]:
    """Return the default of each field by its path, of legs by that within a direction."""
    made = Scenario(transport="tcp", mode="sc", legs=[{"rate_mbps": 1}]).model_dump(mode="json")
    return {_field(path): value for path, value in flat(made) if ".uplink." not in path}


def _field(path: str) -> str:
    """Return a field's path, of a leg's direction without these."""
    parts = path.split(".")
    return ".".join(parts[3:]) if parts[0] == "legs" and len(parts) > 3 else path


def _is_shown(path: str, texts: pd.Series[str]) -> bool:
    name = _field(path)
    return name in ALWAYS or bool(set(texts) - {_text(_defaults().get(name)), "none"})


def _text(value: Any) -> str:
    if value is None or value in ([], {}) or (isinstance(value, float) and pd.isna(value)):
        return "none"
    return value_name(float(value) if type(value) is int else value)


def _summary(texts: pd.Series[str], labels: pd.DataFrame) -> str:
    """Return a field's value in all cases, or its values and the label that they follow."""
    by = next((name for name in labels if _follows(texts, labels[name])), None)
    values = list(dict.fromkeys(texts))
    end = f" (by {by})" if by else " (varies)"
    if len(values) == 1:
        end = ""
    elif by and not is_number(labels[by]):
        names = labels[by].map(value_name).groupby(texts, sort=False).unique()
        values, end = [f"{text} ({', '.join(names[text])})" for text in values], ""
    more = f", ... ({len(values)} values)" if len(values) > MOST_VALUES else ""
    return ", ".join(values[:MOST_VALUES]) + more + end


def _follows(texts: pd.Series[str], label: pd.Series[Any]) -> bool:
    return bool((texts.groupby(label.map(value_name)).nunique() <= 1).all())


def _tables(values: Mapping[str, str]) -> Iterator[pd.DataFrame]:
    """Yield a table with a row for each direction of each leg, and one of all other fields."""
    legs: dict[str, dict[str, str]] = {}
    for path in values:
        if (field := _field(path)) != path:
            _, number, direction, *_ = path.split(".")
            place = int(number) + 1 if number.isdecimal() else number
            row = legs.setdefault(f"leg {place}, {direction}", {})
            row[label_of(field)] = values[path]
    yield pd.DataFrame([{"": leg, **row} for leg, row in legs.items()]).fillna("")
    others = [(label_of(path), text) for path, text in values.items() if _field(path) == path]
    yield pd.DataFrame(others, columns=["field", "value"])
