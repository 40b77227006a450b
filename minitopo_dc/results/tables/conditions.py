"""The conditions of a table of runs: what their scenarios have in common, and what varies by what.

A scenario is read of each case, not of each run, as data: nothing that it names is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pandas as pd

from minitopo_dc.results.files import ResultError
from minitopo_dc.results.tables.columns import is_number, label_of, value_name
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
        yield from _tables(table, read.loc[table.index, list(labels)])


def _fields(directory: Path, run: Path) -> dict[str, Any]:
    """Return the fields that count in this mode: PDCP's of DC, the leg of a single one."""
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


def _tables(table: pd.DataFrame, labels: pd.DataFrame) -> Iterator[pd.DataFrame]:
    legs: dict[str, dict[str, str]] = {}
    others: list[tuple[str, str]] = []
    for path in map(str, table):
        leg, field = _place(path)
        if field in ALWAYS or set(table[path]) - {_text(_defaults().get(field)), "none"}:
            condition = label_of(field), _summary(table[path], labels)
            if leg:
                legs.setdefault(leg, {"": leg}).update([condition])
            else:
                others.append(condition)
    yield pd.DataFrame(legs.values()).fillna("")
    yield pd.DataFrame(others, columns=["field", "value"])


def _place(path: str) -> tuple[str, str]:
    match path.split("."):
        case ["legs", number, direction, *names] if names:
            leg = int(number) + 1 if number.isdecimal() else number
            return f"leg {leg}, {direction}", ".".join(names)
    return "", path


@cache
def _defaults() -> Mapping[str, Any]:
    plain = Scenario(transport="tcp", mode="sc", legs=[{"rate_mbps": 1}]).model_dump(mode="json")
    return {_place(path)[1]: value for path, value in flat(plain) if ".uplink." not in path}


def _text(value: Any) -> str:
    if value is None or value in ([], {}) or (isinstance(value, float) and pd.isna(value)):
        return "none"
    return value_name(float(value) if type(value) is int else value)


def _summary(texts: pd.Series[str], labels: pd.DataFrame) -> str:
    """Return a field's value in all cases, or its values and the label that they follow."""
    values = list(dict.fromkeys(texts))
    if len(values) == 1:
        return values[0]
    names = labels.map(value_name)
    by = next((label for label in labels if (texts.groupby(names[label]).nunique() == 1).all()), "")
    more = f", ... ({len(values)} values)" if len(values) > MOST_VALUES else ""
    if by and not is_number(labels[by]):
        cases = names[by].groupby(texts, sort=False).unique()
        values = [f"{text} ({', '.join(cases[text])})" for text in values]
    else:
        more += f" (by {by})" if by else " (varies)"
    return ", ".join(values[:MOST_VALUES]) + more
