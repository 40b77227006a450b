"""The table of runs: a row a run, with labels, seed, status, reason, measures and directory.

A campaign's `campaign.json` beside it says what else reading needs. Nothing here imports or runs
anything that a results directory holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

import pandas as pd

from minitopo_dc.campaign.store import Store, StoreError
from minitopo_dc.data_model import check_version
from minitopo_dc.fields import Settings
from minitopo_dc.fields.base import quoted
from minitopo_dc.files import (
    check_size,
    naming,
    opened,
    parse_json,
    read_text,
    replacing,
    write_whole,
)
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.run_result import MAX_BYTES, SIZE, RunResult
from minitopo_dc.results.tables.runs import differing_labels, load_result, uniform_column

TABLE, TEXT_TABLE, FACTS = "runs.parquet", "runs.csv", "campaign.json"
RESERVED: Final = ("seed", "status", "reason", "run")
"""Columns of every table that are neither labels nor measures."""
MAX_TABLE = 1 << 30
"""The most bytes of a table, packed or not: 1,000,000 runs of 1 kB."""
MAX_VALUES = 10_000_000
"""The most values of a table: 200,000 runs with 50 columns, as objects some 1 GB."""
_RUN = re.compile(r"runs/([0-9a-f]{16})")
Row = dict[str, Any]


class NoResultsError(ResultError):
    """A directory in which there are no results."""


class Facts(Settings):
    """What a campaign's directory says beside its table."""

    title: str
    notes: str
    labels: list[str]
    """Names of the labels, in order."""
    cases: int
    seeds: list[int]
    version: str
    """`full`, `quick` or `sample`."""


MISSING: Final[Row] = {"status": "missing", "reason": ""}


def row_of(result: RunResult) -> Row:
    """Return what a table has of a run; one that is not ok has no measures."""
    size = {SIZE: result.size_bytes} if result.status == "ok" else {}
    return {"status": result.status, "reason": result.reason, **size, **result.measures}


def make_table(
    rows: Sequence[Mapping[str, Any]], labels: Sequence[str], measures: Sequence[str], place: Path
) -> pd.DataFrame:
    """Return a table of rows in the order of its columns: labels, seed, status, reason, measures.

    Args:
        rows: the runs'.
        labels: names of the columns that are labels, also in `attrs["labels"]`.
        measures: columns that the table has in any case.
        place: the campaign's directory, in `attrs["directory"]`.
    """
    table = pd.DataFrame(rows)
    others = [name for name in map(str, table) if name not in {*labels, *RESERVED, *measures}]
    numbers = [*measures, *sorted(others)]
    table = table.reindex(columns=[*labels, *RESERVED[:-1], *numbers, RESERVED[-1]])
    table[numbers] = table[numbers].astype(float)
    table.attrs = {"labels": list(labels), "directory": str(place)}
    return table


def save(table: pd.DataFrame, facts: Facts, directory: Path) -> None:
    """Write `campaign.json`, `runs.parquet` and `runs.csv`, each at once.

    Raises:
        OSError: one of them cannot be written.
    """
    write_whole(directory / FACTS, facts.model_dump_json(indent=1))
    plain = table.copy(deep=False)
    plain.attrs = {}  # a file is not told where it is, as it may be moved
    with replacing(directory / TABLE) as partial:
        plain.to_parquet(partial, index=False)
    with replacing(directory / TEXT_TABLE) as partial:
        # Line ends of RFC 4180: only with them is a lone carriage return in a text quoted.
        plain.to_csv(partial, index=False, lineterminator="\r\n")


def load_facts(directory: Path) -> Facts:
    """Read `campaign.json`.

    Raises:
        InputError: no campaign was run here, the file is damaged, or this program does not read the
            version of what is there.
    """
    path = directory / FACTS
    check_version(directory)
    if not path.exists():
        raise StoreError(f"{directory}: no campaign was run here ({FACTS} is missing)")
    with naming(path):
        return Facts.check(parse_json(read_text(path, MAX_BYTES, within=directory)), str(path))


