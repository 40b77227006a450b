"""Figures as a journal prints them, from tables of runs and from the directories of runs.

    axes = plots.curves(runs, x="delay_ms", by="way")   # Matplotlib axes, to be changed as usual
    axes.figure.savefig("delay.pdf")

All take plain DataFrames, a row a run, and return Matplotlib axes. One order everywhere (one leg,
DC, multipath), one colour a way in all figures, no colour needed to read them.
"""

from __future__ import annotations

from minitopo_dc.plots.labels import (
    ColumnError,
    check_columns,
    is_better_low,
    label_of,
    main_measure,
    name_and_unit,
)
from minitopo_dc.plots.over_time import drive, legs, series, session, timeline
from minitopo_dc.plots.tables import bars, cdf, comparison, curves
from minitopo_dc.plots.tables import factor_map as map
from minitopo_dc.plots.theme import Look, looks, ordered, save, style

__all__ = [
    "ColumnError",
    "Look",
    "bars",
    "cdf",
    "check_columns",
    "comparison",
    "curves",
    "drive",
    "is_better_low",
    "label_of",
    "legs",
    "looks",
    "main_measure",
    "map",
    "name_and_unit",
    "ordered",
    "save",
    "series",
    "session",
    "style",
    "timeline",
]
