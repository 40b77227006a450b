"""Which rows of a comparison are set against each other, so that a reader gets few sentences.

Of one stack these are: the best row of Dual Connectivity and the best of multipath; the best row
of another split and that of the papers' split; the shortest and the longest t-Reordering of the
best split; each row of Dual Connectivity and the better leg alone, for a warning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from minitopo_dc.results.tables.runs import SPLIT

WORDS = {"dc": "DC", "multipath": "multipath", "sc": "one leg alone"}
TRANSPORTS = {"mpquic": "MP-QUIC", "mpquic-picoquic": "MP-QUIC", "mptcp": "MPTCP"}
"""The names of the transports that are multipath by themselves."""
MULTIPATH = {WORDS["multipath"], *TRANSPORTS.values()}
PAPERS = "batch"
"""The papers' split, against which others are set."""
T_REORDERING = "pdcp.t_reordering_ms"
Rows = dict[str, pd.DataFrame]
"""The runs that are ok by the name of their row."""
Row = tuple[str, pd.DataFrame]
Score = Callable[[pd.DataFrame], float]
"""How good a row's runs are; more is better."""


class Pair(NamedTuple):
    """Two rows that are set against each other."""

    first: Row
    second: Row
    warning: bool = False
    """Whether this is only of interest where the first is worse."""


def pairs(runs: pd.DataFrame, score: Score) -> Iterator[Pair]:
    """Yield the pairs of rows of one stack, in the order of their sentences.

    Args:
        runs: runs of one stack that are ok and have the number that is compared (`load_results`).
        score: how good the runs of a row are; more is better.
    """
    dual, several, alone = (_rows(runs[runs["mode"] == mode], mode) for mode in WORDS)
    if dual and several:
        yield Pair(_best(dual, score), _best(several, score))
    if dual:
        yield from _of_splits(dual, score)
    for row in dual.items() if alone else ():
        yield Pair(row, _best(alone, score), warning=True)


def _rows(runs: pd.DataFrame, mode: str) -> Rows:
    transports = set(runs["transport"]) if mode == "multipath" else set()
    name = TRANSPORTS.get(transports.pop(), WORDS[mode]) if len(transports) == 1 else WORDS[mode]
    return {
        f"{name} ({variant})" if variant else name: runs[runs["variant"] == variant]
        for variant in runs["variant"].unique()
    }


def _best(rows: Mapping[str, pd.DataFrame], score: Score) -> Row:
    return max(rows.items(), key=lambda row: score(row[1]))


def _of_splits(dual: Rows, score: Score) -> Iterator[Pair]:
    """Yield the pair of two splits and that of two values of t-Reordering, where there are two."""
    by_split: dict[str, Rows] = {}
    for name, runs in dual.items():
        by_split.setdefault(str(runs[SPLIT].iloc[0]), {})[name] = runs
    others = {split: _best(rows, score) for split, rows in by_split.items() if split != PAPERS}
    if len(by_split) > 1:
        best = max(others, key=lambda split: score(others[split][1]))
        against = by_split.get(PAPERS) or dict(
            row for split, row in others.items() if split != best
        )
        yield Pair(others[best], _best(_with_the_same(others[best][1], against), score))
    of_best = by_split[str(_best(dual, score)[1][SPLIT].iloc[0])]
    values = {name: _t_reordering(runs) for name, runs in of_best.items()}
    known = sorted({value for value in values.values() if not math.isnan(value)})
    if len(known) > 1:
        first, second = (
            {name: runs for name, runs in of_best.items() if values[name] == end}
            for end in (known[0], known[-1])
        )
        yield Pair(_best(first, score), _best(second, score))


def _with_the_same(runs: pd.DataFrame, rows: Rows) -> Rows:
    """Return the rows with the t-Reordering of these runs; all, where none has it."""
    wanted = _t_reordering(runs)
    return {name: each for name, each in rows.items() if _t_reordering(each) == wanted} or rows


def _t_reordering(runs: pd.DataFrame) -> float:
    """Return a row's t-Reordering in ms, which may be infinite; NaN: adaptive, or not known."""
    try:
        return float(runs[T_REORDERING].iloc[0])
    except (TypeError, ValueError):
        return math.nan
