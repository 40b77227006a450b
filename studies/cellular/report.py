"""The report: claims, tables 4 and 5 beside ours, and what the open choices matter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from judged import OPEN, of_dual_connectivity, of_environment, of_figure_6

import minitopo_dc as dc
from minitopo_dc import claims, plots
from minitopo_dc.statistics import agreement, beside_published

Section = tuple[str, Any]
REFERENCE = Path(__file__).with_name("reference")
TABLES = {
    "residential": ("Table 4", "mpquic_cellular_table_4_residential.csv"),
    "road": ("Table 5", "mpquic_cellular_table_5_road.csv"),
}
THEIRS = {
    "NewReno": "reno",
    "CUBIC": "cubic",
    "FAST": "fast",
    "BBRv1": "bbr",
}
"""The paper's names of congestion controls; its BBR is compared with picoquic's bbr1."""
MEASURES = ("goodput", "completion", "mp_capacity", "sp_capacity")
"""What the paper gives a mean and a standard deviation of."""
STARTS = 18
"""Of each row of the paper (section 4)."""
CHANGED = {
    "one-change": "One change at a time, all cases, residential",
    "sensitivity-1": "What the open choices matter, case 1",
    "sensitivity-2": "What the open choices matter, case 2",
    "given-up-paths": "Paths that are given up as picoquic of 2022 did it",
    "returns-without": "Many returns to links that went down, without one of their conditions",
}
AGAIN = {f"losses-and-delay-{place}": place for place in TABLES} | {
    f"returns-{place}": place for place in TABLES
}
"""Experiments that have another set-up, and are compared with the same tables."""


def report(runs: pd.DataFrame) -> Iterator[Section]:
    """Yield the claims, the paper's tables and ours, and means of what was changed."""
    ran = set(runs["experiment"])
    for place, (name, _) in TABLES.items():
        if place in ran or runs.empty:
            mine = part(runs, place, *OPEN)
            yield f"Claims, {place}", claims.table(of_environment(mine))
            yield from beside(mine, place, f"{name}, {place}")
            yield from shares(mine, place)
    if "figure-6" in ran:
        yield "Claims, figure 6", claims.table(of_figure_6(part(runs, "figure-6", "mp_share")))
    for place in TABLES:
        mine = part(runs, f"dc-{place}")
        if len(mine):
            yield f"Claims, Dual Connectivity, {place}", claims.table(of_dual_connectivity(mine))
            yield f"Dual Connectivity beside MP-QUIC, {place} (Mbit/s)", by_case(mine, ["way"])
            yield f"Dual Connectivity, {place}", plots.bars(mine, "case", "way").figure
    for name, place in AGAIN.items():
        if name in ran:
            yield from beside(part(runs, name), place, name)
    for name, title in CHANGED.items():
        if name in ran:
            yield f"{title} (Mbit/s)", by_case(part(runs, name), ["change", "way"])
    yield from over_time(runs)


def part(runs: pd.DataFrame, experiment: str, *names: str) -> pd.DataFrame:
    """Return the runs of an experiment with measures, read from their files where need be."""
    mine = runs[runs["experiment"] == experiment]
    lacking = [name for name in names if name not in mine]
    return dc.results.with_measures(mine, *lacking) if lacking else mine


def published(place: str) -> pd.DataFrame:
    """Return the paper's table of an environment, its congestion controls by our names of ways."""
    theirs = pd.read_csv(REFERENCE / TABLES[place][1])
    ways = {short: f"MP-QUIC, {name}" for name, short in THEIRS.items()}
    ways |= {"mptcp": "MPTCP", "cubic-rfc": "CUBIC of RFC 9438"}
    return theirs.assign(way=theirs["cc"].map(ways), case=theirs["case"].astype(str))


def compared(runs: pd.DataFrame, place: str, title: str) -> pd.DataFrame:
    """Return a row for each number of a table: ours beside theirs, by way (`curve`) and case."""
    theirs = published(place)
    mine = runs.assign(way=runs["way"].replace("CUBIC of RFC 9438", "MP-QUIC, CUBIC"))
    groups = mine[mine["status"] == "ok"].groupby(["way", "case"], sort=False)
    parts = []
    for name in MEASURES:
        unit = "s" if name == "completion" else "mbps"
        if (measure := f"{name}_{unit}") in runs:
            columns = {measure: "theirs", f"{name}_sd": "theirs_sd"}
            ours = groups[measure].agg(ours="mean", ours_sd="std", runs="count").reset_index()
            both = ours.merge(theirs[["way", "case", *columns]].rename(columns=columns))
            parts.append(both.assign(item=f"{title}: {measure}", their_runs=STARTS))
    known = pd.concat(parts, ignore_index=True).dropna(subset="ours")
    return beside_published(known.rename(columns={"way": "curve", "case": "x"}))


def cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each number of tables 2 to 5, of 4 and 5 under each set-up that was run.

    Those of tables 2 and 3 are what `fit.py` prints of drives, which take a minute.
    """
    drives = pd.read_csv(REFERENCE / "drive_statistics.csv")
    nothing: dict[str, Any] = {
        "set_up": "",
        "ours_sd": math.nan,
        "theirs_sd": math.nan,
        "runs": 1,
        "their_runs": 1,
    }
    titles = {place: f"{name}, {place}" for place, (name, _) in TABLES.items()}
    places = dict.fromkeys(TABLES, "") | {name: f", {name}" for name in AGAIN}
    parts = [
        compared(
            part(runs, name), AGAIN.get(name, name), titles[AGAIN.get(name, name)] + set_up
        ).assign(set_up=set_up)
        for name, set_up in places.items()
    ]
    return pd.concat([beside_published(drives.assign(**nothing)), *parts], ignore_index=True)


def beside(runs: pd.DataFrame, place: str, title: str) -> Iterator[Section]:
    """Yield how near we are to the paper's table, and its numbers beside ours."""
    table = compared(runs, place, title)
    if len(table):
        yield f"{title}: how near", agreement(table, ["item"])
        yield f"{title}: cells", table


def shares(runs: pd.DataFrame, place: str) -> Iterator[Section]:
    """Yield the goodput of each case, and its shares of what the links could carry."""
    if len(runs):
        yield f"Goodput, {place}", plots.bars(runs, "case", "way").figure
        yield f"Shares of all open links' capacity, {place}", by_case(runs, ["way"], "mp_share")


def by_case(runs: pd.DataFrame, rows: list[str], measure: str = "goodput_mbps") -> pd.DataFrame:
    """Return means over starts, of runs that are ok, with a column for each case."""
    known = runs[runs["status"] == "ok"]
    return known.pivot_table(index=rows, columns="case", values=measure, sort=False).rename(
        columns="case {}".format
    )


def over_time(runs: pd.DataFrame) -> Iterator[Section]:
    """Yield goodput per path over time (figures 6 and 7), where the runs' files are there."""
    place = Path(runs.attrs.get("directory", ""))
    for name in ("figure-6", "figure-7"):
        mine = runs[(runs["experiment"] == name) & (runs["status"] == "ok")]
        there = [row for row in mine.itertuples() if (place / str(row.run)).is_dir()]
        if there:
            directories = [place / str(row.run) for row in there]
            drawn = plots.timeline(*directories, names=[str(row.way) for row in there])
            yield name, drawn.flat[0].figure
