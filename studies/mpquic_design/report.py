"""The slides' claims, judged, and the benefit of several paths at the authors' points."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import ranges

import minitopo_dc as dc
from minitopo_dc import claims, plots
from minitopo_dc.claims import Claim, Known, Points
from minitopo_dc.statistics import beside_published

Section = tuple[str, Any]
REFERENCE = Path(__file__).with_name("reference")
SAID = claims.statements(REFERENCE / "claims.csv")
MULTIPATH = {"QUIC": "MP-QUIC", "TCP": "MPTCP"}
BENEFITS = [f"{family} {order} first" for family in MULTIPATH for order in ("better", "worse")]
TITLES = {
    "low-bdp": "20 MB, low bandwidth-delay product",
    "low-bdp-losses": "20 MB, low bandwidth-delay product, random losses",
    "high-bdp": "20 MB, high bandwidth-delay product",
    "high-bdp-losses": "20 MB, high bandwidth-delay product, random losses",
    "short": "256 KB, low bandwidth-delay product",
}
WORST = "answer_worst_ms"
FROM_S = 4
CARRIED, SENT = (f"leg_2_{what}_from_{FROM_S}_s" for what in ("carried", "sent"))
"""Shares of a connection's bytes that path 2 carried, and was sent, from a second after the
handover on."""
CLAIMED = {
    **{f"{way}, worst": (WORST, way) for way in
       ("MP-QUIC", "DC least-delay", "DC least-delay, failure", "DC duplicate")},
    **{f"{way}, sent": (SENT, way) for way in ("MP-QUIC", "MPTCP")},
}  # fmt: skip
"""Of the handover: measure and way by claim."""


@dc.run_measures(CARRIED, SENT)
def shares(run: Path) -> dict[str, float]:
    """Return both shares of a run by its legs' counters; NaN where nothing was counted."""
    series = dc.results.leg_series(run)
    before = series[series["time_s"] <= FROM_S].groupby("leg")
    found = {}
    for name, column in ((CARRIED, "delivered_bytes"), (SENT, "pushed_bytes")):
        counted = series.groupby("leg")[column].max().sub(before[column].max(), fill_value=0)
        total = float(counted.sum())
        found[name] = float(counted.get(2, 0)) / total if total else math.nan
    return found


def report(runs: pd.DataFrame) -> Iterator[Section]:
    """Yield claims, benefits and times of each class, and what a handover costs."""
    classes = {name: runs[runs["experiment"] == name] for name in TITLES}
    benefits = {name: benefit_points(part) for name, part in classes.items() if len(part)}
    times = {name: time_points(part) for name, part in classes.items() if len(part)}
    named = runs[runs["experiment"].isin(["example", "named"])]
    judged = [*network_claims(benefits, times), *(named_claims(named) if len(named) else ())]
    yield "Claims of the slides", claims.table(judged)
    if benefits:
        note = "Median and quartiles over networks."
        yield "Benefit of several paths", [note, benefit_table(benefits)]
        yield "Times of TCP over those of QUIC", time_table(times)
    for name, points in benefits.items():
        tidy = points.whole[BENEFITS].melt(var_name="way", value_name="benefit")
        yield f"Benefit: {TITLES[name]}", plots.cdf(tidy, "benefit", "way", level=0).figure
    if len(named):
        across: Any = {"index": "network", "columns": "way", "aggfunc": "median"}
        yield "Networks that the slides name", named.pivot_table(values="completion_s", **across)
    asked = runs[runs["experiment"] == "handover"]
    if len(asked):
        yield from handover(asked)
    yield from ranges.report(runs)


def benefit(multipath: Any, first: Any, second: Any) -> Any:
    """Return the experimental aggregation benefit of goodput over two paths (CoNEXT 2017).

    Args:
        multipath: goodput over both, a number or a column.
        first: over one of them alone, in the same unit.
        second: over the other one alone.

    Returns:
        -1: nothing was delivered; 0: as much as over the better path; 1: as much as over both
        together, which can be exceeded.
    """
    best, rest = np.maximum(first, second), np.minimum(first, second)
    return (multipath - best) / np.where(multipath < best, best, rest)


