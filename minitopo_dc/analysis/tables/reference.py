"""The comparison of this project's numbers with published ones.

An error is our number minus theirs. A cell is *outside* when its error is larger than both standard
deviations (sample, n - 1; that of a single run counts as 0). Where neither has one nothing can be
said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.files import opened
from minitopo_dc.shipped import shipped

REFERENCE, STUDIES = shipped("reference"), shipped("studies")
MAX_BYTES = 1 << 20
"""The most bytes of a table; the largest has less than a tenth."""


@dataclass(frozen=True)
class Agreement:
    """The agreement of a curve of ours with one of theirs."""

    cells: int
    mean_absolute_error: float
    """The mean absolute error in the curve's unit."""
    mean_absolute_percent: float
    rank_correlation: float | None
    """The rank correlation of Spearman (1904), ties with their mean rank; None when one curve is
    flat or has one cell."""
    outside: int | None
    """The number of cells outside; None where no standard deviation is known."""


def read_reference(
    name: str, where: Mapping[str, str | Sequence[str]] | None = None
) -> pd.DataFrame:
    """Read rows of a table of `reference/`, or of a study's, all columns as text.

    Args:
        name: the file's name.
        where: the text, or one of several, that columns must have.

    Raises:
        ResultError: there is no such file or column, or no row is left.
    """
    folders = [*sorted(STUDIES.glob("*/reference")), REFERENCE]
    plain = name == Path(name).name  # any other leads out of these folders
    folder = next((each for each in folders if plain and (each / name).is_file()), REFERENCE)
    path = folder / name
    try:
        with opened(path, MAX_BYTES, within=folder) as file:
            table = pd.read_csv(file, dtype=str, keep_default_na=False)
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ResultError(f"{path}: {error}") from None
    for column, wanted in (where or {}).items():
        check_column(table, column, name)
        table = table[table[column].isin([wanted] if isinstance(wanted, str) else list(wanted))]
    if table.empty:
        raise ResultError(f"{path}: no row where {dict(where or {})}")
    return table.reset_index(drop=True)


def check_column(table: pd.DataFrame, column: str, name: str) -> None:
    """Refuse a column that a table does not have, with a ResultError that names those it has."""
    if column not in table.columns:
        raise ResultError(f"{name}: no column {column}; has: {', '.join(table.columns)}")


def same_value(ours: Any, theirs: str) -> bool:
    """Return whether a factor's value equals a table's: as numbers if they are, else as texts."""
    try:
        return float(ours) == float(theirs)
    except (TypeError, ValueError):
        return str(ours) == theirs


def compare(cells: pd.DataFrame) -> pd.DataFrame:
    """Add `error`, `error_percent` and `outside` to rows with both numbers.

    Args:
        cells: `ours`, `ours_sd`, `theirs` and `theirs_sd`; a missing standard deviation is NaN.
            Without a mean the error is NaN, without any deviation the row is not outside.
    """
    error = cells["ours"] - cells["theirs"]
    spread = cells[["ours_sd", "theirs_sd"]].max(axis=1)  # NaN of NaN: then not outside
    return cells.assign(
        error=error, error_percent=100 * error / cells["theirs"], outside=error.abs() > spread
    )


def agreement(compared: pd.DataFrame) -> Agreement | None:
    """Sum up rows of `compare` that belong to one curve; None when none has both means."""
    both = compared[compared["error"].notna()]
    if both.empty:
        return None
    known = both[["ours_sd", "theirs_sd"]].notna().any(axis=None)
    ranks = both[["ours", "theirs"]].rank()
    varied = len(both) > 1 and (ranks.nunique() > 1).all()
    correlation = float(ranks["ours"].corr(ranks["theirs"])) if varied else None
    return Agreement(
        cells=len(both),
        mean_absolute_error=float(both["error"].abs().mean()),
        mean_absolute_percent=float(both["error_percent"].abs().mean()),
        rank_correlation=correlation,
        outside=int(both["outside"].sum()) if known else None,
    )
