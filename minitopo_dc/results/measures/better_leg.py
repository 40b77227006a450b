"""The better leg alone: of rows over one leg each, that which was measured to be better.

A trace's mean does not tell it: delay, losses and the order of fast and slow times count as well.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import pandas as pd

from minitopo_dc.results.measures.verdict import PERCEIVED_MEASURES
from minitopo_dc.results.run_result import FINE
from minitopo_dc.results.tables.summary import columns_of, values_of
from minitopo_dc.workloads import Column

LEG = re.compile(r"leg [0-9]+")
"""The variant of a row over one leg where there is one for each leg."""


class BetterLegs(NamedTuple):
    """The runs of a comparison without those over worse legs, and what was left out in words."""

    runs: pd.DataFrame
    sentences: list[str]


class _Rank(NamedTuple):
    """The number by which legs are ranked."""

    column: Column
    higher_is_better: bool

    def mean(self, runs: pd.DataFrame) -> float:
        """Return the mean of runs that are ok; NaN where there are none."""
        return float(pd.Series(values_of(runs, self.column.measure), dtype="float64").mean())

    def goodness(self, runs: pd.DataFrame) -> float:
        """Return how good runs are; more is better."""
        mean = self.mean(runs)
        return -math.inf if math.isnan(mean) else mean if self.higher_is_better else -mean


def better_legs(results: pd.DataFrame) -> BetterLegs:
    """Return the runs to be shown: of each transport over one leg those of its better leg.

    Better is the higher mean goodput; without a goodput what viewers or callers feel first, or the
    lower delay, or the shorter time. Only runs that are ok count; of equal legs the first is taken.
    A row with runs that failed is never left out.

    Args:
        results: runs of one comparison (`load_results`).
    """
    alone = results[(results["mode"] == "sc") & results["variant"].map(_names_leg)]
    worse: list[int] = []
    sentences = []
    for transport in dict.fromkeys(alone["transport"]):
        runs = alone[alone["transport"] == transport]
        rows = {name: runs[runs["variant"] == name] for name in dict.fromkeys(runs["variant"])}
        ok = {name: row[row["status"] == "ok"] for name, row in rows.items()}
        rank = _rank(runs[runs["status"] == "ok"])
        best = max(rows, key=lambda name: rank.goodness(ok[name]))
        others = [name for name, row in rows.items() if name != best and _is_fine(row)]
        worse += [place for name in others for place in rows[name].index]
        if others and len(ok[best]):
            numbers = {name: rank.column.as_text(rank.mean(row)) for name, row in ok.items()}
            rest = ", ".join(f"{name} {numbers[name]}" for name in others)
            sentences.append(
                f"{transport} over one leg: {best} is the better one ({numbers[best]}; {rest})."
            )
    return BetterLegs(results.drop(index=worse), sentences)


def _is_fine(runs: pd.DataFrame) -> bool:
    """Return whether there is nothing to be told of runs, as none failed or was disturbed."""
    return set(runs["status"]) <= set(FINE)


def _names_leg(variant: str) -> bool:
    return LEG.fullmatch(variant) is not None


def _rank(ok: pd.DataFrame) -> _Rank:
    columns = columns_of(ok) if len(ok) else ()
    known = [column for column in columns if any(pd.notna(values_of(ok, column.measure)))]
    felt = {measures[0].name: measures[0] for measures in PERCEIVED_MEASURES.values()}
    for column in known:
        if column.measure == "goodput_mbps":
            return _Rank(column, higher_is_better=True)
        if column.measure in felt:
            return _Rank(column, felt[column.measure].higher_is_better)
    delays = (column for column in known if column.measure.endswith("_ms"))
    return _Rank(next(delays, Column("completion_s", "time\ns")), higher_is_better=False)
