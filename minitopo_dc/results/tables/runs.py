"""The results of runs: read, checked, as one table, and its columns (docs/data-model.md)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
import pandas as pd
from pydantic import TypeAdapter, ValidationError

from minitopo_dc.errors import InputError, did_you_mean
from minitopo_dc.fields import SettingsError, read_yaml
from minitopo_dc.fields.base import error_text
from minitopo_dc.files import check_version, once_a_version
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.kept_scenario import GIVEN
from minitopo_dc.results.run_result import ATTEMPTS, NUMBERS, SETTINGS, RunResult
from minitopo_dc.scenario import Mode
from minitopo_dc.workloads import Download

UNITS: Final[Mapping[str, str]] = {
    **{"mbps": "Mbit/s", "ms": "ms", "s": "s", "mb": "MB", "kb": "kB", "dbm": "dBm"},
    **{"bytes": "bytes", "percent": "%", "packets": "packets"},
}
"""The unit that the end of a field's or a measure's name tells."""
_WORDS = (
    *((r"\brtt\b", "round-trip time"), (r"\bqoe\b", "QoE"), (r"\bpdcp\b", "PDCP")),
    *((r" p(\d+)\b", r", \1th percentile"), (r" median\b", ", median")),
    *((r" max\b", ", greatest"), (r"^answer worst\b", "worst answer")),
)
WHOLE = 1e12
"""Whole numbers below are written with all their digits, such as bytes of a buffer."""
FELT: Final = (
    *("linear_qoe_mbps", "loaded_p95_ms", "delay_p95_ms", "frame_delay_p95_ms", "rtt_median_ms"),
)
"""The main measure of video, requests, a call and echoes, alone or beside a download."""
MINOR: Final = (
    *("completion_s", "capacity_share", "bound_mbps", "first_byte_s", "handshake_s"),
    *("client_cpu_s", "server_cpu_s"),
)
"""Measures of all kinds of runs, which say less than those of their own."""
LEG_BYTES: Final = "leg_bytes_"
BOOKKEEPING: Final = frozenset(
    {
        *("experiment", "seed", "status", "reason", "run", "repeats", "wall_s"),
        *("started_s", "socket_drops", "server_socket_drops", "receive_buffer_bytes"),
        *("quic_version", "multipath", "bytes_received", "size_bytes", "trust"),
        *("client_status", "leg", "stopped_s"),
    }
)
"""Columns, also of a flow, that are neither labels nor measures that a table of means shows."""
_FLOW = re.compile(r"flow_\d+_")


def check_columns(table: pd.DataFrame, *names: str | None) -> None:
    """Refuse names that a table has no column of.

    Raises:
        InputError: a column is not there; the message has the known ones.
    """
    for name in names:
        if name is not None and name not in table:
            hint = did_you_mean(name, list(map(str, table)))
            known = ", ".join(map(str, table))
            raise InputError(f"no column {name}; {hint}{hint and '; '}known: {known}")


def label_of(name: str) -> str:
    """Return a field's or a measure's name as an axis has it.

    >>> label_of("goodput_mbps"), label_of("delay_p95_ms")
    ('goodput (Mbit/s)', 'delay, 95th percentile (ms)')
    """
    text, unit = name_and_unit(name)
    return f"{text} ({unit})" if unit else text


def name_and_unit(name: str) -> tuple[str, str]:
    """Return a field's or a measure's name in words, and its unit: `goodput`, `Mbit/s`."""
    words, _, end = name.rpartition("_")
    unit = UNITS.get(end, "") if words else ""
    text = re.sub("[_.]", " ", words if unit else name)
    for pattern, word in _WORDS:
        text = re.sub(pattern, word, text)
    return text, unit


def setting_of(name: str, value: Any) -> str:
    """Return a factor with a value of it: `loss 0.1 %`; of a text the value alone."""
    text, unit = name_and_unit(name)
    return value if isinstance(value, str) else f"{text} {value_name(value)} {unit}".rstrip()


def way_names(values: pd.Series[Any]) -> pd.Series[str]:
    """Return the names of a column that tells ways apart: numbers with what they are of."""
    return values.map(lambda value: setting_of(str(values.name), value))


def value_name(value: Any) -> str:
    """Return a label's value as text: 1.0 is `1`, and (1, 1) is `1:1`."""
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < WHOLE else f"{value:g}"
    if isinstance(value, list | tuple | np.ndarray):
        return ":".join(map(value_name, value))
    return str(value)


def is_number(values: pd.Series[Any]) -> bool:
    """Return whether a factor's values are numbers, which have their place on an axis."""
    is_bool = pd.api.types.is_bool_dtype(values)
    return pd.api.types.is_numeric_dtype(values) and not is_bool


def measures_of(runs: pd.DataFrame, labels: Collection[str]) -> list[str]:
    """Return the columns with finite numbers that are neither labels nor bookkeeping."""
    # A name with a point is a scenario's field, such as `pdcp.t_reordering_ms`, and no measure.
    columns = [str(name) for name in runs if name not in labels and "." not in str(name)]
    numbers = [name for name in columns if _FLOW.sub("", name) not in BOOKKEEPING]
    return [
        name
        for name in numbers
        if is_number(runs[name]) and np.isfinite(runs[name].to_numpy(float, na_value=np.nan)).any()
    ]


