"""Tables of means: a row a case, with 95 % intervals, as numbers and as texts for a page."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from minitopo_dc import statistics
from minitopo_dc.numbers import with_reach
from minitopo_dc.results.tables.columns import (
    LEG_BYTES,
    MINOR,
    label_of,
    main_measure,
    measures_of,
    value_name,
)

MEASURES = 5
"""The most measures of a page's table."""
FIRST = ("completion_s", "capacity_share")
"""The measures that are beside the main one before all others."""


def mean_tables(runs: pd.DataFrame, labels: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the means of an experiment's cases, and the same as texts for a page.

    Of each measure there are `MEASURE`, `MEASURE_low`, `MEASURE_high` and, of the main one, `n`.
    The page's table has the first measures, each with the half of its 95 % interval.
    """
    main = main_measure(runs, labels)
    measures = sorted(measures_of(runs, labels), key=lambda name: (name != main, _weight(name)))
    cases = runs[list(labels)].drop_duplicates().reset_index(drop=True)
    numbers, shown = cases.copy(), cases.map(value_name)
    for name in measures:
        means = cases.merge(statistics.means(runs, labels, name), "left", list(labels))
        mean, low, high = means["mean"], means["low"], means["high"]
        if name == main:
            numbers["n"] = shown["n"] = means["n"].fillna(0).astype(int)
        numbers = numbers.assign(**{name: mean, f"{name}_low": low, f"{name}_high": high})
        if name in measures[:MEASURES]:
            label, unit = _head(name)
            shown[label] = list(map(with_reach, mean / unit, (high - mean) / unit))
    return numbers, shown


def _weight(name: str) -> int:
    """Return the place of a measure in a table: those of the workload before the legs' bytes."""
    if name in MINOR:
        return 3 * (name not in FIRST)
    return 2 if name.startswith(LEG_BYTES) else 1


def _head(name: str) -> tuple[str, float]:
    """Return the head of a measure's column, and its unit in those of the measure."""
    if name.startswith(LEG_BYTES):
        return f"leg {name.removeprefix(LEG_BYTES)} delivered (MB)", 1e6
    return label_of(name), 1
