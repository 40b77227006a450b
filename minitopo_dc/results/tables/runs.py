"""The results of many runs as one table: read, labelled, saved (docs/data-model.md)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from minitopo_dc.data_model import check_version
from minitopo_dc.fields import SettingsError, read_yaml
from minitopo_dc.fields.base import error_text
from minitopo_dc.files import replacing
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.kept_scenario import GIVEN
from minitopo_dc.results.run_result import ATTEMPTS, NUMBERS, SETTINGS, RunResult
from minitopo_dc.results.tables.columns import LEG_BYTES
from minitopo_dc.results.trust import verdict_of
from minitopo_dc.scenario import Mode
from minitopo_dc.workloads import Download

ID = "id"
"""The first column: the name of a run's directory."""
MODES: tuple[str, ...] = get_args(Mode)
MEASURED = (
    *("status", "reason", "size_bytes", *NUMBERS, "leg_bytes", "directory", "details"),
    *("trust", "repeats"),
)
"""Columns of `results_table` that do not tell runs apart; nor do legs' bytes and own measures."""
SPLIT = "pdcp.split"
_SCHEMA = TypeAdapter(RunResult)
_MAPPING = TypeAdapter(dict[str, Any])
_REASONS = TypeAdapter(list[str])
_FLOWS = TypeAdapter(list[dict[str, Any]])
_FIELDS = tuple(field.name for field in fields(RunResult))


def load_results(directory: Path | str) -> pd.DataFrame:
    """Read a run or a comparison into a table with one row per run.

    Columns are those of `results_table`. Before them is `id` (the name of the run's directory).
    After them are the fields in which the runs' scenarios differ. `directory` is where the run was
    found, wherever it was made. `minitopo_dc.load` reads a campaign.

    Raises:
        ResultError: there is no run, a file is broken, or a run is elsewhere, behind a link: the
            message names the file.
        DataModelError: this program does not read the version of what is there.
    """
    directory = Path(directory)
    check_version(directory)
    alone = _has_result(directory)
    runs = [directory] if alone else [run for run in directory.glob("*") if _has_result(run)]
    if not runs:
        raise ResultError(f"{directory}: no run here; looked for result.json, */result.json")
    table = results_table(_result_in(directory, run) for run in runs)
    return labelled(table, compared_labels(table))


def leg_columns(table: pd.DataFrame) -> list[str]:
    """Return the names of the columns `leg_bytes_1`, ... of a table, leg 1 first."""
    return [column for column in table.columns if column.startswith(LEG_BYTES)]


def _has_result(run: Path) -> bool:
    """Return whether a directory has a result, or a link in its place, which counts as damaged."""
    path = run / "result.json"
    return path.exists() or path.is_symlink()


def _result_in(directory: Path, run: Path) -> RunResult:
    if not run.resolve().is_relative_to(directory.resolve()):
        raise ResultError(f"{run}: leads out of {directory}; such links are not followed")
    return load_result(run)


def load_result(directory: Path) -> RunResult:
    """Return a run's result after checking it.

    Raises:
        ResultError: it is missing or broken: the message names the file.
        DataModelError: the run has a version of the data model that this program does not read.
    """
    path = directory / "result.json"
    check_version(directory)
    try:
        file = path.stat()
    except (OSError, ValueError) as error:
        raise ResultError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    return _load(directory, path, (file.st_ino, file.st_size, file.st_mtime_ns))


@lru_cache(maxsize=10_000)
def _load(directory: Path, path: Path, _version: tuple[int, ...]) -> RunResult:
    """Load a result through a cache, as several parts of a report ask for the same run."""
    try:
        result = RunResult.load(directory)
        _SCHEMA.validate_json(json.dumps(asdict(result)), strict=True)
        _check(result)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "malformed result"
        raise ResultError(f"{path}: {field}: {error_text(first)}") from None
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror or error}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise ResultError(f"{path}: malformed result: {error}") from None
    return replace(result, directory=str(directory))


def _check(result: RunResult) -> None:
    if result.mode not in MODES:
        raise ValueError(f"mode: {result.mode!r}; allowed: {', '.join(MODES)}")
    for name in NUMBERS:
        value = getattr(result, name)
        if result.status != "ok" and value is not None:
            raise ValueError(f"{name}: {value} of a run with status {result.status}; allowed: null")
        # It is missing only where no download must have it.
        goodputs = [flow.get("goodput_mbps") for flow in result.details.get("flows", [])]
        is_number = (
            0 < value < math.inf
            if value is not None
            else (result.workload != Download.kind or not all(goodputs))
        )
        if result.status == "ok" and not is_number:
            raise ValueError(f"{name}: {value} of a run with status ok; allowed: above 0")
    _check_details(result.details)
    if result.status == "ok" and not result.leg_bytes:
        raise ValueError(f"leg_bytes: {result.leg_bytes} of a run with status ok")
    if result.status != "ok" and not result.reason.strip():
        raise ValueError(f"reason: empty, of a run with status {result.status}")


def _check_details(details: Mapping[str, Any]) -> None:
    _MAPPING.validate_python(details.get("trust", {}))
    _REASONS.validate_python(details.get(ATTEMPTS["disturbed"], []))
    for name in _MAPPING.validate_python(details.get("units", {})):
        value = details.get(name)
        if name in _FIELDS or name.startswith(LEG_BYTES):
            raise ValueError(f"details.units.{name}: that is a column of every run")
        if value is not None and not isinstance(value, int | float):
            raise ValueError(f"details.{name}: {value!r:.40}; allowed: a number")
    for number, flow in enumerate(_FLOWS.validate_python(details.get("flows", [])), start=1):
        for name in ("goodput_mbps", "completion_s", "started_s"):
            if not isinstance(flow.get(name, 0.0), int | float | None):
                raise ValueError(f"details.flows.{number}.{name}: allowed: a number")


