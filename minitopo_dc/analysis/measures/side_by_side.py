"""Two sets of runs beside each other: a measure in each, and the difference.

Rules:

* Rows are matched by name, and within a row runs by point (the factors of a campaign's cell; a
  comparison is one point) and seed: runs of one seed meet the same losses and jitter.
* Of one point the difference is the mean over pairs, with Student's 95 % interval; of several the
  mean over the points' medians, with that of a bootstrap over points and seeds.
* Where no seed is in both, the difference is that of the means, and there is no interval.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from minitopo_dc.statistics import bootstrap_interval, mean_interval

COLUMNS = ("row", "point", "seed", "value")
"""The columns of a set of runs: texts, a text, a whole number, a number."""


@dataclass(frozen=True)
class Difference:
    """A row that is in both sets, with the difference of its measure."""

    row: str
    first: float
    second: float
    """The means of both sets over the runs that are compared."""
    difference: float
    """The second mean less the first."""
    low: float
    high: float
    """The upper end of the 95 % interval; NaN where there is none."""
    pairs: int
    """The number of pairs of runs with the same point and seed; 0: the seeds differ."""
    points: int

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for a missing interval."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True)
class SideBySide:
    """The rows that are in both sets, and those in one only."""

    rows: tuple[Difference, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


def side_by_side(first: pd.DataFrame, second: pd.DataFrame) -> SideBySide:
    """Compare two sets of runs that are ok, with `COLUMNS`."""
    names = [list(dict.fromkeys(each["row"])) for each in (first, second)]
    both = [row for row in names[0] if row in names[1]]
    rows = (
        _difference(row, *(each[each["row"] == row] for each in (first, second))) for row in both
    )
    only = (tuple(row for row in each if row not in both) for each in names)
    return SideBySide(tuple(rows), *only)


def _difference(row: str, first: pd.DataFrame, second: pd.DataFrame) -> Difference:
    pairs = first.merge(second, on=["point", "seed"])
    if pairs.empty:
        old, new = (float(each["value"].mean()) for each in (first, second))
        return Difference(row, old, new, new - old, math.nan, math.nan, 0, 0)
    apart = pairs.assign(value=pairs["value_y"] - pairs["value_x"])
    by_seed = apart.pivot_table(index="seed", columns="point", values="value").to_numpy()
    if by_seed.shape[1] == 1:
        middle, interval = float(by_seed.mean()), mean_interval(list(by_seed[:, 0]))
    else:
        middle = float(np.nanmedian(by_seed, axis=0).mean())
        interval = bootstrap_interval(by_seed[np.newaxis], lambda points: float(points.mean()))
    return Difference(
        row=row,
        first=float(pairs["value_x"].mean()),
        second=float(pairs["value_y"].mean()),
        difference=middle,
        low=interval.low,
        high=interval.high,
        pairs=len(pairs),
        points=by_seed.shape[1],
    )
