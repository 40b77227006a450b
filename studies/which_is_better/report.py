"""The report of the study: shares of outcomes, maps, rules with their regret, and models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from learn import effects, models, noise, trees
from matplotlib.figure import Figure
from ratios import (
    CLOCK_ERROR,
    DELAY_MARGIN,
    MARGIN,
    REFERENCE,
    Ratios,
    best,
    by_way,
    of,
    shares,
    speeds,
    with_numbers,
)
from rules import find_rule, read_rule, regrets

from minitopo_dc import plots
from minitopo_dc.statistics import signs

Sections = Iterator[tuple[str, Any]]
SIDES = "Dual Connectivity", "MP-QUIC"
NEEDED = "dc-papers", "dc-least-delay", "dc-proportional", "mpquic"
"""The ways that tables compare by name."""
FEW_LOSSES = 0.02
"""Lost packets per window: the threshold of the second fixed rule."""
PAYS = 1.05
FIXED = {"ratio": "rule-download-ratio.json", "least_delay": "rule-download-least_delay.json"}
"""The rules of the first 512 points, fixed before the unseen ones were run (docs/study.md)."""
FACTORS = ["share", "delay_ratio", "windows", "queueing", "queue_ratio", "lost_per_window",
           "loss_apart", "changes", "variation"]  # fmt: skip
OF_TREES = ["share", "delay_ratio", "capacity", "control", "windows", "queueing", "lost_per_window"]
DRAWN = ["lost_per_window", "windows", "delay_ratio", "queueing", "loss_apart", "variation"]


def report(runs: pd.DataFrame) -> Sections:
    """Yield the sections: each experiment that was run, then when which side is better."""
    ran = set(runs["experiment"])
    known = {name: downloads(runs, name) for name in ("download", "download-unseen") if name in ran}
    for name, table in known.items():
        yield f"Shares of points: {name}", shares(download_sides(table))
    if sides := air_sides(runs):
        yield "Shares of points: other legs", shares(sides)
    if "tcp" in ran:
        of_tcp = [CLOCK_ERROR, shares(tcp_sides(runs), clock=True)]
        yield "Shares of points: TCP over Dual Connectivity against MPTCP", of_tcp
    if "requests" in ran:
        answers = {"best of three on both sides": request_ratios(runs)}
        yield "Shares of points: 95th percentile of answers", shares(answers, DELAY_MARGIN)
    if "download" in known:
        yield "Where", maps(known["download"])
        for measure in FIXED:
            yield from rule_sections(known, measure)
        yield from model_sections(runs, known)


def downloads(runs: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Return the points of an experiment over QUIC: factors, goodput of each way, ratios."""
    wide = by_way(of(runs, experiment), "goodput_mbps", failed=0.0, ways=NEEDED)
    return with_numbers(wide.assign(**ratios_of(wide)))


def ratios_of(wide: pd.DataFrame) -> dict[str, Ratios]:
    """Return the ratios of a table with a column for each way."""
    dual, multipath = best(wide, "dc-"), best(wide, "mp")
    both = pd.concat([dual, multipath], axis=1).max(axis=1, skipna=False)
    alone = {
        way.removeprefix("dc-").replace("-", "_"): wide[way] / wide["mpquic"]
        for way in map(str, wide.filter(regex="^dc-"))
    }
    return {"ratio": dual / multipath, "pays": both / best(wide, "leg-"), **alone}


def download_sides(table: pd.DataFrame) -> dict[str, Ratios]:
    """Return the rows of the table of downloads."""
    ratio, few = table["ratio"], table["lost_per_window"] <= FEW_LOSSES
    losses = {f"at most {FEW_LOSSES} lost packets per window": few, f"more than {FEW_LOSSES}": ~few}
    return {
        "all": ratio,
        "where two legs pay": ratio[table["pays"] > PAYS],
        **{str(name): part["ratio"] for name, part in table.groupby("control", sort=False)},
        **{name: ratio[where] for name, where in losses.items()},
        **{f"capacity {name}": part["ratio"] for name, part in table.groupby("capacity")},
        "the papers' split against uncoupled MP-QUIC": table["papers"],
        "least delay against the same": table["least_delay"],
        **{f"least delay, {name}": table["least_delay"][where] for name, where in losses.items()},
        "proportional against the same": table["proportional"],
        "two legs either way against the better leg alone": table["pays"],
    }


