"""The conditions of a report's runs, the runs that are not ok, and how two clocks differ."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.analysis.tables.run_files import read_mapping
from minitopo_dc.campaign.report.evaluation import Source
from minitopo_dc.campaign.report.words import significant

BYTES_PER_MB = 1_000_000
FACTS_SHOWN = 3
"""The most different environments that are shown one by one."""


def conditions(source: Source) -> dict[str, Any]:
    """Return what a source's runs have in common."""
    cells = source.cells.drop_duplicates("id")
    done = cells[cells["status"] != "missing"]
    return {
        "label": source.label,
        "directory": source.store.root.name,
        "title": source.plan.file.title,
        "clock": source.plan.clock,
        "version": source.plan.version,
        "counts": dict(Counter(cells["status"])),
        "repetitions": int(source.cells["repetition"].max()),
        "seeds": _range(done["seed"], str) if len(done) else "none",
        "size": _range(done["size_bytes"] / BYTES_PER_MB, significant) if len(done) else "none",
        "seconds": done["wall_s"].sum() if "wall_s" in done else 0.0,
        "environments": list(_environments(done)),
    }


def _range(values: pd.Series[Any], shown: Callable[[Any], str]) -> str:
    low, high = values.min(), values.max()
    return shown(low) if low == high else f"{shown(low)} to {shown(high)}"


def _environments(done: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the distinct environments of the runs, with how many runs have each."""
    found: Counter[str] = Counter()
    for directory in done["directory"]:
        run = Path(directory)
        path = run / "environment.json"
        if path.exists():
            found[json.dumps(_facts(run, path))] += 1
    for text, number in found.most_common(FACTS_SHOWN):
        facts = json.loads(text)
        yield {"runs": number, "others": max(0, len(found) - FACTS_SHOWN), "facts": facts}


def _facts(run: Path, path: Path) -> dict[str, str]:
    try:
        return {key: _shown(value) for key, value in read_mapping(run, path).items()}
    except (ResultError, RecursionError) as error:
        return {"cannot be read": str(error)}


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    return str(value)


def problems(source: Source) -> Iterator[dict[str, Any]]:
    """Yield what did not run, grouped by reason."""
    bad = source.cells[source.cells["status"] != "ok"]
    keys = ["experiment", "configuration", "status", "reason"]
    for (experiment, configuration, status, reason), rows in bad.groupby(keys, sort=False):
        yield {
            "source": source.label,
            "experiment": experiment,
            "configuration": configuration,
            "status": status,
            "reason": reason or "not run yet",
            "runs": len(rows),
        }


def between(sources: Sequence[Source]) -> Iterator[dict[str, Any]]:
    """Yield the goodput of each other source against the first one's, cell by cell."""
    first, *others = sources
    for other in others:
        for (experiment, configuration), rows in other.cells.groupby(
            ["experiment", "configuration"], sort=False
        ):
            mine = _means(first.cells_of(str(experiment), str(configuration)))
            theirs = _means(rows)
            changes = [100 * (theirs[key] / mine[key] - 1) for key in theirs if key in mine]
            if changes:
                yield {
                    "experiment": experiment,
                    "configuration": configuration,
                    "first": first.label,
                    "other": other.label,
                    "cells": len(changes),
                    "mean": sum(changes) / len(changes),
                    "absolute": sum(map(abs, changes)) / len(changes),
                }


def _means(rows: pd.DataFrame) -> dict[str, float]:
    """Return the mean goodput by the cell's factors."""
    ok = rows[rows["status"] == "ok"]
    keys = [json.dumps(factors, sort_keys=True) for factors in ok["factors"]]
    means = ok.assign(key=keys).groupby("key")["goodput_mbps"].mean()
    return {str(key): float(value) for key, value in means.items()}


def report_machine() -> str:
    """Return facts of the report's machine, which may be another than that of the runs."""
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    return f"{system}, {os.cpu_count()} processors, Python {platform.python_version()}"
