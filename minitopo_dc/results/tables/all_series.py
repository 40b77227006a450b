"""The time series of many runs as one table, labelled by run (docs/data-model.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import get_args

import pandas as pd

from minitopo_dc.results.errors import ResultError
from minitopo_dc.results.tables.load import MEASURED, leg_columns, load_results
from minitopo_dc.results.tables.run_files import read_csv, to_numbers
from minitopo_dc.results.tables.series import element_series, start_ns
from minitopo_dc.runs.results import flow_directory
from minitopo_dc.settings import Direction
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import workload_names

DIRECTIONS: Mapping[str, Mapping[str, Direction]] = MappingProxyType(
    {
        "legs": {"gnb": "downlink", "ue": "uplink"},
        "transmit": {"gnb": "downlink", "ue": "uplink"},
        "receive": {"ue": "downlink", "gnb": "uplink"},
    }
)
"""The host and direction of each of an element's series."""
RUN_SERIES = ("client-rate", "connections", "paths", "handovers", "packets")
"""Files of a run's directory, without their `.csv`."""
TCP_INFO = "tcp-info"
"""The file of each flow with its TCP samples, as a workload's rows are."""
TEXTS = ("state", "direction", "event")
"""Columns that hold texts."""
KEYS = (
    *("time_s", "sent_s", "direction", "flow", "leg", "backhaul", "bearer", "path", "client_port"),
    "packet",
)
"""Columns that are kept whatever is chosen: the time, and what a row belongs to."""


def load_series(
    runs: Path | str | pd.DataFrame, name: str, columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Read a time series of all runs into one table.

    Each row has its run's labels: those of a campaign and `seed`, else the columns of
    `load_results` without what was measured. A label called like a column of the series has `run.`
    before its name. Runs that did not record the series have no rows.

    Args:
        runs: a directory of a run or comparison, of which runs that are ok are read; or rows of
            `load_results`, or of a campaign's table (`minitopo_dc.load`).
        name: `legs`, `transmit`, `receive`, `client-rate`, `connections`, `paths`, `handovers`,
            `packets`, `tcp-info`, or a workload with rows: `request-response`, `ping`.
        columns: columns of the series; None: all. Those of `KEYS` are there in any case.

    Raises:
        ResultError: no run has the series, a file is broken, or a column is not there.
    """
    if isinstance(runs, Path | str):
        found = load_results(runs)
        runs = found[found["status"] == "ok"]
    known = (*DIRECTIONS, *RUN_SERIES, TCP_INFO, *workload_names())
    if name not in known:
        raise ResultError(f"no series {name}; allowed: {', '.join(known)}")
    labels, frames = _labels(runs), []
    for row, run in enumerate(_directories(runs)):
        for frame in _frames(run, name):
            names = {label: f"run.{label}" for label in labels if label in frame}
            repeated = labels.iloc[[row] * len(frame)].reset_index(drop=True)
            chosen = _chosen(frame, columns, run)
            frames.append(pd.concat([repeated.rename(columns=names), chosen], axis=1))
    if not frames:
        raise ResultError(f"{name}: none of {len(runs)} runs recorded it")
    return pd.concat(frames, ignore_index=True)


def _directories(runs: pd.DataFrame) -> Iterator[Path]:
    """Yield the directories of runs; those of a campaign's table are relative to its own."""
    if "directory" in runs:
        yield from map(Path, runs["directory"])
    else:
        yield from (Path(runs.attrs["directory"]) / run for run in runs["run"])


def _labels(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the labels that tell runs apart, a row each; texts are categories of a byte or two."""
    if "labels" in runs.attrs:
        labels = runs[[*runs.attrs["labels"], "seed"]]
    else:
        measured = {*MEASURED, *leg_columns(runs)}
        for details in runs["details"]:
            measured |= {*details.get("units", {})}
        labels = runs[[name for name in runs if name not in measured]]
    texts = [name for name in labels if not pd.api.types.is_numeric_dtype(labels[name])]
    return labels.astype(dict.fromkeys(texts, "category"))


def _chosen(frame: pd.DataFrame, columns: Sequence[str] | None, run: Path) -> pd.DataFrame:
    if columns is None:
        return frame
    for name in columns:
        if name not in frame:
            raise ResultError(f"{run}: no column {name}; allowed: {', '.join(map(str, frame))}")
    return frame[[name for name in frame if name in columns or name in KEYS]]


def _frames(run: Path, name: str) -> Iterator[pd.DataFrame]:
    if name in DIRECTIONS:
        yield from _of_elements(run, name)
    elif name in RUN_SERIES:
        if (run / f"{name}.csv").exists():
            yield _in_seconds(_table(run, run / f"{name}.csv"), 0)
    else:
        for number, directory in _flows(run):
            path = directory / f"{name}.csv"
            if path.exists():
                begin = start_ns(run / "gnb-summary.json") if name == TCP_INFO else 0
                table = _in_seconds(_table(run, path), begin)
                table.insert(0, "flow", number)
                yield table


def _of_elements(run: Path, name: str) -> Iterator[pd.DataFrame]:
    for host, direction in DIRECTIONS[name].items():
        if (run / f"{host}-{name}.csv").exists():
            table = element_series(run, host, name, "leg" if name == "legs" else "bearer")
            both = pd.CategoricalDtype(list(get_args(Direction)))
            table.insert(1, "direction", pd.Series([direction] * len(table), dtype=both))
            yield table


def _flows(run: Path) -> Iterator[tuple[int, Path]]:
    """Yield where a flow's files may be: in the run's directory, or in one of its own."""
    yield 1, run
    number = 1
    while (directory := flow_directory(run, number, alone=False)).is_dir():
        yield number, directory
        number += 1


def _table(run: Path, path: Path) -> pd.DataFrame:
    table = read_csv(run, path)
    return to_numbers(path, table, [str(name) for name in table if name not in TEXTS])


def _in_seconds(table: pd.DataFrame, begin_ns: int) -> pd.DataFrame:
    """Convert times in ns to the time since the elements' start in s."""
    if "time_ns" in table:
        elapsed = (table.pop("time_ns") - begin_ns) / NS_PER_S
        table.insert(0, "time_s", elapsed)
    return table
