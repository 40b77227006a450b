"""The table of a condensed result: a row for each run, with the numbers that its campaign asks for.

Rules:

* Columns are `FIRST`, then the measures that `condensed.yaml` lists, and no others.
* An empty field is a measure that nothing asked of this run; `nan` is one that the run does not
  have. Numbers have 6 significant digits.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.campaign.condensed.recipe import Recipe
from minitopo_dc.campaign.file.fields import CampaignFile
from minitopo_dc.campaign.file.measure_names import needed_measures
from minitopo_dc.files import read_text
from minitopo_dc.runs.results import Status

RUNS = "runs.csv"
FIRST = ("id", "status", "reason", "seed", "trust")
OF_CELLS = ("seed", "repetition")
"""Names of measures that the rows of cells have anyway."""
MAX_BYTES = 64 << 20
"""The most bytes of the table; 15,300 runs with five measures have less than 2 MB."""
MAX_REASON = 200
"""Characters of a reason; the run's directory has all of it."""
STATUSES: tuple[str, ...] = get_args(Status)


def asked_measures(
    file: CampaignFile, experiments: Iterable[str]
) -> dict[tuple[str, str], set[str]]:
    """Return the measures that a campaign asks of runs, by experiment and configuration."""
    asked: dict[tuple[str, str], set[str]] = defaultdict(set)
    for name in experiments:
        for each in needed_measures(file, file.experiments[name]):
            if each.measure not in OF_CELLS:
                asked[name, each.configuration].add(each.measure)
    return asked


def table_text(runs: Mapping[str, Mapping[str, Any]], measures: Sequence[str]) -> str:
    """Return the table as text.

    Args:
        runs: of each run by its identity what `FIRST` names, and its measures.
        measures: all measures, in the order of their columns.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*FIRST, *measures])
    for identity, run in runs.items():
        reason = (str(run["reason"]).splitlines() or [""])[0][:MAX_REASON]
        numbers = [f"{run[name]:.6g}" if name in run else "" for name in measures]
        rows.writerow([identity, run["status"], reason, int(run["seed"]), run["trust"], *numbers])
    return text.getvalue()


def digest(text: str) -> str:
    """Return the SHA-256 of the table's text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_runs(directory: Path, recipe: Recipe) -> dict[str, dict[str, Any]]:
    """Return what the table of a condensed result says of each run, by its identity.

    Raises:
        ResultError: the file is missing or damaged; the message says what is allowed.
    """
    path = directory / RUNS
    try:
        text = read_text(path, MAX_BYTES, within=directory)
        head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        _check_columns(head, [*FIRST, *recipe.measures])
        if digest(text) != recipe.sha256:
            raise ValueError("changed since it was written; condense the campaign again")
        return dict(_numbered(rows, recipe.measures))
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror}") from None
    except (ValueError, csv.Error) as error:
        raise ResultError(f"{path}: {error}") from None


def _check_columns(found: Sequence[str], allowed: Sequence[str]) -> None:
    for column in found:
        if column not in allowed:
            raise ValueError(f"column {column!r:.60} is unknown; allowed: {', '.join(allowed)}")
    if list(found) != list(allowed):
        raise ValueError(f"columns {', '.join(found)}; allowed: {', '.join(allowed)}")


def _numbered(
    rows: Iterable[Sequence[str]], measures: Sequence[str]
) -> Iterable[tuple[str, dict[str, Any]]]:
    for line, row in enumerate(rows, start=2):
        try:
            yield _run(row, measures)
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from None


def _run(row: Sequence[str], measures: Sequence[str]) -> tuple[str, dict[str, Any]]:
    if len(row) != len(FIRST) + len(measures):
        raise ValueError(f"{len(row)} fields; allowed: {len(FIRST) + len(measures)}")
    identity, status, reason, seed, trust, *numbers = row
    if status not in STATUSES:
        raise ValueError(f"status {status!r:.40}; allowed: {', '.join(STATUSES)}")
    told = {"status": status, "reason": reason, "seed": int(seed), "trust": trust}
    named = zip(measures, numbers, strict=True)
    return identity, {**told, **{name: float(text) for name, text in named if text}}
