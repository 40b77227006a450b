"""The conditions of a table of runs: what their scenarios have in common, and what varies by what.

A scenario is read of each case, not of each run, as data: nothing that it names is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pandas as pd

from minitopo_dc.errors import InputError
from minitopo_dc.files import parse_json, read_text
from minitopo_dc.plots.labels import label_of, value_name
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import read_yaml

MOST_CASES = 200
"""The most cases whose scenario is read; of more, some at equal distances: half a second."""
MOST_VALUES = 6
MAX_BYTES = 1 << 20
ALWAYS: Final = frozenset(
    {
        *("transport", "mode", "congestion_control", "clock", "workload.kind", "workload.size_mb"),
        *("pdcp.split", "pdcp.t_reordering_ms", "rate_mbps", "delay_ms", "jitter_ms"),
        *("loss_percent", "queue_packets"),
    }
)
"""Fields that are shown whatever they are; of others those that vary or have no default value."""
NEVER: Final = frozenset({"seed", "plugins"})


def conditions(
    directory: Path, runs: pd.DataFrame, labels: Sequence[str]
) -> Iterator[tuple[str, pd.DataFrame | str]]:
    """Yield the tables of the conditions, each with its title, and what could not be read.

    Args:
        directory: that to which the runs' paths are relative.
        runs: a row a run.
        labels: the columns by which fields may vary.
    """
    given = runs[runs["run"].fillna("").astype(str) != ""]
    cases = given.loc[given[list(labels)].map(value_name).drop_duplicates().index]
    read = cases.iloc[:: -(-len(cases) // MOST_CASES) or 1]
    table, broken = _fields(directory, read)
    if len(read) < len(cases):
        yield "", f"Scenarios of {len(read)} of {len(cases)} cases were read."
    yield from (("", text) for text in broken)
    if len(table):
        read = read.loc[table.index]
        yield "Legs", _legs(table, read, labels)
        yield from _others(table, read, labels)
        facts = _environment(directory / str(read["run"].iloc[0]))
        if facts:
            yield "Versions of the first run", pd.DataFrame(facts.items(), columns=["of", "is"])


def _fields(directory: Path, cases: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return a row a case with the fields of its scenario by their paths, and errors."""
    rows: dict[Any, dict[str, Any]] = {}
    broken = []
    for index, run in cases["run"].items():
        try:
            values = read_yaml(directory / run / "scenario.yaml", within=directory)
            rows[index] = dict(_told(values))
        except (InputError, AttributeError, TypeError) as error:
            broken.append(f"{run}: {error}".replace(f"{directory}/", ""))
    return pd.DataFrame(rows, dtype=object).T, broken[:MOST_VALUES]


def _told(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields that count in this mode: PDCP's of DC, the leg of a single one."""
    mode = values.get("mode", "")
    for path, value in _flat(values):
        is_unused = (
            path.startswith(("pdcp.", "uplink_pdcp.")) and mode in ("sc", "multipath")
        ) or (path == "leg" and mode != "sc")
        if path not in NEVER and not is_unused:
            yield path, Path(value).name if path.endswith(".trace") and value else value


def _flat(values: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of mappings, and of lists of mappings, by their paths."""
    named = values.items() if isinstance(values, dict) else enumerate(values, start=1)
    for name, value in named:
        path = f"{before}{name}"
        several = isinstance(value, list) and value and isinstance(value[0], dict)
        if several or isinstance(value, dict):
            yield from _flat(value, f"{path}.")
        else:
            yield path, value


@cache
def _defaults() -> Mapping[str, Any]:
    """Return the default of each field by its path, of legs without their number."""
    made = Scenario(transport="tcp", mode="sc", legs=[{"rate_mbps": 1}])
    return {_of_any_leg(path): value for path, value in _flat(made.model_dump(mode="json"))}


def _of_any_leg(path: str) -> str:
    parts = path.split(".")
    return ".".join(parts[3:]) if parts[0] == "legs" and len(parts) > 3 else path


def _is_shown(path: str, values: pd.Series[Any]) -> bool:
    name = _of_any_leg(path)
    texts = set(values.map(_text))
    return name in ALWAYS or bool(texts - {_text(_defaults().get(name)), "none"})


def _text(value: Any) -> str:
    if value is None or value in ([], {}) or (isinstance(value, float) and pd.isna(value)):
        return "none"
    return value_name(float(value) if type(value) is int else value)


def _legs(table: pd.DataFrame, cases: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    """Return a row for each direction of each leg, and a column for each field."""
    paths = [path for path in map(str, table) if _of_any_leg(path) != path]
    shown = dict.fromkeys(_of_any_leg(path) for path in paths if _is_shown(path, table[path]))
    rows: dict[str, dict[str, str]] = {}
    for path in paths:
        _, number, direction, *name = path.split(".")
        if ".".join(name) in shown:
            row = rows.setdefault(f"leg {number}, {direction}", {})
            row[label_of(".".join(name))] = _summary(table[path], cases, labels)
    return pd.DataFrame([{"": leg, **row} for leg, row in rows.items()]).fillna("")


def _others(
    table: pd.DataFrame, cases: pd.DataFrame, labels: Sequence[str]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a table of what belongs to each value of a label, and one of all else."""
    others = (path for path in map(str, table) if _of_any_leg(path) == path)
    paths = [path for path in others if _is_shown(path, table[path])]
    label = next((name for name in labels if _varying_by(table, paths, cases, name)), None)
    apart = _varying_by(table, paths, cases, label) if label else []
    if label:
        texts = table[apart].map(_text).groupby(cases[label].map(value_name), sort=False).first()
        texts.columns = pd.Index([label_of(path) for path in apart])
        yield f"By {label}", texts.replace("none", "").reset_index()
    common = [path for path in paths if path not in apart]
    rows = [(label_of(path), _summary(table[path], cases, labels)) for path in common]
    yield "All runs", pd.DataFrame(rows, columns=["field", "value"])


def _varying_by(
    table: pd.DataFrame, paths: Sequence[str], cases: pd.DataFrame, label: str
) -> list[str]:
    """Return the fields that vary, with one value for each value of a label that is a text."""
    if pd.api.types.is_numeric_dtype(cases[label]):
        return []
    vary = (path for path in paths if table[path].map(_text).nunique() > 1)
    return [path for path in vary if _follows(table[path], cases[label])]


def _follows(values: pd.Series[Any], label: pd.Series[Any]) -> bool:
    return bool((values.map(_text).groupby(label.map(value_name)).nunique() <= 1).all())


def _summary(values: pd.Series[Any], cases: pd.DataFrame, labels: Sequence[str]) -> str:
    """Return a field's value in all cases, or its values and the label that they follow."""
    texts = list(dict.fromkeys(map(_text, values)))
    if len(texts) == 1:
        return texts[0]
    by = next((name for name in labels if _follows(values, cases[name])), None)
    more = f", ... ({len(texts)} values)" if len(texts) > MOST_VALUES else ""
    return ", ".join(texts[:MOST_VALUES]) + more + (f" (by {by})" if by else " (varies)")


def _environment(run: Path) -> dict[str, str]:
    """Return the versions that a run recorded; nothing of one that recorded none."""
    path = run / "environment.json"
    try:
        values = parse_json(read_text(path, MAX_BYTES, within=run)) if path.exists() else {}
        return {path: _text(value) for path, value in _flat(values)}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        return {path.name: getattr(error, "strerror", None) or str(error)}
