"""The tables of a campaign: one row per run, and one row per cell and repetition."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.analysis.tables.labels import FIRST, campaign_labels, labelled
from minitopo_dc.analysis.tables.load import results_table
from minitopo_dc.analysis.tables.save import save_tables
from minitopo_dc.campaign.execution.store import Store, StoreError, reporting_full_disk
from minitopo_dc.campaign.file.plan import Plan


def campaign_table(plan: Plan, store: Store) -> pd.DataFrame:
    """Return a row for each planned run that is done, with the columns of `load_results`.

    Without a run it is empty, but for its first columns.
    """
    labels = campaign_labels(plan.cells, plan.fields)
    done = [result for run, result in store.done().items() if run in labels]
    if not done:
        return pd.DataFrame(columns=[*FIRST, "status", "directory"])
    table = results_table(done)
    return labelled(table, [labels[Path(directory).name] for directory in table["directory"]])


def save_table(plan: Plan, store: Store) -> pd.DataFrame:
    """Write `results.csv` and `results.parquet` where that is allowed; return their content.

    Raises:
        StoreError: the disk is full, or a table's place is taken, e.g. by a folder.
    """
    table = campaign_table(plan, store)
    if not table.empty and store.is_writable:
        try:
            with reporting_full_disk(store.root):
                save_tables(table, store.root)
        except OSError as error:
            where = error.filename2 or error.filename or store.root
            raise StoreError(f"{where}: {error.strerror}; the tables cannot be written") from None
        except (ValueError, TypeError, OverflowError) as error:
            if isinstance(error, StoreError):
                raise
            raise StoreError(f"{store.root}: its runs do not fit in one table: {error}") from None
    return table


def cell_table(plan: Plan, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell and repetition, with its run's measures; missing runs have rows, too.

    Columns: `experiment`, `configuration`, `cell` (a number), `repetition`, `id`, the factors of
    its experiment as `factors` (a dictionary), and all that `measures` gives.
    """
    return pd.DataFrame(
        cell_rows(plan, {row["id"]: measures(row) for row in runs.to_dict("records")})
    )


def cell_rows(plan: Plan, found: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of `cell_table`.

    Args:
        plan: the cells.
        found: the `measures` of each run that is done, by its identity.
    """
    missing = measures(None)
    return [
        {
            "experiment": cell.experiment,
            "configuration": cell.configuration,
            "cell": number,
            "repetition": repetition,
            "id": identity,
            "factors": dict(cell.factors),
            **found.get(identity, missing),
        }
        for number, cell in enumerate(plan.cells)
        for repetition, identity in enumerate(cell.runs, start=1)
    ]


def measures(run: dict[Any, Any] | None) -> dict[str, Any]:
    """Return the measures of a run; one that is not ok has none, one not done is `missing`.

    `goodput_mbps`, `completion_s`, `capacity_share`; of several flows `flow_1_mbps`, ...,
    `jain_index`; and every other number that the runner reports.
    """
    if run is None:
        return {"status": "missing", "reason": "", "directory": ""}
    names = ("status", "reason", "directory", "seed", "size_bytes", "trust", "repeats")
    found = {name: run[name] for name in names}
    if run["status"] != "ok":
        return found
    details: dict[str, Any] = run["details"]
    flows = details.get("flows", [])
    return {
        **{name: value for name, value in details.items() if isinstance(value, int | float)},
        **{f"flow_{n}_mbps": flow["goodput_mbps"] for n, flow in enumerate(flows, start=1)},
        **found,
        **{name: run[name] for name in ("goodput_mbps", "completion_s", "capacity_share")},
    }