def main_measure(runs: pd.DataFrame, labels: Collection[str] = ()) -> str:
    """Return the measure of runs by their workload: goodput, the delay of answers or frames, QoE.

    Of several flows it is what one of them feels, else Jain's index; of a user's program its first
    own measure. Without any number, as before the first run, it is the goodput.
    """
    known = measures_of(runs, labels)
    felt = [name for measure in FELT for name in known if _FLOW.sub("", name) == measure]
    own = [name for name in known if name not in MINOR and not name.startswith(LEG_BYTES)]
    order = (FELT[0], "goodput_mbps", *FELT[1:], *felt, "jain_index", *own, *MINOR, *known)
    return next((name for name in order if name in known), "goodput_mbps")


def is_better_low(measure: str) -> bool:
    """Return whether less of a measure is better: of times and losses."""
    return measure.endswith(("_s", "_ms")) or "loss" in measure or "lost" in measure


MODES: tuple[str, ...] = get_args(Mode)
_MAPPING = TypeAdapter(dict[str, Any])
_REASONS = TypeAdapter(list[str])
_FLOWS = TypeAdapter(list[dict[str, Any]])
_FIELDS = tuple(field.name for field in fields(RunResult))


def leg_columns(table: pd.DataFrame) -> list[str]:
    """Return the names of the columns `leg_bytes_1`, ... of a table, leg 1 first."""
    return [column for column in table.columns if column.startswith(LEG_BYTES)]


def load_result(directory: Path) -> RunResult:
    """Return a run's result after checking it.

    Raises:
        ResultError: it is missing or broken: the message names the file.
        DataModelError: the run has a version of the data model that this program does not read.
    """
    check_version(directory)
    return _load(directory)


@once_a_version(10_000, "result.json")
def _load(directory: Path) -> RunResult:
    """Load a result once, as several parts of a report ask for the same run."""
    return read_result(directory)


def read_result(directory: Path) -> RunResult:
    """Return a run's result, anew and of whatever version; else as `load_result`."""
    path = directory / "result.json"
    try:
        result = RunResult.load(directory)
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


def results_table(
    results: Sequence[RunResult], labels: Sequence[Mapping[str, Any]]
) -> pd.DataFrame:
    """Return a table with one row per run, with all that its result has.

    Columns are the labels, whose names are in `attrs["labels"]` (with `run.` before that of a field
    which has other values); the fields of `RunResult` (each of
    `settings` by itself); `trust` (its verdict, `clean` or `disturbed`; empty on the virtual
    clock); `repeats` (attempts before it that were disturbed); `leg_bytes_1`, `leg_bytes_2`, ...
    (missing where a run has no such leg); and the other measures, NaN where a run has none.

    Args:
        results: one or more.
        labels: of each of them.
    """
    table = pd.DataFrame(list(labels), index=range(len(results)))
    taken = [
        name
        for name in table
        if name in _FIELDS and list(table[name]) != [getattr(run, name) for run in results]
    ]
    table = table.rename(columns={name: f"run.{name}" for name in taken})
    names = list(table)
    for name in _FIELDS:
        if name != "settings":
            table[name] = [getattr(run, name) for run in results]
    for name in NUMBERS:
        table[name] = table[name].astype("float64")
    table["trust"] = [str(run.details.get("trust", {}).get("verdict", "")) for run in results]
    table["repeats"] = [len(run.details.get(ATTEMPTS["disturbed"], ())) for run in results]
    bytes_of_legs = [run.leg_bytes or [] for run in results]
    for leg in range(max(map(len, bytes_of_legs), default=0)):
        values = [legs[leg] if leg < len(legs) else None for legs in bytes_of_legs]
        table[f"{LEG_BYTES}{leg + 1}"] = pd.array(values, dtype="Int64")
    for path in SETTINGS:
        table[path] = uniform_column([run.settings.get(path) for run in results])
    measures = pd.DataFrame([run.measures for run in results], dtype="float64")
    table = table.join(measures[[name for name in measures if name not in table]])
    table.attrs["labels"] = names
    return table


def with_results(runs: pd.DataFrame) -> pd.DataFrame:
    """Return `results_table` of the runs of a table (`minitopo_dc.load`) that are not missing.

    Raises:
        ResultError: the result of one of them is missing or broken.
        DataModelError: this program does not read its version.
    """
    root, there = Path(runs.attrs["directory"]), runs[runs["status"] != "missing"]
    results = [load_result(root / run) for run in there["run"]]
    return results_table(results, there[runs.attrs["labels"]].to_dict("records"))


def differing_labels(runs: Sequence[Path]) -> list[dict[str, Any]]:
    """Return for each run `transport`, `mode` and the other fields in which scenarios differ.

    A field of `SETTINGS` has no value where the mode has no part in it, nor has any of a run that
    kept no scenario.

    Raises:
        ResultError: a scenario is broken.
    """
    scenarios = [scenario_fields(run) for run in runs]
    paths = dict.fromkeys(path for fields in scenarios for path in fields)
    differ = [
        path
        for path in paths
        if path not in ("transport", "mode", "seed")
        and len({json.dumps(fields.get(path)) for fields in scenarios if fields}) > 1
    ]
    labels = []
    for result, scenario in zip(map(load_result, runs), scenarios, strict=True):
        own = {"transport": result.transport, "mode": result.mode}
        labels.append(own | {path: (scenario | result.settings).get(path) for path in differ})
    return labels


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
