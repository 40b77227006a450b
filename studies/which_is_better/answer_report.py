"""The tables and the figure of `answer.py`: shares, what decides, and Sobol indices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from answer_networks import CARRIERS, DUAL, LIA, PAIR, RADIO, STACKS, TRANSPORT
from matplotlib.figure import Figure
from numpy.typing import NDArray
from ratios import DELAY_MARGIN, LEAST, MARGIN, Ratios, by_way, mean, of, same_and_opposite, shares
from scipy.stats import sobol_indices
from ways import ALONE

from minitopo_dc import plots
from minitopo_dc.plots import theme
from minitopo_dc.statistics import SEED, bootstrap_interval, mean_interval, signs

BETTER = {"DC better": "DC", "multipath better": "MP-QUIC"}
"""The way whose colour an outcome has."""
MEASURES = {
    "upload": "goodput_mbps",
    "requests": "delay_p95_ms",
    "call": "frame_delay_p95_ms",
    "video": "bitrate_mbps",
    "under load": "loaded_p95_ms",
}
"""Of each workload, what the user feels first."""
EXPERIMENTS = {"assumption": "radio", "partners": "radio", "isolated": "losses"}
"""The population of which an experiment changes assumptions."""
CUT = 2.0
"""Of ratios in Sobol indices: beyond a factor of two either way they count as that, so that a few
networks do not have most of the variance (protocol.md, deviations)."""
FACTORS = (
    *("load_1", "load_2", "server_ms", "xn_ms", "queue_1_ms", "queue_2_ms", "size_mb"),
    *("total_mbps", "share", "delay_sum_ms", "delay_ratio", "loss_1_percent", "loss_2_percent"),
)
"""Of either population, that a rule may have."""
FLOW = re.compile(r"flow_([2-9]|\d\d+)_goodput_mbps")
"""Of the connections beside the one that is measured."""
HOLD_OUT_SEED = 20261129
"""Of the half at which a rule is judged (protocol.md)."""


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the headline of each population, what decides, and other workloads."""
    ran = set(runs["experiment"])
    for population in ("radio", "losses"):
        if population in ran:
            ratios = {name: by_stack(runs, population, name) for name in STACKS}
            yield f"Population: {population}", [shares(ratios), agreement(ratios)]
            yield f"One leg alone: {population}", alone(runs, population)
            yield f"Share of the bound: {population}", of_bound(runs, population)
    if "radio" in ran:
        yield "The radio population read otherwise, picoquic", readings(runs)
    for experiment, population in EXPERIMENTS.items():
        if {experiment, population} <= ran:
            table = tornado(runs, experiment, population)
            yield f"What decides: {experiment}", [table, figure_of(table)]
    if "others" in ran:
        yield "Beside connections over leg 1 alone: what these get", others(of(runs, "others"))
    if "sobol" in ran:
        yield "Sobol indices of the logarithm of the ratio", [indices(of(runs, "sobol"))]
    if "radio" in ran:
        yield "Rules of one term, made of one half and judged at the other", rules(runs)
    if "tcp" in ran:
        yield (
            "TCP over Dual Connectivity against MPTCP",
            shares({"Linux": ratio(of(runs, "tcp"), runs)}),
        )
    if "workloads" in ran:
        yield "Other workloads", shares(by_workload(runs), DELAY_MARGIN)


def by_stack(runs: pd.DataFrame, experiment: str, stack: str) -> Ratios:
    """Return the ratio of DC's goodput to multipath's at each network, with one stack."""
    mine = of(runs, experiment)
    return ratio(mine[mine["stack"] == stack], runs)


def ratio(mine: pd.DataFrame, runs: pd.DataFrame, measure: str = "goodput_mbps") -> Ratios:
    """Return the ratio of DC to multipath by network; a run that failed has 0."""
    mine.attrs["labels"] = runs.attrs["labels"]
    wide = by_way(mine, measure, failed=0.0, ways=PAIR)
    return wide[DUAL] / wide[TRANSPORT].clip(lower=1e-9)