def benefit_points(runs: pd.DataFrame) -> Points:
    """Return the benefits of each network, of QUIC and of TCP."""
    return claims.points(runs, ["point"], "way", "goodput_mbps", benefits_of)


def benefits_of(mbps: Known) -> dict[str, Any]:
    """Return the benefit with the better or the worse path first, and the least of both."""
    made: dict[str, Any] = {}
    for family, several in MULTIPATH.items():
        alone = mbps[f"{family} on path 1"], mbps[f"{family} on path 2"]
        one, two = (benefit(mbps[f"{several}, path {n} first"], *alone) for n in (1, 2))
        first_is_better = alone[0] >= alone[1]
        made[f"{family} better first"] = one.where(first_is_better, two)
        made[f"{family} worse first"] = two.where(first_is_better, one)
        made[f"{family} always"] = np.minimum(one, two)
    return made


def time_points(runs: pd.DataFrame) -> Points:
    """Return how often QUIC's time TCP takes at each network."""
    sides = {f"path {n}": (f"TCP on path {n}", f"QUIC on path {n}") for n in (1, 2)} | {
        f"from path {n}": (f"MPTCP, path {n} first", f"MP-QUIC, path {n} first") for n in (1, 2)
    }
    return claims.points(
        runs, ["point"], "way", "completion_s",
        lambda seconds: {name: seconds[tcp] / seconds[quic] for name, (tcp, quic) in sides.items()},
    )  # fmt: skip


def network_claims(benefits: dict[str, Points], times: dict[str, Points]) -> Iterator[Claim]:
    """Yield the claims about the classes of networks that were run."""
    better, worse, always = (f"QUIC {which}" for which in ("better first", "worse first", "always"))

    def apart(one: Any, two: Any) -> Any:
        return np.median(one) - np.median(two)

    def more_often(quic: Any, tcp: Any) -> Any:
        return np.mean(quic >= 0) - np.mean(tcp >= 0)

    for name, points in benefits.items():
        yield SAID[f"{name}/first"].number(apart, points, better, worse)
        if name in ("low-bdp", "high-bdp"):
            yield SAID[f"{name}/pays"].share(lambda least: least >= 0, points, always)
        if name == "short":
            yield SAID["short/useless"].number(np.median, points, better)
        if name in ("low-bdp", "low-bdp-losses", "high-bdp"):
            yield SAID[f"{name}/more"].number(more_often, points, always, "TCP always")
        yield from time_claims(name, times[name])


def time_claims(name: str, points: Points) -> Iterator[Claim]:
    """Yield the claims about times of a class of networks."""

    def middle(one: Any, two: Any) -> float:
        return float(np.median(one) + np.median(two)) / 2

    def faster(one: Any, two: Any) -> Any:
        return (np.mean(one > 1) + np.mean(two > 1)) / 2

    alone, several = ("path 1", "path 2"), ("from path 1", "from path 2")
    if name == "low-bdp":
        yield SAID["low-bdp/85"].number(faster, points, *several)
    if name.endswith("-losses"):
        yield SAID[f"{name}/several"].number(middle, points, *several)
    if name in ("low-bdp", "low-bdp-losses", "short"):
        yield SAID[f"{name}/alone"].number(middle, points, *alone)