def air_sides(runs: pd.DataFrame) -> dict[str, Ratios]:
    """Return the rows of RLC and jitter; those that were run."""
    sides: dict[str, Ratios] = {}
    ran = set(runs["experiment"])
    if {"download", "radio"} <= ran:
        table = downloads(runs, "download")
        same = table["point"].isin(of(runs, "radio")["point"])
        sides["as in download, at the same points"] = table["ratio"][same]
    for name in ("radio", "jitter", "jitter-uplink"):
        mine = of(runs, name)
        if len(mine):
            # Not `NEEDED`: legs with jitter have other Dual Connectivities, and the best is of all.
            wide = by_way(mine, "goodput_mbps", failed=0.0, ways=["mpquic"])
            table = wide.assign(**ratios_of(wide)).reset_index()
            named = table.groupby(_air(name, table), sort=False)["ratio"]
            sides |= {str(air): ratios for air, ratios in named}
    return sides


def _air(experiment: str, table: pd.DataFrame) -> pd.Series[str]:
    """Return of each point what its legs have, in words."""
    if experiment == "radio":
        return pd.Series("RLC AM and HARQ in place of losses", table.index)
    order = table["reorder"].map({True: " out of order", False: " in order"})
    both = ", uplinks too" if experiment == "jitter-uplink" else ""
    jitter = table["jitter_ms"].map("jitter of {:g} ms".format)
    return jitter.astype(str) + order.astype(str) + both


