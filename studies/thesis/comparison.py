"""Our runs beside the tables of the papers: errors, rows of the papers' items, figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from published import ITEMS, NEAR_PERCENT, TABLES, Item, Table
from scipy.stats import ttest_ind_from_stats

from minitopo_dc import plots
from minitopo_dc.statistics import CONFIDENCE, ok

COUNTED = ("published", "cells", "tested", "rejected")
TESTED = ["ours", "ours_sd", "runs", "theirs", "theirs_sd"]
THEIR_RUNS = 10
"""Of each cell (thesis, section 4.4)."""
COMPARED = ["curve", "x", "runs", "ours", "ours_sd", "theirs", "theirs_sd", "error_percent"]


def theirs(table: Table) -> pd.DataFrame:
    """Return the numbers of a table of the thesis: a row a cell."""
    rows = pd.read_csv(TABLES / table.file, dtype=str)
    for column, texts in table.where.items():
        rows = rows[rows[column].isin(texts)]
    x = rows[table.theirs]
    parts = [
        pd.DataFrame(
            {
                "curve": curve.name,
                "x": x if table.ours == "case" else x.astype(float),
                "theirs": rows[curve.mean].astype(float),
                "theirs_sd": rows[curve.sd].astype(float) if curve.sd else math.nan,
            }
        )
        for curve in table.curves
    ]
    return pd.concat(parts, ignore_index=True)


def values(runs: pd.DataFrame, item: Item) -> pd.DataFrame:
    """Return the numbers of an item's runs: a row for each run and curve."""
    assert item.table is not None
    names = [item.table.ours, *(curve.measure for curve in item.table.curves)]
    # A campaign of which only some experiments were run lacks the others' columns.
    runs = runs.reindex(columns=list(dict.fromkeys([*runs, *names])))
    mine = runs[runs["experiment"].isin(item.experiments) & ok(runs)]
    parts = [
        pd.DataFrame({"curve": curve.name, "x": of[item.table.ours], "value": of[curve.measure]})
        for curve in item.table.curves
        for of in [mine[mine["way"] == curve.way] if curve.way else mine]
    ]
    return pd.concat(parts, ignore_index=True).dropna(subset="value")


def compared(runs: pd.DataFrame, item: Item) -> pd.DataFrame:
    """Return a row for each cell that both have, with our error in per cent."""
    assert item.table is not None
    means = values(runs, item).groupby(["curve", "x"], sort=False)["value"]
    ours = means.agg(runs="count", ours="mean", ours_sd="std").reset_index()
    both = ours.merge(theirs(item.table), on=["curve", "x"])
    both["error_percent"] = 100 * (both["ours"] / both["theirs"] - 1)
    return both[COMPARED]


def item_row(runs: pd.DataFrame, item: Item) -> dict[str, Any]:
    """Return what the runs of an item's campaign say of it; NaN where it has no numbers."""
    row: dict[str, Any] = {"item": item.item, "shows": item.shows, "campaign": item.campaign}
    numbers: dict[str, float] = dict.fromkeys((*COUNTED, "within_5_percent"), 0)
    if item.table is None:
        numbers |= {"mean_error_percent": math.nan, "bias_percent": math.nan}
        return {**row, **numbers, "by_curve": "", "why": item.why}
    cells = compared(runs, item)
    error = cells["error_percent"].abs()
    by_curve = {str(name): part.mean() for name, part in error.groupby(cells["curve"], sort=False)}
    if item.scale != 1:
        by_curve[f"scaled by {item.scale:g}"] = scaled_error(cells, item.scale)
    return row | {
        "published": len(theirs(item.table)),
        "cells": len(cells),
        "within_5_percent": int((error <= NEAR_PERCENT).sum()),
        "mean_error_percent": float(error.mean()),
        "bias_percent": float(cells["error_percent"].mean()),
        **tested(cells),
        "by_curve": ", ".join(f"{name} {value:.3g}" for name, value in by_curve.items()),
        "why": item.why,
    }


def tested(cells: pd.DataFrame) -> dict[str, int]:
    """Return how many cells have deviations, and of how many Welch's test finds two means (5 %).

    One in twenty would be so by chance.
    """
    known = cells[(cells["ours_sd"] > 0) & (cells["theirs_sd"] > 0)]
    ours, ours_sd, runs, theirs, theirs_sd = known[TESTED].to_numpy(dtype=float).T
    test = ttest_ind_from_stats(
        ours, ours_sd, runs, theirs, theirs_sd, THEIR_RUNS, equal_var=False
    )  # fmt: skip
    rejected = np.asarray(test.pvalue) < 1 - CONFIDENCE
    return {"tested": len(known), "rejected": int(rejected.sum())}


def scaled_error(cells: pd.DataFrame, scale: float) -> float:
    """Return the mean error in per cent with the thesis' rates multiplied; an index stays out."""
    rates = cells[cells["theirs"] > 1]
    return float(100 * (rates["ours"] / (rates["theirs"] * scale) - 1).abs().mean())


def item_rows(runs: pd.DataFrame, items: Iterable[Item] = ITEMS) -> pd.DataFrame:
    """Return a row for each item of the papers.

    Args:
        runs: of all campaigns, told by the column `campaign`, such as `reference/runs.parquet`.
        items: those of the rows.
    """
    return pd.DataFrame([item_row(runs[runs["campaign"] == item.campaign], item) for item in items])


def sections(runs: pd.DataFrame, campaign: str) -> Iterator[tuple[str, Any]]:
    """Yield a campaign's items with numbers: their rows, then each with its figures and cells."""
    runs = runs.assign(campaign=campaign)
    items = [item for item in ITEMS if item.campaign == campaign and item.table is not None]
    yield "Beside the thesis' tables", item_rows(runs, items)
    for item in items:
        assert item.table is not None
        cells = compared(runs, item)
        if len(cells):
            drawn = figures(runs, item, cells) if item.table.ours != "case" else ()
            yield f"{item.item}: {item.shows}", [*drawn, cells]


def figures(runs: pd.DataFrame, item: Item, cells: pd.DataFrame) -> Iterator[Figure]:
    """Yield a figure for each unit: our means with their intervals, the thesis' as crosses."""
    assert item.table is not None
    looks = plots.looks(curve.name for curve in item.table.curves)
    shown = values(runs, item).rename(columns={"x": item.table.ours})
    for unit in dict.fromkeys(_unit(curve.measure) for curve in item.table.curves):
        names = [curve.name for curve in item.table.curves if _unit(curve.measure) == unit]
        ours = shown[shown["curve"].isin(names)]
        axes = plots.curves(ours, x=item.table.ours, by="curve", y="value", looks=looks)
        for name in names:
            of = cells[cells["curve"] == name]
            line: Any = {"color": looks[name].colour, "marker": "x", "linestyle": "", "alpha": 0.6}
            axes.errorbar(of["x"], of["theirs"], of["theirs_sd"].fillna(0), elinewidth=0.7, **line)
        axes.set_ylabel(f"{unit}; crosses: the thesis")
        figure = axes.get_figure(root=True)
        assert figure is not None
        yield figure


def _unit(measure: str) -> str:
    units = {"jain_index": "Jain's index", "rtt_ms": "round-trip time (ms)"}
    return next((name for end, name in units.items() if measure.endswith(end)), "Mbit/s")
