"""Which rows of a comparison are set against each other, so that a reader gets few sentences.

Of one stack these are: the deployable Dual Connectivity (else the best row of it) and the best of
multipath; each way of ATSSS against both; the best row of another split and that of the papers'
split; the shortest and the longest t-Reordering of the best split; each row over several legs and
the better leg alone, for a warning. The better leg is that which was measured to be better, as
a trace's mean does not tell it: delay, losses and the order of fast and slow times count as well.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from minitopo_dc.results.measures.named import CRITERIA
from minitopo_dc.results.run_result import FINE
from minitopo_dc.results.tables.runs import scenario_fields
from minitopo_dc.results.tables.summary import columns_of, values_of
from minitopo_dc.workloads import Column

KINDS = {
    "sc": "one leg alone",
    "dc": "DC",
    "dc-duplicate": "DC",
    "atsss": "ATSSS",
    "multipath": "multipath",
}
"""What a mode is a kind of, in words."""
WARNED = ("dc", "atsss", "multipath")
"""The modes over several legs, which are to be no worse than one leg alone."""
ENDS = ("multipath", "sc")
"""The modes that Dual Connectivity is set against."""
PAPERS = "batch"
"""The papers' split, against which others are set."""
SPLIT, T_REORDERING = "pdcp.split", "pdcp.t_reordering_ms"
Rows = dict[str, pd.DataFrame]
"""The runs that are ok by the name of their row."""
Row = tuple[str, pd.DataFrame]
Score = Callable[[pd.DataFrame], float]
"""How good a row's runs are; more is better."""


class RowPair(NamedTuple):
    """Two rows that are set against each other, by the seeds of which both have a run."""

    stack: str
    first: str
    second: str
    """The names of the rows: `DC (ideal)`, `MP-QUIC`, `leg 2`."""
    runs: pd.DataFrame
    """A line a seed, with the columns of the first row as `NAME_x`, of the second as `NAME_y`."""
    warning: bool
    """Whether this is only of interest where the first is worse."""


def row_pairs(runs: pd.DataFrame, stacks: Mapping[str, str], score: Score) -> Iterator[RowPair]:
    """Yield the pairs of rows of each stack, in the order of their sentences.

    Where no stack has one it is the best Dual Connectivity and the best multipath, or the best two.

    Args:
        runs: runs that are ok and have the number that is compared (`results_table`).
        stacks: the stack of each transport; other transports are left out.
        score: how good the runs of a row are; more is better.
    """
    names = runs["transport"].map(lambda name: stacks.get(name, ""))
    chosen = [
        (str(stack), *rows)
        for stack, part in runs.groupby(names, sort=False)
        for rows in (_of_stack(part, score) if stack else ())
    ]
    for stack, first, second, warning in chosen or _best_two(runs, score):
        both = first[1].merge(second[1], on="seed")
        if len(both):
            yield RowPair(stack, first[0], second[0], both, warning)


def _best_two(runs: pd.DataFrame, score: Score) -> Iterator[tuple[str, Row, Row, bool]]:
    best = sorted(_rows(runs).items(), key=lambda row: score(row[1]), reverse=True)
    kinds: dict[str, Row] = {}
    for way, own in best:
        kinds.setdefault(KINDS.get(own["mode"].iloc[0], ""), (way, own))
    if {"DC", "multipath"} <= set(kinds):
        best = [kinds["DC"], kinds["multipath"]]
    if len(best) > 1 and not all(re.fullmatch(LEG, way) for way, _ in best[:2]):
        yield "", best[0], best[1], False


def _of_stack(runs: pd.DataFrame, score: Score) -> Iterator[tuple[Row, Row, bool]]:
    dual, several, alone = (_rows(runs[runs["mode"] == mode]) for mode in ("dc", *ENDS))
    deployable = {name: own for name, own in dual.items() if _can_be_deployed(name, own)}
    best = [_best(rows, score) for rows in (deployable or dual, several) if rows]
    if len(best) > 1:
        yield best[0], best[1], False
    steered = runs[runs["mode"] == "atsss"].groupby("transport", sort=False)
    for row in [_best(_rows(part), score) for _, part in steered]:
        yield from ((row, other, False) for other in best)
    for first, second in _of_splits(dual, score) if dual else ():
        yield first, second, False
    for row in _rows(runs[runs["mode"].isin(WARNED)]).items() if alone else ():
        yield row, _best(alone, score), True


