"""The tables of a campaign: one row per run, and one row per cell and repetition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.analysis.tables.load import results_table
from minitopo_dc.analysis.tables.save import save_tables
from minitopo_dc.campaign.execution.store import Store, StoreError, reporting_full_disk
from minitopo_dc.campaign.file.plan import Plan


def campaign_table(plan: Plan, store: Store) -> pd.DataFrame:
    """All planned runs that are done, each once.

    The columns of `results_table`, before them `id` and `experiments` (all that need the run,
    with blanks between), behind them each field that is a factor somewhere. Empty, but with its
    columns, when no run is done.
    """
    wanted = plan.needed_by
    done = [result for run, result in store.done().items() if run in wanted]
    if not done:
        return pd.DataFrame(columns=["id", "experiments", "status", "directory"])
    table = results_table(done)
    identities = [Path(directory).name for directory in table["directory"]]
    table.insert(0, "id", identities)
    table.insert(1, "experiments", [" ".join(wanted[run]) for run in table["id"]])
    for path in plan.factors:
        values = [_plain(plan.fields[run][path]) for run in table["id"]]
        table[path] = pd.Series(_of_one_type(values), dtype=object).infer_objects()
    return table


def save_table(plan: Plan, store: Store) -> pd.DataFrame:
    """Write `results.csv` and `results.parquet` where that is allowed; return what is in them.

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
    """One row per cell and repetition, those not done included, with the measures of its run.

    Columns: `experiment`, `configuration`, `cell` (a number), `repetition`, `id`, the
    factors of its experiment as `factors` (a dictionary), and all that `measures` gives.
    """
    found = {row["id"]: row for row in runs.to_dict("records")}
    rows: list[dict[str, Any]] = []
    for number, cell in enumerate(plan.cells):
        for repetition, identity in enumerate(cell.runs, start=1):
            rows.append(
                {
                    "experiment": cell.experiment,
                    "configuration": cell.configuration,
                    "cell": number,
                    "repetition": repetition,
                    "id": identity,
                    "factors": dict(cell.factors),
                    **measures(found.get(identity)),
                }
            )
    return pd.DataFrame(rows)


def measures(run: dict[Any, Any] | None) -> dict[str, Any]:
    """What a run is measured by; a run that is not ok has none, one not done is `missing`.

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


def _plain(value: Any) -> Any:
    """What a column of a table can hold."""
    return json.dumps(value) if isinstance(value, dict | list) else value


def _of_one_type(values: list[Any]) -> list[Any]:
    """Parquet's columns have one type: `sp` beside 1 makes both texts."""
    if not any(isinstance(value, str) for value in values):
        return values
    return [value if value is None else str(value) for value in values]
