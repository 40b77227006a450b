"""Our runs beside the tables of the papers: errors, rows of the papers' items, figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from published import ITEMS, Item

from minitopo_dc import plots
from minitopo_dc.statistics import agreement, beside_published, ok

THEIR_RUNS = 10
"""Of each cell (thesis, section 4.4)."""


def theirs(item: Item) -> pd.DataFrame:
    """Return the numbers of a table of the thesis: a row a cell."""
    rows = item.rows()
    x = rows[item.theirs]
    parts = [
        pd.DataFrame(
            {
                "curve": curve.name,
                "x": x if item.ours == "case" else x.astype(float),
                "theirs": rows[curve.mean].astype(float),
                "theirs_sd": rows[curve.sd].astype(float) if curve.sd else math.nan,
            }
        )
        for curve in item.curves
    ]
    return pd.concat(parts, ignore_index=True)


def values(runs: pd.DataFrame, item: Item) -> pd.DataFrame:
    """Return the numbers of an item's runs: a row for each run and curve."""
    names = [item.ours, *(curve.measure for curve in item.curves)]
    # A campaign of which only some experiments were run lacks the others' columns.
    runs = runs.reindex(columns=list(dict.fromkeys([*runs, *names])))
    mine = runs[(runs["experiment"] == item.experiment) & ok(runs)]
    parts = [
        pd.DataFrame({"curve": curve.name, "x": of[item.ours], "value": of[curve.measure]})
        for curve in item.curves
        for of in [mine[mine["way"] == curve.way] if curve.way else mine]
    ]
    return pd.concat(parts, ignore_index=True).dropna(subset="value")


def compared(runs: pd.DataFrame, item: Item) -> pd.DataFrame:
    """Return a row for each cell that both have, with our error and its test."""
    means = values(runs, item).groupby(["curve", "x"], sort=False)["value"]
    ours = means.agg(runs="count", ours="mean", ours_sd="std").reset_index()
    both = ours.merge(theirs(item), on=["curve", "x"])
    return beside_published(both.assign(their_runs=THEIR_RUNS))


def cells(runs: pd.DataFrame, items: Iterable[Item] = ITEMS) -> pd.DataFrame:
    """Return a row for each number of the papers that runs have, by item.

    Args:
        runs: of all campaigns, which the column `campaign` tells apart, such as
            `reference/runs.parquet`.
        items: those of the rows.
    """
    parts = [
        compared(runs[runs["campaign"] == item.campaign], item).assign(
            item=item.item, shows=item.shows, why=item.why
        )
        for item in items
    ]
    return pd.concat(parts, ignore_index=True)


def sections(runs: pd.DataFrame, campaign: str) -> Iterator[tuple[str, Any]]:
    """Yield a campaign's items with numbers: their rows, then each with its figures and cells."""
    runs = runs.assign(campaign=campaign)
    items = [item for item in ITEMS if item.campaign == campaign]
    yield "Beside the thesis' tables", agreement(cells(runs, items), ["item", "shows", "why"])
    for item in items:
        mine = compared(runs, item)
        if len(mine):
            drawn = figures(runs, item, mine) if item.ours != "case" else ()
            yield f"{item.item}: {item.shows}", [*drawn, mine]


def figures(runs: pd.DataFrame, item: Item, cells: pd.DataFrame) -> Iterator[Figure]:
    """Yield a figure for each unit: our means with their intervals, the thesis' as crosses."""
    looks = plots.looks(curve.name for curve in item.curves)
    shown = values(runs, item).rename(columns={"x": item.ours})
    for unit in dict.fromkeys(_unit(curve.measure) for curve in item.curves):
        names = [curve.name for curve in item.curves if _unit(curve.measure) == unit]
        ours = shown[shown["curve"].isin(names)]
        axes = plots.curves(ours, x=item.ours, by="curve", y="value", looks=looks)
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