def tcp_points(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the points of TCP and MPTCP."""
    ways = ("tcp-least-delay", "tcp-papers", "mptcp")
    wide = by_way(of(runs, "tcp"), "goodput_mbps", failed=0.0, ways=ways)
    two = wide[["tcp-least-delay", "mptcp"]].max(axis=1, skipna=False) / best(wide, "tcp-leg-")
    ratios = {"ratio": wide["tcp-least-delay"] / wide["mptcp"],
              "papers": wide["tcp-papers"] / wide["mptcp"], "pays": two}  # fmt: skip
    return with_numbers(wide.assign(**ratios))


def tcp_sides(runs: pd.DataFrame) -> dict[str, Ratios]:
    """Return the rows of TCP."""
    table = tcp_points(runs)
    few = table["lost_per_window"] <= FEW_LOSSES
    return {
        "least delay": table["ratio"],
        **{str(name): part["ratio"] for name, part in table.groupby("control", sort=False)},
        f"at most {FEW_LOSSES} lost packets per window": table["ratio"][few],
        f"more than {FEW_LOSSES}": table["ratio"][~few],
        "the papers' split": table["papers"],
        "two legs either way against the better leg alone": table["pays"],
    }


def request_ratios(runs: pd.DataFrame) -> Ratios:
    """Return the ratio of the delays of answers, above 1 where Dual Connectivity's are shorter."""
    wide = speeds(runs, "requests")
    return best(wide, "dc-") / best(wide, "mp")


def maps(table: pd.DataFrame) -> Figure:
    """Draw the ratio over losses and three other numbers; no loss is drawn at the lowest place."""
    shown = table.assign(lost_per_window=table["lost_per_window"].clip(lower=1e-3))
    with plots.style():
        figure = Figure(figsize=(7.16, 2.5))
        grid = figure.subplots(1, 3, sharey=True)
        for axes, name in zip(grid, ("delay_ratio", "windows", "queueing"), strict=True):
            plots.map(shown, name, "lost_per_window", "ratio", ax=axes, level=1, limits=(0.5, 2))
            low, high = shown[name].min(), shown[name].max()
            axes.set_xticks([tick for tick in (0.1, 1, 10, 100, 1000) if low < tick < high])
            axes.label_outer()
    return figure


def rule_sections(known: Mapping[str, pd.DataFrame], measure: str) -> Sections:
    """Yield a fixed rule with its regret, and the rule that these points would give."""
    rule, digest = read_rule(REFERENCE / FIXED[measure])
    name = "best of three" if measure == "ratio" else "least delay against uncoupled MP-QUIC"
    tables = [
        (f"Regret at the points of {experiment}.", regrets(rule, points, measure, SIDES))
        for experiment, points in known.items()
    ]
    mine = known["download"].dropna(subset=measure)
    found = find_rule(mine, measure, [*FACTORS, "control"]) if len(mine) >= 40 else None
    yield (
        f"Rule: {name}",
        [
            f"{rule}. First is {SIDES[0]}, second {SIDES[1]}. SHA-256 of its file: {digest}.",
            *(part for table in tables for part in table),
            f"The rule of these {len(mine)} points: {found or 'too few points'}.",
        ],
    )


def model_sections(runs: pd.DataFrame, known: Mapping[str, pd.DataFrame]) -> Sections:
    """Yield how well models foretell the ratio and by what, and trees of the outcome."""
    table = known["download"]
    for measure, name in (("ratio", "best of three"), ("least_delay", "least delay, uncoupled")):
        errors, rises = models(table, measure, FACTORS, "control")
        if len(errors):
            yield (
                f"Models: {name}",
                [
                    "Gradient boosting of the logarithm of the ratio; errors at points not seen.",
                    with_noise(errors, runs, measure),
                    "The rise of the mean error when a factor's values are permuted.",
                    # Ties of splits fall by the last bits of sums, which processors round in
                    # their own ways: two places have the same digits everywhere.
                    rises.map("{:z.2f}".format),
                ],
            )
    if len(table.dropna(subset="ratio")) >= 25:
        yield "By what the ratio is multiplied as a factor grows", effect_curves(table)
        yield "Trees", list(trees(table, outcomes_of, OF_TREES, known.get("download-unseen")))


def with_noise(errors: pd.DataFrame, runs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return errors of models beside what the scatter of repetitions leaves to any of them."""
    if "download-again" not in set(runs["experiment"]):
        return errors
    again = of(runs, "download-again")
    again.attrs["labels"] = [*runs.attrs["labels"], "seed"]
    wide = by_way(again, "goodput_mbps", failed=0.0, ways=NEEDED)
    scatter = noise(wide.assign(**ratios_of(wide)).reset_index(), measure, "control")
    most = 1 - scatter["variance"] / errors["variance"]
    return errors.assign(**{"most that noise leaves": most, "of noise": scatter["error"]})


def effect_curves(table: pd.DataFrame) -> Figure:
    """Draw the accumulated local effects, a curve for each congestion control."""
    with plots.style():
        figure = Figure(figsize=(7.16, 3.6))
        grid = figure.subplots(2, 3, sharey=True)
        for (control, part), look in zip(
            table.groupby("control"), plots.looks(table["control"].unique()).values(), strict=True
        ):
            curves = effects(part, "ratio", FACTORS)
            for axes, name in zip(grid.flat, DRAWN, strict=True):
                if name in curves:
                    axes.plot(*curves[name].to_numpy().T, label=control, **look.line)
                axes.set_xlabel(plots.label_of(name))
                axes.set_xscale(**_scale(table[name]))
                axes.xaxis.set_major_formatter("{x:g}")
        for row in grid:
            row[0].set_ylabel("ratio, times")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=4)
    return figure


def _scale(values: pd.Series[float]) -> dict[str, Any]:
    """Return the scale of an axis; losses may be none, or of either sign."""
    if values.abs().max() < 30 * values.abs().median():
        return {"value": "linear"}
    return {"value": "log"} if values.min() > 0 else {"value": "symlog", "linthresh": 0.1}


def outcomes_of(table: pd.DataFrame) -> dict[str, pd.Series[bool]]:
    """Return at which points Dual Connectivity is better, and at which it is not worse."""
    ratio = table["ratio"].dropna()
    sign = pd.Series(signs(ratio.to_numpy(dtype=float), MARGIN), ratio.index)
    return {"DC is better": sign > 0, "DC is not worse": sign >= 0}
