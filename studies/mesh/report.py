"""The report: claims, the study's tables beside ours, connections over time, and trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import features  # noqa: F401 (its measures are asked for by name, as those of limits)
import limits  # noqa: F401
import pandas as pd
from behaviour import STATES, of_aggregation, of_behaviour, of_fairness, of_reordering, of_states
from judged import (
    of_gains,
    of_knobs,
    of_losses,
    of_path,
    of_queues,
    of_slow_start,
    of_spread,
    of_stress,
    of_tcp,
    part,
)
from trees import trees

from minitopo_dc import claims, plots
from minitopo_dc.claims import Claim
from minitopo_dc.statistics import agreement, beside_published, ok

REFERENCE = Path(__file__).with_name("reference")
Section = tuple[str, Any]
JUDGED: dict[str, Callable[[pd.DataFrame], Iterator[Claim]]] = {
    "Seven clients: BQUIC's gains": of_gains,
    "Seven clients: TCP beside QUIC": of_tcp,
    "Loss and delay of the clients": of_path,
    "Loss and delay against the queues of the hops": of_queues,
    "Early exits from slow start and false losses, RP3": of_behaviour,
    "False losses against reordering, RP3": of_reordering,
    "Shares of time in QUIC's states": of_states,
    "Frame aggregation, RP6": of_aggregation,
    "A busy client": of_stress,
    "Which knob matters": of_knobs,
    "Loss of TCP and QUIC against the queues": of_losses,
    "What keeps TCP from its fitted throughput": of_slow_start,
    "Spread of the throughput of RP3": of_spread,
    "QUIC beside TCP on one leg": of_fairness,
}


CONNECTIONS, STUDENT_95 = 200, 1.97
"""Of each client (section 4.1), and the factor of their confidence interval (Student's)."""
TABLES = pd.read_csv(REFERENCE / "tables.csv")
"""The study's tables: a row a column of theirs, with our experiment, way and measure.

`across` is the label that tells our ways apart, and a measure times `scale` has their unit. Their
95 % intervals are in columns with `ci95` in place of the unit.
"""
FLOWS = ("flow_1_goodput_mbps", "flow_2_goodput_mbps", "jain_index")
OVER_TIME = ("figure-9", "figure-10", "figure-10a")


def report(runs: pd.DataFrame) -> Iterator[Section]:
    """Yield the claims of each experiment, the study's tables, figures and trees."""
    # Runs of some experiments only lack the columns of two flows.
    runs = runs.reindex(columns=list(dict.fromkeys([*runs, *FLOWS])))
    for title, judge in JUDGED.items():
        found = claims.table(judge(runs))
        if (found["verdict"] != "not run").any():
            yield f"Claims: {title}", found
    yield from tables(runs)
    yield from figures(runs)
    yield from trees(part(runs, "trees"), "QUIC")
    yield from trees(part(runs, "trees-tcp"), "TCP")


def tables(runs: pd.DataFrame) -> Iterator[Section]:
    """Yield how near the study's tables are, and each number beside ours."""
    known = cells(runs)
    if len(known):
        yield "The study's tables and ours", agreement(known, ["item"])
        yield from ((str(name), table) for name, table in known.groupby("item", sort=False))


def cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each number of the study's tables that runs have."""
    tables = TABLES.groupby("item", sort=False)
    parts = [beside(runs, table).assign(item=item) for item, table in tables]
    return pd.concat(parts, ignore_index=True)


def beside(runs: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return our means beside the study's numbers, by way (`curve`) and client (`x`)."""
    of: Any = table.iloc[0]
    key = [of.row, of.across]
    theirs = pd.read_csv(REFERENCE / of.file)
    parts = []
    for way, name in zip(table["way"], table["column"], strict=True):
        interval = theirs.get(name[: name.rindex("_")] + "_ci95", math.nan)
        sd = interval * CONNECTIONS**0.5 / STUDENT_95
        column = {of.row: theirs[of.row], of.across: way, "theirs": theirs[name], "theirs_sd": sd}
        parts.append(pd.DataFrame(column))
    mine = part(runs, of.experiment, of.measure)
    if of.row == "transport":
        mine = mine.assign(transport=mine["way"])
    groups = (mine[ok(mine)].set_index(key)[of.measure] * of.scale).groupby(level=key)
    ours = groups.agg(ours="mean", ours_sd="std", runs="count").reset_index()
    both = ours.merge(pd.concat(parts), on=key).assign(their_runs=CONNECTIONS)
    return beside_published(both.rename(columns={of.row: "x", of.across: "curve"}))


def figures(runs: pd.DataFrame) -> Iterator[Section]:
    """Yield the figures of the study that are no tables."""
    clients = part(runs, "clients", "throughput_mbps")
    if len(clients):
        yield (
            "Throughput of the clients",
            plots.bars(clients, "client", "way", "throughput_mbps").figure,
        )
    spread = part(runs, "spread", "throughput_mbps")
    if len(spread):
        yield "Spread of the throughput of RP3", plots.cdf(spread, "throughput_mbps", "way").figure
    states = part(runs, "states", *STATES)
    if len(states):
        yield (
            "States of connections",
            [plots.bars(states, "client", "way", state).figure for state in STATES],
        )
    for name in OVER_TIME:
        yield from connections(runs[runs["experiment"] == name])


def connections(runs: pd.DataFrame) -> Iterator[Section]:
    """Yield an experiment's connections over time, where their files are there."""
    place = Path(runs.attrs.get("directory", ""))
    there = [(place / str(row.run)).is_dir() and row.status == "ok" for row in runs.itertuples()]
    known = runs[there]
    if len(known):
        drawn = plots.timeline(*(place / run for run in known["run"]), names=list(known["way"]))
        yield f"Connections over time: {known['experiment'].iloc[0]}", drawn.flat[0].figure