def results_table(results: Iterable[RunResult]) -> pd.DataFrame:
    """Return a table with one row per run; there has to be at least one.

    Columns are the fields of `RunResult` (each of `settings` by itself), `trust` (its verdict,
    `clean` or `disturbed`; empty on the virtual clock), `repeats` (attempts before it that were
    disturbed), `leg_bytes_1`, `leg_bytes_2`, ... (missing where a run has no such leg), and the
    measures of users' own programs, where there are any (NaN in runs that have no such measure).
    Rows are sorted by mode (one leg first, multipath last), transport, and repetition.
    """
    runs = sorted(
        results,
        key=lambda run: (
            *(MODES.index(run.mode), run.transport, run.variant),
            *(run.repetition, run.directory),
        ),
    )
    columns = {name: [getattr(run, name) for run in runs] for name in _FIELDS if name != "settings"}
    table = pd.DataFrame(columns)
    for name in NUMBERS:
        table[name] = table[name].astype("float64")
    table["trust"] = [verdict_of(run) for run in runs]
    table["repeats"] = [len(run.details.get(ATTEMPTS["disturbed"], ())) for run in runs]
    bytes_of_legs = [run.leg_bytes or [] for run in runs]
    for leg in range(max(map(len, bytes_of_legs))):
        values = [legs[leg] if leg < len(legs) else None for legs in bytes_of_legs]
        table[f"{LEG_BYTES}{leg + 1}"] = pd.array(values, dtype="Int64")
    for name in dict.fromkeys(name for run in runs for name in run.details.get("units", {})):
        table[name] = pd.Series([run.details.get(name) for run in runs], dtype="float64")
    for path in SETTINGS:
        table[path] = uniform_column([run.settings.get(path) for run in runs])
    # Empty and not missing, as `variant`: groups by a column leave out rows where it is missing.
    table[SPLIT] = [str(run.settings.get(SPLIT) or "") for run in runs]
    return table


def labelled(table: pd.DataFrame, labels: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a table of runs with its labels: `ID` comes first, the fields that differ last.

    A field that is one of `SETTINGS` has its place: it has a value also where a mode has no part
    in it. One that every run has, as `transport`, is there already.

    Args:
        table: `results_table`.
        labels: the labels of each row.
    """
    names = [Path(directory).absolute().name for directory in table["directory"]]
    columns = {
        path: uniform_column([fields.get(path) for fields in labels])
        for path in dict.fromkeys(path for fields in labels for path in fields)
        if path != ID and (path in SETTINGS or path not in table)
    }
    return table.assign(**{ID: names}, **columns)[
        [ID, *table, *(path for path in columns if path not in table)]
    ]


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
    return dict(flat(values))


def flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of fields with their dotted paths.

    Items of a list of mappings are counted from 0; any other list is one value.
    """
    before = f"{path}." if path else ""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        value = {str(number): item for number, item in enumerate(value)}
    if isinstance(value, dict):
        for name, item in value.items():
            yield from flat(item, f"{before}{name}")
    else:
        yield path, value


def uniform_column(values: Sequence[Any]) -> pd.Series[Any]:
    """Return a column of one type, as Parquet wants it: `sp` beside 1 makes both texts.

    A list or mapping becomes JSON. A missing number is NaN, or NA among whole ones.
    """
    plain = [json.dumps(value) if isinstance(value, dict | list) else value for value in values]
    if any(isinstance(value, str) for value in plain):
        plain = [value if value is None else str(value) for value in plain]
    elif None in plain:
        known = {type(value) for value in plain if value is not None}
        return pd.Series(plain, dtype="Int64" if known == {int} else "float64")
    return pd.Series(plain, dtype=object).infer_objects()


def save_tables(results: pd.DataFrame, directory: Path) -> None:
    """Write runs (`load_results`) to `results.csv` and `results.parquet` in `directory`.

    Both hold the same: one row per run. Each leg's bytes are a column in CSV, a list in Parquet.
    `details` is a JSON text, as its keys differ from runner to runner. The run's `directory` is
    relative to the tables', so that all may be moved together.

    Raises:
        OSError: a file cannot be written; an earlier one of that name stays.
    """
    import pyarrow as pa  # noqa: PLC0415  # nothing else needs it

    table = results.assign(
        details=[json.dumps(details, sort_keys=True) for details in results["details"]],
        directory=[os.path.relpath(run, directory) for run in results["directory"]],
    )
    with replacing(directory / "results.csv") as partial:
        # Line ends of RFC 4180: only with them is a lone carriage return in a reason quoted.
        table.drop(columns="leg_bytes").to_csv(partial, index=False, lineterminator="\r\n")
    lists = table.drop(columns=leg_columns(table))
    schema = pa.Schema.from_pandas(lists, preserve_index=False)
    # The type is stated, as a table without an ok run has no list to infer it from.
    leg_bytes = pa.field("leg_bytes", pa.list_(pa.int64()))
    schema = schema.set(schema.get_field_index("leg_bytes"), leg_bytes)
    with replacing(directory / "results.parquet") as partial:
        lists.to_parquet(partial, schema=schema, index=False)