def _can_be_deployed(way: str, runs: pd.DataFrame) -> bool:
    """Return whether a Dual Connectivity says so (`Scenario.dc_name`), or has flow control."""
    if "deployable" in way:
        return True
    fields = scenario_fields(Path(runs["directory"].iloc[0]))
    return any(path.startswith("pdcp.flow_control.") for path in fields)


def _rows(runs: pd.DataFrame) -> Rows:
    return {str(way): own for way, own in runs.groupby("way", sort=False)}


def _best(rows: Mapping[str, pd.DataFrame], score: Score) -> Row:
    return max(rows.items(), key=lambda row: score(row[1]))


def _of_splits(dual: Rows, score: Score) -> Iterator[tuple[Row, Row]]:
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
        # Those with the same t-Reordering, if there are any.
        value = _t_reordering(others[best][1])
        alike = {name: row for name, row in against.items() if _t_reordering(row) == value}
        yield others[best], _best(alike or against, score)
    of_best = by_split[str(_best(dual, score)[1][SPLIT].iloc[0])]
    values = {name: _t_reordering(runs) for name, runs in of_best.items()}
    known = sorted({value for value in values.values() if not math.isnan(value)})
    if len(known) > 1:
        first, second = (
            {name: runs for name, runs in of_best.items() if values[name] == end}
            for end in (known[0], known[-1])
        )
        yield _best(first, score), _best(second, score)


def _t_reordering(runs: pd.DataFrame) -> float:
    try:
        return float(runs[T_REORDERING].iloc[0])
    except (TypeError, ValueError):
        return math.nan


LEG = r"leg [0-9]+( \([\w-]+\))?"
"""The way over one leg where there is one for each leg."""


def better_legs(results: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the runs of each transport over its better leg alone, and the others in sentences.

    Better is the higher mean goodput; without a goodput what viewers or callers feel first, or the
    lower delay, or the shorter time. Only runs that are ok count; of equal legs the first is taken.
    A row with runs that failed is never left out.

    Args:
        results: runs of one comparison (`results_table`).
    """
    alone = results[(results["mode"] == "sc") & results["way"].str.fullmatch(LEG)]
    worse: list[int] = []
    sentences = []
    for transport in dict.fromkeys(alone["transport"]):
        runs = alone[alone["transport"] == transport]
        rows = _rows(runs)
        ok = {name: row[row["status"] == "ok"] for name, row in rows.items()}
        column, sign = _ranking(runs[runs["status"] == "ok"])
        means = {name: _mean(row, column.measure) for name, row in ok.items()}
        signed = {
            name: -math.inf if math.isnan(mean) else sign * mean for name, mean in means.items()
        }
        best = max(signed, key=signed.__getitem__)
        fine = [name for name, row in rows.items() if set(row["status"]) <= set(FINE)]
        others = [name for name in fine if name != best]
        worse += [place for name in others for place in rows[name].index]
        if others and len(ok[best]):
            numbers = {name: column.as_text(mean) for name, mean in means.items()}
            rest = ", ".join(f"{name} {numbers[name]}" for name in others)
            sentences.append(f"The better leg alone is {best}: {numbers[best]}; {rest}.")
    return results.drop(index=worse), sentences


def _mean(ok: pd.DataFrame, measure: str) -> float:
    return float(pd.Series(values_of(ok, measure), dtype="float64").mean())


def _ranking(ok: pd.DataFrame) -> tuple[Column, float]:
    """Return the number by which legs are ranked, and 1 where more of it is better, else -1."""
    columns = columns_of(ok) if len(ok) else ()
    known = [column for column in columns if any(pd.notna(values_of(ok, column.measure)))]
    felt = {criteria[0].measure: criteria[0] for criteria in CRITERIA.values()}
    for column in known:
        if column.measure in felt:
            return column, math.copysign(1, felt[column.measure].sign)
    delays = (column for column in known if column.measure.endswith("_ms"))
    return next(delays, Column("completion_s", "time\ns")), -1