def agreement(ratios: Mapping[str, Ratios]) -> str:
    """Return at how many networks both stacks have one outcome, and at how many opposite ones."""
    one, other = (signs(values.to_numpy(float), MARGIN) for values in ratios.values())
    if len(one) != len(other):
        return "One stack has not run at all networks."
    same, opposite = same_and_opposite(one, other)
    return f"Both stacks have one outcome at {same} of {len(one)} networks, opposite at {opposite}."


def alone(runs: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Return at how many networks the better leg alone is better than DC or multipath."""
    rows = {}
    for stack in STACKS:
        mine = of(runs, experiment)
        mine = mine[(mine["stack"] == stack) & (mine["seed"] == 1)]
        mine.attrs["labels"] = runs.attrs["labels"]
        wide = by_way(mine, "goodput_mbps", failed=0.0, ways=(*PAIR, *ALONE))
        best = wide[[*ALONE]].max(axis=1)
        for way in PAIR:
            rows[f"{stack}: one leg against {way}"] = best / wide[way].clip(lower=1e-9)
    return shares(rows)[["better (%)", "a tie (%)", "worse (%)"]].rename_axis("stack")


def tornado(runs: pd.DataFrame, experiment: str, population: str = "radio") -> pd.DataFrame:
    """Return by how many points an assumption moves both shares, the largest move first."""
    mine = of(runs, population)
    before = ratio(mine[(mine["stack"] == STACKS[0]) & (mine["seed"] == 1)], runs)
    rows: dict[Any, dict[str, Any]] = {}
    for name, other in of(runs, experiment).groupby("changed", sort=False):
        pair = paired(before, ratio(other, runs))
        rows[name] = {"networks": len(pair)}
        for side, words in ((1, "DC better"), (-1, "multipath better")):
            moved = move(pair, side)
            interval = bootstrap_interval(pair.T[:, np.newaxis, :], _mover(side))
            rows[name] |= {
                f"{words}: points": round(moved, 1),
                f"{words}: 95 % interval": f"{interval.low:.0f} to {interval.high:.0f}",
            }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("changed")
    size = table.filter(like=": points").abs().max(axis=1)
    return table.loc[size.sort_values(ascending=False).index]


def paired(before: Ratios, after: Ratios) -> NDArray[np.float64]:
    """Return both ratios of the networks that have both, a row each."""
    sides = [
        series.rename(name).reset_index()[["point", name]]
        for name, series in (("before", before), ("after", after))
    ]
    both = sides[0].merge(sides[1], on="point").dropna()
    return both[["before", "after"]].to_numpy(float)


def move(pair: NDArray[np.float64], side: int) -> float:
    """Return by how many points of percent the share with an outcome moves."""
    before, after = (np.array(signs(pair[:, column], MARGIN)) == side for column in (0, 1))
    return float(100 * (after.mean() - before.mean()))


def _mover(side: int) -> Callable[..., float]:
    return lambda before, after: move(np.column_stack([before, after]), side)


def figure_of(table: pd.DataFrame) -> Figure:
    """Draw the tornado: by how many points each assumption moves both shares."""
    with plots.style():
        drawn = Figure(figsize=(7.16, 0.28 * len(table) + 1))
        axes = drawn.subplots()
        looks = plots.looks(BETTER.values())
        for offset, (words, way) in zip((-0.2, 0.2), BETTER.items(), strict=True):
            places = np.arange(len(table))[::-1] - offset
            axes.barh(places, table[f"{words}: points"], 0.38, color=looks[way].colour, label=words)
        axes.set_yticks(np.arange(len(table))[::-1], list(table.index))
        axes.axvline(0, color=theme.LINE, linewidth=0.8)
        axes.set_xlabel("change of the share of networks (points)")
        axes.legend(loc="lower right")
    return drawn


def indices(runs: pd.DataFrame) -> pd.DataFrame | str:
    """Return first-order and total Sobol indices of each factor, with bootstrap intervals.

    The estimator is that of Saltelli et al. (2010), which needs the whole design, in whose matrices
    a place is the same point. Ratios are cut at `CUT`; a run that failed has the least one.
    """
    labels = ["matrix", *RADIO]
    wide = runs.assign(goodput=runs["goodput_mbps"].where(runs["status"] == "ok", 0.0))
    wide = wide.pivot_table(index=labels, columns="way", values="goodput", sort=False)
    ratios = (wide[DUAL] / wide[TRANSPORT].clip(lower=1e-9)).clip(1 / CUT, CUT)
    logs = pd.Series(np.log(ratios), index=wide.index)
    matrices = {name: values.to_numpy(float) for name, values in logs.groupby("matrix", sort=False)}
    sizes = {len(values) for values in matrices.values()}
    if len(matrices) < 2 + len(RADIO) or len(sizes) > 1 or logs.isna().any():
        return "Runs of the design are missing, without which there are no indices."
    first, second = matrices["A"], matrices["B"]
    swapped = np.stack([matrices[f"AB {name}"] for name in RADIO])[:, np.newaxis, :]
    parts: Any = {"f_A": first[np.newaxis], "f_B": second[np.newaxis], "f_AB": swapped}
    found = sobol_indices(func=parts, n=len(first))
    np.random.seed(SEED)
    drawn = found.bootstrap(0.95, 999)
    return pd.DataFrame(
        {
            "first order": _texts(found.first_order, drawn.first_order.confidence_interval),
            "total": _texts(found.total_order, drawn.total_order.confidence_interval),
        },
        index=pd.Index([*RADIO], name="factor"),
    )


def _texts(values: Any, interval: Any) -> list[str]:
    ends = zip(np.ravel(values), np.ravel(interval.low), np.ravel(interval.high), strict=True)
    return [f"{value:.2f} ({low:.2f} to {high:.2f})" for value, low, high in ends]


def by_workload(runs: pd.DataFrame) -> dict[str, Ratios]:
    """Return the ratio of the sides by workload and stack; above 1 DC is better."""
    mine, ratios = of(runs, "workloads"), {}
    for stack in STACKS:
        for kind, measure in MEASURES.items():
            some = mine[(mine["stack"] == stack) & (mine["workload_kind"] == kind)]
            if len(some) and measure in some:
                values = ratio(some, runs, measure)
                ratios[f"{kind}, {stack}: {measure}"] = (
                    1 / values if measure.endswith("_ms") else values
                )
    return ratios


def of_bound(runs: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Return what each way reaches of the bound, in median and quartiles over all networks."""
    mine = of(runs, experiment)
    parts = (mine["goodput_mbps"].where(mine["status"] == "ok", 0.0) / mine["bound_mbps"]).rename(
        "x"
    )
    quartiles = pd.concat([mine[["stack", "way"]], parts], axis=1).groupby(["stack", "way"])["x"]
    return quartiles.quantile(np.array([0.25, 0.5, 0.75])).unstack().round(2)


def others(runs: pd.DataFrame) -> pd.DataFrame:
    """Return what a way and the connections beside it get, over what they do beside one more such.

    Geometric means over the networks of goodputs in a time, with 95 % intervals. A run that failed
    has none.
    """
    ran = runs[runs["status"] == "ok"]
    beside = ran[[name for name in ran if FLOW.fullmatch(str(name))]]
    table = ran.assign(own=ran["flow_1_goodput_mbps"], theirs=beside.mean(axis=1))
    wide = table.pivot_table(index=["changed", "point"], columns="way", values=["own", "theirs"])
    rows: dict[Any, dict[str, str]] = {}
    for count, way in product(table["changed"].unique(), (*PAIR, LIA)):
        for side in ("own", "theirs"):
            some = wide[side].xs(count)
            value, interval = mean(some[way] / some["leg-1"])
            text = f"{value:.2f} ({interval.low:.2f} to {interval.high:.2f})"
            rows.setdefault(f"{way}, {count} beside it", {})[side] = text
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("way")


def rules(runs: pd.DataFrame) -> pd.DataFrame:
    """Return what obeying a rule costs: of one term on a factor, and of always one side.

    The regret is the part of the better side's goodput that is lost, in percent. The rule with the
    least regret on one half is judged at the other; who is in which half is drawn at random. The
    networks are those of each population and stack, and those of terminals that sleep.
    """
    tables = {
        f"{population}, {stack}": by_stack(runs, population, stack)
        for population in ("radio", "losses")
        for stack in STACKS
        if population in set(runs["experiment"])
    }
    asleep = of(runs, "assumption")
    asleep = asleep[asleep["changed"] == "DRX: on"]
    if len(asleep):
        tables["radio with DRX, picoquic"] = ratio(asleep, runs)
    return pd.concat([rule(name, ratios) for name, ratios in tables.items()])


def rule(networks: str, ratios: Ratios) -> pd.DataFrame:
    """Return the regret of the rule made of one half of some networks, and of always one side."""
    table = ratios.rename("ratio").reset_index().dropna(subset="ratio")
    order = np.random.default_rng(HOLD_OUT_SEED).permutation(len(table))
    known, unseen = table.iloc[order[::2]], table.iloc[order[1::2]]
    terms = {
        f"DC where {factor} is {words} {limit:.3g}, else multipath": (factor, limit, sign)
        for factor in FACTORS
        if factor in table
        for limit in known[factor].quantile(np.linspace(0.1, 0.9, 9))
        for words, sign in (("above", 1), ("below", -1))
    }
    best = min(terms, key=lambda words: regret(known, obeyed(known, *terms[words])).mean())
    rows = []
    for words, takes_dual in (
        (best, obeyed(unseen, *terms[best])),
        ("always DC", pd.Series(True, index=unseen.index)),
        ("always multipath", pd.Series(False, index=unseen.index)),
    ):
        lost = regret(unseen, takes_dual)
        interval = mean_interval(list(lost))
        text = f"{lost.mean():.1f} ({interval.low:.1f} to {interval.high:.1f})"
        rows.append((networks, words, text, len(unseen)))
    columns = ["networks", "rule", "regret held out (%)", "held out"]
    return pd.DataFrame(rows, columns=columns).set_index("networks")


def obeyed(table: pd.DataFrame, factor: str, limit: float, sign: int) -> pd.Series[bool]:
    """Return at which networks a term says DC: a factor is above the limit (sign 1), or below."""
    return sign * table[factor] > sign * limit


def regret(table: pd.DataFrame, takes_dual: pd.Series[bool]) -> Ratios:
    """Return the goodput lost by a choice, in percent of the better side's, by network."""
    ratios = table["ratio"].clip(LEAST, 1 / LEAST)
    return 100 * (1 - (ratios.where(takes_dual, 1.0) / ratios.clip(lower=1.0)))


def readings(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the headline's shares as a referee may read the same runs: other margins, parts."""
    mine = of(runs, "radio")
    mine = mine[mine["stack"] == STACKS[0]]
    whole = ratio(mine, runs)
    index = whole.index.to_frame()
    by_seed = {f"seed {seed} alone": ratio(part, runs) for seed, part in mine.groupby("seed")}
    parts = {
        "less than 1 MB": index["size_mb"] < 1,
        "1 to 10 MB": index["size_mb"].between(1, 10),
        "more than 10 MB": index["size_mb"] > 10,
        "CUBIC": index["control"] == "cubic",
        "BBRv3": index["control"] == "bbr",
        **{pair: index["pair"] == pair for pair in CARRIERS},
        **{
            f"server {words} 10 ms away": far
            for words, far in (
                ("at most", index["server_ms"] <= 10),
                ("more than", index["server_ms"] > 10),
            )
        },
    }
    margins = {f"margin {100 * margin:g} %": shares({"": whole}, margin) for margin in (0.02, 0.1)}
    table = shares(
        {"as published": whole, **by_seed, **{name: whole[some] for name, some in parts.items()}}
    )
    return pd.concat([table, *(part.rename(index={"": name}) for name, part in margins.items())])
