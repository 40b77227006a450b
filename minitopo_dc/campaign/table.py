"""The table of a campaign: a row a run, with labels, seed, status, reason, measures and directory.

`campaign.json` beside it says what else reading needs. Nothing here imports or runs anything that a
results directory holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from minitopo_dc.campaign.store import Store, StoreError
from minitopo_dc.data_model import check_version
from minitopo_dc.files import opened, parse_json, read_text, replacing, write_whole
from minitopo_dc.runs.results import NUMBERS, RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings.base import error_text

TABLE, TEXT_TABLE, FACTS = "runs.parquet", "runs.csv", "campaign.json"
RESERVED: Final = ("seed", "status", "reason", "run")
"""Columns of every table that are neither labels nor measures."""
SIZE: Final = "size_bytes"
"""The bytes of use: of a download, of what was watched, of frames in time."""
DETAILS: Final = ("started_s", "client_cpu_s", "server_cpu_s", "wall_s")
"""Measures of most runs that are none of their workload."""
MAX_TABLE = 1 << 30
"""The most bytes of a table: 1,000,000 runs of 1 kB."""
MAX_FACTS = 16 << 20
_RUN = re.compile(r"runs/([0-9a-f]{16})")

Row = dict[str, Any]


@dataclass(frozen=True)
class Facts:
    """What a campaign's directory says beside its table."""

    title: str
    notes: str
    labels: list[str]
    """Names of the labels, in order."""
    cases: int
    seeds: list[int]
    version: str
    """`full`, `quick` or `sample`."""

    def save(self, directory: Path) -> None:
        """Write them into a directory as `campaign.json`."""
        write_whole(directory / FACTS, json.dumps(asdict(self), indent=1))


_FACTS = TypeAdapter(Facts)


def measure_names(scenario: Scenario) -> Iterator[str]:
    """Yield the names of the measures that a scenario's runs are known to have, some maybe twice.

    A runner may report more of them.
    """
    yield from NUMBERS
    yield from (f"leg_bytes_{number}" for number in range(1, len(scenario.legs) + 1))
    yield SIZE
    if not scenario.flows:
        yield from (name for name in scenario.workload.reported_measures if name not in RESERVED)
        yield from DETAILS
        return
    for number, flow in enumerate(scenario.resolved_flows, start=1):
        names = ("goodput_mbps", "completion_s", "bytes_received", *flow.workload.reported_measures)
        yield from (f"flow_{number}_{name}" for name in names)
    yield from ("jain_index", "wall_s")


def row_of(result: RunResult | None) -> Row:
    """Return what a table has of a run; one that is not ok has no measures, None is `missing`."""
    if result is None:
        return {"status": "missing", "reason": ""}
    row = {"status": result.status, "reason": result.reason}
    return row | dict(_measures(result)) if result.status == "ok" else row


def _measures(result: RunResult) -> Iterator[tuple[str, float]]:
    """Yield the numbers of a run that is ok."""
    yield from _numbers("", result.details)
    for number, flow in enumerate(result.details.get("flows", ()), start=1):
        yield from _numbers(f"flow_{number}_", flow)
    for number, count in enumerate(result.leg_bytes or (), start=1):
        yield f"leg_bytes_{number}", count
    yield SIZE, result.size_bytes
    for name in NUMBERS:
        if (value := getattr(result, name)) is not None:
            yield name, value


def _numbers(before: str, details: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield numbers of details; one that has a column's name, such as HTTP's status, is renamed."""
    for name, value in details.items():
        column = before + name
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield f"client_{column}" if column in RESERVED else column, value


def make_table(rows: Sequence[Row], labels: Sequence[str], measures: Sequence[str]) -> pd.DataFrame:
    """Return a table of rows in the order of its columns: labels, seed, status, reason, measures.

    Args:
        rows: the runs'.
        labels: names of the columns that are labels, also in `attrs["labels"]`.
        measures: columns that the table has in any case.
    """
    table = pd.DataFrame(rows)
    others = [name for name in map(str, table) if name not in {*labels, *RESERVED, *measures}]
    order = [*labels, *RESERVED[:-1], *measures, *sorted(others), RESERVED[-1]]
    table = table.reindex(columns=order)
    numbers = [*measures, *others]
    table[numbers] = table[numbers].astype(float)
    table.attrs["labels"] = list(labels)
    return table


def save_table(table: pd.DataFrame, directory: Path) -> None:
    """Write `runs.parquet` and `runs.csv`, each at once.

    Raises:
        OSError: one of them cannot be written.
    """
    with replacing(directory / TABLE) as partial:
        table.to_parquet(partial, index=False)
    with replacing(directory / TEXT_TABLE) as partial:
        table.to_csv(partial, index=False)


def load_facts(directory: Path) -> Facts:
    """Read `campaign.json`.

    Raises:
        StoreError: no campaign was run here, or the file is damaged.
        DataModelError: this program does not read the version of what is there.
    """
    path = directory / FACTS
    check_version(directory)
    try:
        return _FACTS.validate_python(parse_json(read_text(path, MAX_FACTS, within=directory)))
    except FileNotFoundError:
        raise StoreError(f"{directory}: no campaign was run here ({FACTS} is missing)") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise StoreError(f"{path}: {place}: {error_text(first)}") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def load(directory: str | Path) -> pd.DataFrame:
    """Return the table of a campaign's directory, also of one that is under way or was killed.

    A row a run: its labels, whose names are in `attrs["labels"]` (and `directory` in
    `attrs["directory"]`); `seed`, `status` (ok, failed,
    disturbed, unsupported or missing), `reason`; measures, NaN where a run has none; `run`, its
    directory relative to this one.

    Raises:
        StoreError: there is no campaign here, or its files are damaged.
        DataModelError: this program does not read the version of what is there.
    """
    directory = Path(directory)
    labels, path = load_facts(directory).labels, directory / TABLE
    try:
        with opened(path, MAX_TABLE, within=directory) as file:
            table = pd.read_parquet(file)
        missing = table.index[table["status"] == "missing"]
        rows = table.loc[missing].to_dict("records")
        names = [_RUN.fullmatch(row["run"]) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    store = Store(directory)
    ended = {}
    for place, name in zip(missing, names, strict=True):
        result = store.read(name[1]) if name else None
        if isinstance(result, RunResult):
            ended[place] = row_of(result)
    return with_place(_completed(table, labels, ended), directory)


def with_place(table: pd.DataFrame, directory: Path) -> pd.DataFrame:
    """Return a table that knows where its runs are, in `attrs["directory"]`; no file has that."""
    table.attrs["directory"] = str(directory)
    return table


def _completed(
    table: pd.DataFrame, labels: Sequence[str], ended: Mapping[Any, Row]
) -> pd.DataFrame:
    """Return a table with the runs that have ended since it was written."""
    if ended:
        old_rows = table.astype(object).to_dict("records")
        rows: list[Row] = [
            {**{str(name): value for name, value in row.items()}, **ended.get(place, {})}
            for place, row in zip(table.index, old_rows, strict=True)
        ]
        measures = [name for name in map(str, table) if name not in {*labels, *RESERVED}]
        old = table[list(labels)].dtypes.to_dict()
        table = make_table(rows, labels, measures).astype(old)
    table.attrs["labels"] = list(labels)
    return table
