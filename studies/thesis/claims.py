"""What the papers say in words: an effect over the seeds, its 95 % interval, and a verdict.

An effect is worked out of the runs of one seed, which are paired so; the interval is Student's over
the seeds. Runs in which nothing is random are the same with each seed, so that their interval has
no width.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.claims import Claim, statements
from minitopo_dc.statistics import mean_interval, ok

SAID = statements(Path(__file__).with_name("reference") / "claims.csv")


def judged(effects: Mapping[str, pd.Series[Any]]) -> Iterator[Claim]:
    """Yield the verdict on statements of `reference/claims.csv`.

    Args:
        effects: by key of the statement its value for each seed; NaN where a run is lacking.
    """
    for key, effect in effects.items():
        known = effect.dropna().astype(float)
        interval, points = mean_interval(known.tolist()), int(not known.empty)
        yield replace(SAID[key], value=known.mean(), interval=interval, points=points,
                      runs=len(known))  # fmt: skip


def by_seed(
    runs: pd.DataFrame,
    experiment: str,
    label: str,
    values: Iterable[Any],
    *,
    measure: str = "goodput_mbps",
    way: str | None = None,
) -> pd.DataFrame:
    """Return a measure of an experiment's runs: a row a seed, a column a value of its label."""
    # A campaign of which only some experiments were run lacks the others' columns.
    runs = runs.reindex(columns=list(dict.fromkeys([*runs, label, measure])))
    mine = runs[(runs["experiment"] == experiment) & ok(runs)]
    mine = mine if way is None else mine[mine["way"] == way]
    table = mine.pivot_table(index="seed", columns=label, values=measure)
    return table.reindex(columns=list(values))


def least(table: pd.DataFrame) -> pd.Series[Any]:
    """Return the column whose mean over the seeds is the least; NaN where one has no runs."""
    return _column(table, -1)


def most(table: pd.DataFrame) -> pd.Series[Any]:
    """Return the column whose mean over the seeds is the greatest; NaN where one has no runs."""
    return _column(table, 1)


def _column(table: pd.DataFrame, sign: int) -> pd.Series[Any]:
    means = table.mean()
    if means.isna().any() or means.empty:
        return pd.Series(math.nan, table.index)
    return table.iloc[:, int((sign * means.to_numpy()).argmax())]
