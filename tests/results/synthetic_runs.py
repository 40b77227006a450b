"""Directories of runs as a comparison leaves them, without running anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.tables.runs import results_table

START_NS = 7_000_000_000_000_000_123
"""A clock that a float cannot hold to the ns."""


def result(transport: str = "quic", mode: str = "dc", **changes: Any) -> RunResult:
    """A run that went well: 10 MB in 4 s."""
    fields: dict[str, Any] = {
        "status": "ok",
        "reason": "",
        "seed": 1,
        "size_bytes": 10_000_000,
        "congestion_control": "reno",
        "goodput_mbps": 20.0,
        "completion_s": 4.0,
        "leg_bytes": [5_300_000, 5_200_000],
        "capacity_share": 0.625,
    }
    return RunResult(transport=transport, mode=mode, **(fields | changes))


def no_result(transport: str, mode: str, status: str, reason: str, **changes: Any) -> RunResult:
    """A run without numbers."""
    numbers = dict.fromkeys(("goodput_mbps", "completion_s", "leg_bytes", "capacity_share"))
    return result(transport, mode, status=status, reason=reason, **(numbers | changes))


def table_of(rows: Mapping[str, Sequence[RunResult]]) -> pd.DataFrame:
    """The table of a comparison's runs by their ways."""
    results = [run for runs in rows.values() for run in runs]
    return results_table(results, [{"way": way} for way, runs in rows.items() for _ in runs])


def save(root: Path, run: RunResult) -> Path:
    """Write a result where a comparison does; return its directory."""
    directory = root / f"{run.transport}-{run.mode}-{run.seed}"
    directory.mkdir(parents=True)
    run.save(directory)
    return directory


def save_rate(run: Path, seconds: float, received: Callable[[float], float]) -> None:
    """Write `client-rate.csv`: a sample each 100 ms up to `seconds`, and one there."""
    times = [tenth / 10 for tenth in range(int(seconds * 10) + 1)]
    times += [seconds] if seconds > times[-1] else []
    rows = [f"{time:.4f},{round(received(time))}" for time in times]
    (run / "client-rate.csv").write_text("\n".join(["time_s,received_bytes", *rows]) + "\n")


def save_element(run: Path, host: str, name: str, rows: list[dict[str, int]]) -> None:
    """Write an element's series, and its summary; `time_ns` counts from START_NS."""
    shifted = [row | {"time_ns": row["time_ns"] + START_NS} for row in rows]
    pd.DataFrame(shifted).to_csv(run / f"{host}-{name}.csv", index=False)
    (run / f"{host}-summary.json").write_text(json.dumps({"host": host, "start_ns": START_NS}))
