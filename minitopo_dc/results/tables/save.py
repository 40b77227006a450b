"""The table of runs as files in CSV and Parquet."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from minitopo_dc.results.tables.load import leg_columns
from minitopo_dc.files import replacing


def save_tables(results: pd.DataFrame, directory: Path) -> None:
    """Write runs (`load_results`) to `results.csv` and `results.parquet` in `directory`.

    Both hold the same: one row per run. Each leg's bytes are a column in CSV, a list in Parquet.
    `details` is a JSON text, as its keys differ from runner to runner. The run's `directory` is
    relative to the tables', so that all may be moved together.

    Raises:
        OSError: a file cannot be written; an earlier one of that name stays.
    """
    table = results.assign(
        details=[json.dumps(details, sort_keys=True) for details in results["details"]],
        directory=[os.path.relpath(run, directory) for run in results["directory"]],
    )
    with replacing(directory / "results.csv") as partial:
        # Line ends of RFC 4180: only with them is a lone carriage return in a reason quoted.
        table.drop(columns="leg_bytes").to_csv(partial, index=False, lineterminator="\r\n")
    with replacing(directory / "results.parquet") as partial:
        _write_parquet(table.drop(columns=leg_columns(table)), partial)


def _write_parquet(table: pd.DataFrame, path: Path) -> None:
    found = pa.Schema.from_pandas(table, preserve_index=False)
    # The type is stated, as a table without an ok run has no list to infer it from.
    leg_bytes = pa.field("leg_bytes", pa.list_(pa.int64()))
    schema = found.set(found.get_field_index("leg_bytes"), leg_bytes)
    pq.write_table(pa.Table.from_pandas(table, schema=schema, preserve_index=False), path)