def read_table(path: Path, within: Path | None = None) -> pd.DataFrame:
    """Return a table of Parquet, of which the file says beforehand how large it is unpacked.

    Args:
        path: the file.
        within: a directory, out of which no link of the path may lead.

    Raises:
        InputError: it is no such table, or too large.
    """
    from pyarrow import parquet  # noqa: PLC0415  # slow to import, and few commands read tables

    with naming(path), opened(path, MAX_TABLE, within=within) as file:
        metadata = parquet.ParquetFile(file).metadata
        check_size(metadata.num_rows * max(1, metadata.num_columns), MAX_VALUES, "values")
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        check_size(sum(group.total_byte_size for group in groups), MAX_TABLE)
        check_size(_text_bytes(file), MAX_TABLE, "bytes of text")
        return pd.read_parquet(file)


def _text_bytes(file: BufferedReader) -> int:
    """Return how long all texts of a table are: a file has those that are equal once."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import compute, parquet  # noqa: PLC0415

    schema = parquet.read_schema(file)
    texts = (pa.string(), pa.large_string())
    names = [field.name for field in schema if field.type in texts]
    table = parquet.read_table(file, columns=names, read_dictionary=names)
    chunks = (chunk for column in table.columns for chunk in column.chunks)
    lengths = (
        compute.take(compute.binary_length(chunk.dictionary), chunk.indices) for chunk in chunks
    )
    return sum(compute.sum(length).as_py() or 0 for length in lengths)


def load(directory: str | Path) -> pd.DataFrame:
    """Return the table of a directory of results, also of one that is under way or was killed.

    A row a run: its labels, whose names are in `attrs["labels"]` (and `directory` in
    `attrs["directory"]`); `seed`, `status` (ok, failed, disturbed, unsupported or missing),
    `reason`; measures, NaN where a run has none; `run`, its directory relative to this one. Runs
    that no campaign made, a single one or those in one folder, have `transport` and `mode` as
    labels, and the fields in which their scenarios differ.

    Raises:
        InputError: there are no results here, files are damaged, or this program does not read the
            version of what is there.
    """
    directory = Path(directory)
    check_version(directory)
    if (directory / FACTS).exists():
        return _load_campaign(directory)
    alone = _has_result(directory)
    runs = [directory] if alone else [run for run in directory.glob("*") if _has_result(run)]
    if not runs:
        words = f"looked for result.json, */result.json and {FACTS}"
        raise NoResultsError(f"{quoted(directory)}: no results; {words}")
    return _load_runs(directory, sorted(runs))


def _load_campaign(directory: Path) -> pd.DataFrame:
    labels, path, store = load_facts(directory).labels, directory / TABLE, Store(directory)
    table = read_table(path, within=directory)
    with naming(path):
        rows: list[Row] = []
        for row in table.astype(object).to_dict("records"):
            rows.append({str(name): value for name, value in row.items()})
            name = _RUN.fullmatch(row["run"]) if row["status"] == MISSING["status"] else None
            result = store.read(name[1]) if name else None
            if isinstance(result, RunResult):  # it has ended since the table was written
                rows[-1] |= row_of(result)
        measures = [name for name in map(str, table) if name not in {*labels, *RESERVED}]
        kinds = table[labels].dtypes.to_dict()
        return make_table(rows, labels, measures, directory).astype(kinds)


def _has_result(run: Path) -> bool:
    """Return whether a directory has a result, or a link in its place, which counts as damaged."""
    path = run / "result.json"
    return path.exists() or path.is_symlink()


def _load_runs(directory: Path, runs: Sequence[Path]) -> pd.DataFrame:
    for run in runs:
        if not run.resolve().is_relative_to(directory.resolve()):
            raise ResultError(f"{run}: leads out of {directory}; such links are not followed")
    results, labels = list(map(load_result, runs)), differing_labels(runs)
    columns = {name: uniform_column([own[name] for own in labels]) for name in labels[0]}
    rows = [
        {**row_of(result), "seed": result.seed, "run": str(run.relative_to(directory))}
        for result, run in zip(results, runs, strict=True)
    ]
    table = make_table(rows, [*columns], [], directory)
    return table.assign(**columns)