def named_claims(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about networks that the slides name."""

    def ratio(seconds: Known) -> dict[str, Any]:
        return {"ratio": seconds["MPTCP, path 1 first"] / seconds["MP-QUIC, path 1 first"]}

    example, named = (
        claims.points(runs[runs["experiment"] == name], ["network"], "way", "completion_s", ratio)
        for name in ("example", "named")
    )
    yield SAID["example"].number(np.mean, example, "ratio")
    yield SAID["named"].every(named, "ratio")


def cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the two numbers that the slides have of transports, beside ours, in percent."""
    classes = {name: time_points(part) for name, part in runs.groupby("experiment")}
    times = classes["low-bdp"].whole[["from path 1", "from path 2"]].melt()["value"].dropna()
    faster, example = 100 * (times > 1), runs[runs["experiment"] == "example"]
    seconds = example.pivot_table(index="seed", columns="way", values="completion_s")
    more = 100 * (seconds["MPTCP, path 1 first"] / seconds["MP-QUIC, path 1 first"] - 1)
    ours = pd.DataFrame(
        [(values.mean(), values.std(), len(values)) for values in (faster, more)],
        columns=["ours", "ours_sd", "runs"],
    )
    share = 0.85
    return beside_published(
        ours.assign(
            item=["Large files without loss", "Example of two networks"],
            curve=["MP-QUIC is faster than MPTCP (% of cases)", "MP-QUIC is faster (%)"],
            x=["low-bdp", "20 and 15 Mbit/s"],
            theirs=[100 * share, 13],
            theirs_sd=[100 * (share * (1 - share)) ** 0.5, math.nan],
            their_runs=len(faster),
        )
    )


def quartiles(values: pd.Series[float]) -> str:
    """Return median and quartiles in words."""
    low, middle, high = values.quantile([0.25, 0.5, 0.75]).round(2) + 0.0  # no -0.00
    return "" if values.isna().all() else f"{middle:.2f} ({low:.2f} to {high:.2f})"


def benefit_table(benefits: dict[str, Points]) -> pd.DataFrame:
    """Return the benefit of each class, and the share of its networks at which paths pay."""
    rows = []
    for name, points in benefits.items():
        for family, several in MULTIPATH.items():
            names = [f"{family} {which}" for which in ("better first", "worse first", "always")]
            known = points.known(*names)
            if len(known):
                pays = Claim("").share(lambda least: least >= 0, points, names[2])
                middles = [quartiles(known[which]) for which in names[:2]]
                of = [TITLES[name], f"{several} over {family}", len(known)]
                rows.append([*of, *middles, pays.effect])
    columns = ["networks", "of", "points", "better path first", "worse path first", "they pay"]
    return pd.DataFrame(rows, columns=columns)


def time_table(times: dict[str, Points]) -> pd.DataFrame:
    """Return quantiles of the ratios of times, of both paths together."""
    rows = {}
    for name, points in times.items():
        for text, columns in {
            "TCP over QUIC on one path": ["path 1", "path 2"],
            "MPTCP over MP-QUIC": ["from path 1", "from path 2"],
        }.items():
            values = pd.concat([points.whole[column] for column in columns]).dropna()
            if len(values):
                rows[f"{TITLES[name]}: {text}"] = values.quantile([0.05, 0.25, 0.5, 0.75, 0.95])
    return pd.DataFrame(rows).T.rename(columns="{:.0%}".format).rename_axis("times")


def handover(runs: pd.DataFrame) -> Iterator[Section]:
    """Yield the worst answer while path 1 ends, and what path 2 has a second later."""
    if not {WORST, CARRIED, SENT} <= set(runs):
        runs = dc.results.with_measures(runs, WORST, CARRIED, SENT)

    def numbers(known: Known) -> dict[str, Any]:
        return {name: known[measure, way] for name, (measure, way) in CLAIMED.items()}

    points = claims.points(runs, ["path_1"], "way", [WORST, SENT], numbers)
    judged = (SAID[name].every(points, name) for name in CLAIMED)
    yield "Claims on handover", claims.table(judged)
    table = runs.groupby(["path_1", "way"], sort=False)[[WORST, SENT, CARRIED]]
    yield "Handover: the worst answer (ms), and the shares of path 2 from 4 s on", table.median()
    yield "Handover", plots.bars(runs, "path_1", "way", WORST).figure
