"""The step from a campaign's directory to a condensed result, which is small enough to be shared.

It has what figures, references, outcomes and claims ask of single runs: measures that need a run's
files are worked out now. Time series and logs are not in it, nor are runs that the machine could
not do: they count as not run.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from minitopo_dc.analysis.measures.named import measure
from minitopo_dc.analysis.tables.run_files import read_mapping
from minitopo_dc.campaign.condensed.options import options_of, parameters_of
from minitopo_dc.campaign.condensed.recipe import Recipe, campaign_called, campaigns
from minitopo_dc.campaign.condensed.runs_file import (
    FIRST,
    RUNS,
    asked_measures,
    digest,
    table_text,
)
from minitopo_dc.campaign.execution.store import CONDENSED, Store, StoreError, reporting_full_disk
from minitopo_dc.campaign.execution.table import campaign_table, cell_table
from minitopo_dc.campaign.file.plan import Plan
from minitopo_dc.campaign.file.scenarios import Overrides


@dataclass(frozen=True)
class Condensation:
    """The size of a result that was written."""

    runs: int
    measures: int
    bytes: int
    stale: int
    """The runs that were left out, as the campaign's file no longer has them."""


def condense(store: Store, target: Path) -> Condensation:
    """Write the condensed result of a campaign's directory; one that is there is replaced.

    Raises:
        StoreError: there is no campaign, or the target holds something else or cannot be written.
        SettingsError: the campaign is none of the package's, or was changed throughout.
        ResultError: a file of a run is missing or broken.
    """
    _check_target(target)
    kept = store.plan()
    path = campaigns()[campaign_called(kept.file.title)]
    options, plan = options_of(path, kept, store)
    table = campaign_table(kept, store)
    runs = _runs(plan, table)
    if not runs:
        raise StoreError(f"{store.root}: no run is finished")
    measures = sorted({name for run in runs.values() for name in run} - {*FIRST, "directory"})
    text = table_text(runs, measures)
    facts = {
        "parameters": parameters_of(path, kept),
        "measures": measures,
        "sha256": digest(text),
        "made_with": _made_with(Path(run["directory"]) for run in runs.values()),
    }
    written = {CONDENSED: _description(path.stem, plan, options, facts), RUNS: text}
    _place(target, written)
    stale = len({*table["id"]} - plan.needed_by.keys())
    size = sum(len(each.encode()) for each in written.values())
    return Condensation(len(runs), len(measures), size, stale)


def _runs(plan: Plan, table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return what the table has of each finished run, in the order of the plan's cells."""
    asked = asked_measures(plan.file, {cell.experiment for cell in plan.cells})
    found: dict[str, dict[str, Any]] = {}
    for row in cell_table(plan, table).to_dict("records"):
        if row["status"] in ("missing", "unsupported"):
            continue
        run = found.setdefault(row["id"], {name: row[name] for name in (*FIRST, "directory")})
        for name in asked[row["experiment"], row["configuration"]] - run.keys():
            if row["status"] == "ok":
                run[name] = measure(row, name)
    return found


def _made_with(runs: Iterable[Path]) -> dict[str, tuple[str, ...]]:
    """Return the versions of each package that runs name in their environments."""
    versions: dict[str, set[str]] = defaultdict(set)
    for name, version in (each for run in runs for each in _packages(run)):
        versions[name].add(version)
    return {name: tuple(sorted(versions[name])) for name in sorted(versions)}


def _packages(run: Path) -> Iterator[tuple[str, str]]:
    path = run / "environment.json"
    packages = read_mapping(run, path).get("packages") if path.is_file() else None
    for name, version in packages.items() if isinstance(packages, dict) else ():
        yield str(name), str(version)


def _description(name: str, plan: Plan, options: Overrides, facts: Mapping[str, Any]) -> str:
    """Return the text of `condensed.yaml`, which has no option that was not given."""
    given = ("experiments", "configurations", "repetitions", "size_mb", "seed", "core")
    values = {
        "condensed": 1,
        "campaign": name,
        "clock": plan.clock,
        "version": plan.version,
        **{option: getattr(options, option) for option in given},
        **facts,
    }
    recipe = Recipe.check(values, CONDENSED).model_dump(mode="json", exclude_defaults=True)
    return yaml.safe_dump(recipe, sort_keys=False, default_flow_style=None, width=110)


def _check_target(target: Path) -> None:
    """Refuse a place that has anything but a condensed result."""
    if target.is_dir():
        others = {path.name for path in target.iterdir()} - {CONDENSED, RUNS}
    else:
        others = {target.name} if target.exists() or target.is_symlink() else set()
    if others:
        raise StoreError(
            f"{target}: holds {min(others)}; allowed: a new directory, or a condensed result, "
            "which is replaced"
        )


def _place(target: Path, texts: Mapping[str, str]) -> None:
    """Write a directory's files beside it, and give them its name when they are complete.

    Raises:
        StoreError: the place cannot be written.
    """
    try:
        with reporting_full_disk(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".condense-", dir=target.parent) as partial:
                made, before = Path(partial, "made"), Path(partial, "before")
                made.mkdir()
                for name, text in texts.items():
                    (made / name).write_text(text, encoding="utf-8")
                _swap(target, made, before)
    except OSError as error:
        raise StoreError(f"{target}: {error.strerror}; give another directory") from None


def _swap(target: Path, made: Path, before: Path) -> None:
    """Put a directory in a place; what was there comes back if that is interrupted."""
    if target.exists():
        target.rename(before)
    try:
        made.rename(target)
    except BaseException:
        if before.exists():
            before.rename(target)
        raise
