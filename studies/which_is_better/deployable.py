"""What must a network know, and how fast, before splitting below IP pays?

Three kinds of Dual Connectivity (docs/split-policies.md) are set against MP-QUIC with uncoupled
windows, one against one, over the 512 networks of `campaign.py`:

- the papers': 1:1 in batches of 100, with a t-Reordering of 200 ms;
- deployable: leg 2 is at another node, and all that goes to it and is known of it takes Xn;
- ideal: the split sees both legs at the instant of each packet.

Both sides are picoquic with the congestion control of the network. Over TCP the other side is
MPTCP.

A tie is within 5 %. A run that fails has goodput 0, and is taken as a hundredth where ratios are
averaged. What was tuned was chosen at networks with an even number; those held out are the odd
ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import pandas as pd
from campaign import ASKED, DOWNLOADS, OF_TCP, fields_of
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from networks import Fields, Point
from ratios import (
    CLOCK_ERROR,
    DELAY_MARGIN,
    LEAST,
    MARGIN,
    REFERENCE,
    Ratios,
    by_way,
    mean,
    of,
    percent,
    shares,
    speeds,
    with_numbers,
)
from ways import ALONE, MPQUIC, MPTCP, TCP

import minitopo_dc as dc
from minitopo_dc import plots
from minitopo_dc.campaign.store import read_table
from minitopo_dc.plots import theme
from minitopo_dc.statistics import outcomes

Case = tuple[dc.Scenario, dict[str, Any]]
Classes = Iterator[tuple[str, "pd.Series[bool]"]]
"""Yields names of classes of networks, and which ones are in it."""
Ways = Callable[[dc.Scenario], Iterator[tuple[str, dc.Scenario]]]
"""Yields the ways over a network, which its scenario has."""
XN_MS = (0, 2, 5, 10, 20, 60)
"""One way. TR 36.932, table 6.1-1: fibre 2 to 5 ms in its best class and 10 to 30 ms in its worst,
DSL 15 to 60 ms."""
USUAL_MS = 5
"""Xn of the experiments that vary something else."""
TIMERS_MS = (50, 100, 200, "adaptive")
PERIODS_MS = (1, 2, 5, 10, 20, 50, 100)
"""From one delivery status to the next."""
TUNED: dict[str, Sequence[Any]] = {
    "split": ("least-delay", "credit", "proportional"),
    "interval_ms": (1, 5, 20),
    "desired_ms": (None, 20),
}


class Points(NamedTuple):
    """The number of networks of each experiment in a version."""

    download: int
    some: int
    tcp: int
    requests: int


POINTS = {
    "full": Points(512, 64, 64, 64),
    "quick": Points(32, 4, 2, 4),
    "sample": Points(12, 0, 0, 0),  # on the real clock
}


def cases(version: str) -> Iterator[Case]:
    """Yield all cases: whole networks one after the other, by experiment."""
    number = POINTS[version]
    networks = dc.campaign.sobol(512, DOWNLOADS)
    if version == "sample":
        yield from at("download", networks[: number.download], all_three((USUAL_MS,)))
        return
    # Networks are numbered from 1.
    held_out, tuned = (networks[first::2][: number.some] for first in (0, 1))
    yield from at("download", networks[: number.download], all_three(XN_MS))
    yield from at("tuning", tuned, usual_with(TUNED_WAYS))
    yield from at("timer", held_out, usual_with(TIMERS))
    yield from at("reports", held_out, usual_with(PERIODS))
    yield from at("radio", held_out, all_three((0, USUAL_MS, 20)), rlc=True)
    tcp = dc.campaign.sobol(512, OF_TCP)[: number.tcp]
    yield from at("tcp", tcp, all_three((USUAL_MS,)), single=TCP, several=MPTCP)
    asked = dc.campaign.sobol(256, ASKED)[: number.requests]
    yield from at("requests", asked, all_three((USUAL_MS,)))


def at(
    experiment: str,
    networks: Iterable[Point],
    ways: Ways,
    *,
    single: Fields | None = None,
    several: Fields = MPQUIC,
    **air: Any,
) -> Iterator[Case]:
    """Yield each network with multipath and with each way, which may be over other transports."""
    for point in networks:
        base = dc.Scenario(**fields_of(point, **air) | (single or {}))
        for way, scenario in (("multipath", base.evolve(**several)), *ways(base)):
            yield scenario, {"experiment": experiment, "way": way, **point}


def all_three(xn_ms: Sequence[float]) -> Ways:
    """Return the papers' DC, the deployable one over each Xn, and the ideal one."""

    def ways(base: dc.Scenario) -> Iterator[tuple[str, dc.Scenario]]:
        yield "dc-papers", base.with_dc("papers")
        for delay in xn_ms:
            yield f"dc-xn-{delay}", base.with_dc("deployable", xn_ms=delay)
        yield "dc-ideal", base.with_dc("ideal")

    return ways


def usual_with(changes: Mapping[str, Fields]) -> Ways:
    """Return the deployable DC with each change of its PDCP."""

    def ways(base: dc.Scenario) -> Iterator[tuple[str, dc.Scenario]]:
        usual = base.with_dc("deployable", xn_ms=USUAL_MS)
        yield from ((name, usual.evolve(pdcp=change)) for name, change in changes.items())

    return ways


TUNED_WAYS: dict[str, Fields] = {
    f"dc-{split}-{interval_ms}-{desired_ms or 'own'}": {
        "split": split,
        "flow_control": {"interval_ms": interval_ms, "desired_ms": desired_ms},
    }
    for split, interval_ms, desired_ms in product(*TUNED.values())
}
TIMERS: dict[str, Fields] = {
    "dc-timer-own": {},
    **{f"dc-timer-{timer}": {"t_reordering_ms": timer} for timer in TIMERS_MS},
}
PERIODS: dict[str, Fields] = {
    f"dc-period-{period}": {"flow_control": {"interval_ms": period}} for period in PERIODS_MS
}
NAMES = {
    "dc-papers": "DC, the papers'",
    **{f"dc-xn-{delay}": f"DC, deployable, Xn {delay} ms" for delay in sorted(XN_MS, reverse=True)},
    "dc-ideal": "DC, ideal",
}
DRAWN = ("dc-papers", "dc-xn-20", "dc-xn-5", "dc-xn-0", "dc-ideal")


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the shares, where the deployable DC is good enough, and what it depends on."""
    ran = set(runs["experiment"])
    if "download" in ran:
        known = ratios(runs, "download")
        odd = known[known["point"] % 2 == 1]
        yield "Dual Connectivity against MP-QUIC", [shares(named(known)), figure(known)]
        yield "The same at the networks held out", shares(named(odd))
        yield "What each way reaches of the bound", of_bound(runs)
        where = {name: known[f"dc-xn-{USUAL_MS}"][members] for name, members in classes(known)}
        yield f"Where: deployable, Xn {USUAL_MS} ms", shares(where)
        xn = {f"{delay} ms": f"dc-xn-{delay}" for delay in XN_MS}
        yield "The longest Xn at which DC is not worse", not_worse(known, xn, classes(known))
        together = not_worse(known, xn, combined(known))
        yield "The same by skew, size and losses together", together
    if "reports" in ran:
        period = {f"{period} ms": f"dc-period-{period}" for period in PERIODS_MS}
        known = ratios(runs, "reports")
        rarest = not_worse(known, period, classes(known))
        yield "The rarest reports with which DC is not worse", rarest
    if "timer" in ran:
        yield "t-Reordering", shares(named(ratios(runs, "timer")))
    if "tuning" in ran:
        yield "Tuning", tuning(ratios(runs, "tuning"))
    if "radio" in ran:
        yield "RLC AM and HARQ in place of losses", shares(named(ratios(runs, "radio")))
    if "tcp" in ran:
        networks = pd.read_csv(REFERENCE / "study_networks.csv")  # those that `advise` has
        ideal = networks.loc[networks["experiment"] == "tcp", "ratio"]
        sides = named(ratios(runs, "tcp")) | {"DC, ideal, 512 networks": ideal}
        table = shares(sides, clock=True)
        yield "TCP over Dual Connectivity against MPTCP", [CLOCK_ERROR, table]
    if "requests" in ran:
        wide = speeds(runs, "requests", ["multipath"])
        answers = named(wide.filter(regex="^dc-").div(wide["multipath"], axis=0))
        yield "95th percentile of answers, against MP-QUIC", shares(answers, DELAY_MARGIN)


def ratios(runs: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Return the networks of an experiment: factors, and each way's goodput over multipath's."""
    ways = (*NAMES, "multipath") if experiment == "download" else ("multipath",)
    wide = by_way(of(runs, experiment), "goodput_mbps", failed=0.0, ways=ways)
    dual = wide.filter(regex="^dc-")
    return with_numbers(dual.div(wide["multipath"].clip(lower=1e-9), axis=0))


def named(table: pd.DataFrame) -> dict[str, Ratios]:
    """Return the ratios of each way by its name in words."""
    ways = [way for way in (*NAMES, *table.filter(regex="^dc-(timer)")) if way in table]
    return {NAMES.get(way, way.removeprefix("dc-").replace("-", " ")): table[way] for way in ways}


def kinds(table: pd.DataFrame) -> list[dict[str, pd.Series[bool]]]:
    """Return the networks by the difference of one-way delays, by windows of data, by losses."""
    trips, ratio = table["delay_sum_ms"], table["delay_ratio"]
    skew = trips / 2 * (1 - ratio).abs() / (1 + ratio)
    long, lossy = table["windows"] > 45, table["lost_per_window"] > 0.02
    return [
        {
            "delays differ by at most 10 ms": skew <= 10,
            "by 10 to 40 ms": (skew > 10) & (skew <= 40),
            "by more than 40 ms": skew > 40,
        },
        {"at most 45 windows of data": ~long, "more than 45 windows": long},
        {"at most 0.02 lost packets per window": ~lossy, "more than 0.02": lossy},
    ]


def of_bound(runs: pd.DataFrame) -> pd.DataFrame:
    """Return quartiles of each way's goodput over the bound of its network (docs/results.md)."""
    legs = read_table(REFERENCE / "runs.parquet")
    legs = legs[(legs["experiment"] == "download") & legs["way"].isin(ALONE)]
    alone = legs.pivot_table("goodput_mbps", "point", "way").max(axis=1)
    reached = speeds(runs, "download")
    reached["the better leg alone"] = alone.reindex(reached.index.get_level_values("point")).array
    names = [str(name) for name in reached.index.names]
    points = [dict(zip(names, key, strict=True)) for key in reached.index]
    bounds = [dc.results.bound_mbps(dc.Scenario(**fields_of(point))) for point in points]
    words = NAMES | {"multipath": "MP-QUIC"}
    table = reached.div(bounds, axis=0).rename(columns=words).quantile(list(QUARTILES)).T
    order = ["the better leg alone", *words.values()]
    table = table.set_axis(list(QUARTILES.values()), axis=1)
    return table.reindex(order).dropna().map("{:.2f}".format)


QUARTILES = {0.25: "first quartile", 0.5: "median", 0.75: "third quartile", 1.0: "greatest"}


def classes(table: pd.DataFrame) -> Classes:
    """Yield the classes of networks for which a rule is given."""
    yield "all", table["point"].notna()
    for kind in kinds(table):
        yield from kind.items()
    yield "constant capacity", table["capacity"] == "constant"
    yield "a trace", table["capacity"] != "constant"
    for control in table["control"].unique():
        yield str(control), table["control"] == control


def combined(table: pd.DataFrame) -> Classes:
    """Yield the classes by skew, size and losses together."""
    for skew, size, lost in product(*(kind.items() for kind in kinds(table))):
        yield f"{skew[0]}, {size[0]}, {lost[0]}", skew[1] & size[1] & lost[1]


def not_worse(table: pd.DataFrame, ways: Mapping[str, str], groups: Classes) -> pd.DataFrame:
    """Return the geometric mean of the ratio by class and setting, and the greatest safe setting.

    A setting is safe if the lower end of the 95 % interval is above the margin of a tie, and that
    of all smaller settings is, too.
    """
    rows = {}
    for name, members in groups:
        means = {s: mean(table[way][members]) for s, way in ways.items() if way in table}
        safe = "none"
        for setting, (_, interval) in means.items():
            if not interval.low >= 1 / (1 + MARGIN):
                break
            safe = setting
        cells = {s: f"{m:.2f} ({i.low:.2f} to {i.high:.2f})" for s, (m, i) in means.items()}
        rows[name] = {"networks": int(members.sum()), **cells, "not worse up to": safe}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("networks with")


def tuning(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean ratio of each combination, the best first."""
    rows = []
    for way, settings in zip(TUNED_WAYS, product(*TUNED.values()), strict=True):
        if way not in table:
            continue
        middle, interval = mean(table[way])
        shown = ("own" if value is None else str(value) for value in settings)
        rows.append((*shown, middle, f"{interval.low:.3f} to {interval.high:.3f}"))
    columns = [*TUNED, "ratio", "95 % interval"]
    best_first = pd.DataFrame(rows, columns=columns).sort_values("ratio", ascending=False)
    return best_first.reset_index(drop=True)


LOOKS = plots.looks(("DC", "MP-QUIC"))
COLOURS = {
    "DC is better": LOOKS["DC"].colour,
    "a tie": theme.TIE,
    "MP-QUIC is better": LOOKS["MP-QUIC"].colour,
}
ENDS = (0.05, 0.25, 0.5, 0.75, 0.95)


def figure(table: pd.DataFrame) -> Figure:
    """Draw the shares of the three outcomes, and beside them the ratios of all networks."""
    ways = [way for way in DRAWN if way in table]
    places = list(range(len(ways)))[::-1]
    with plots.style():
        drawn = Figure(figsize=(7.16, 2.3))
        left, right = drawn.subplots(1, 2, sharey=True, width_ratios=(1.4, 1))
        for place, way in zip(places, ways, strict=True):
            _stack(left, place, table[way])
            _box(right, place, table[way])
        left.set(xlim=(0, 100), xlabel=f"share of {len(table)} networks (%), 95 % interval")
        left.set_yticks(places, [NAMES[way] for way in ways])
        left.grid(visible=False)
        drawn.legend(*left.get_legend_handles_labels(), loc="outside upper left", ncols=3)
        right.axvline(1, color=theme.LINE, linewidth=0.8)
        right.set(xscale="log", xlabel="goodput of DC over MP-QUIC's")
        right.set_xticks(
            [0.05, 0.1, 0.2, 0.5, 1, 2], [*map("{:g}".format, (0.05, 0.1, 0.2, 0.5, 1, 2))]
        )
        right.minorticks_off()
    return drawn


def _stack(axes: Axes, place: int, values: Ratios) -> None:
    """Draw the shares of one DC as a bar, with numbers where they have room."""
    counts, begin = outcomes(values.to_numpy(dtype=float), MARGIN), 0.0
    parts = counts.better, counts.tie, counts.worse
    for (name, colour), part in zip(COLOURS.items(), parts, strict=True):
        width = 100 * part.share
        axes.barh(place, width, 0.7, begin, color=colour, label=name if not place else None)
        if width > 5:
            text = percent(part) if width > 18 else f"{width:.0f}"
            ink = "black" if name == "a tie" else "white"
            axes.text(begin + width / 2, place, text, ha="center", va="center", color=ink)
        begin += width


def _box(axes: Axes, place: int, values: Ratios) -> None:
    """Draw 5, 25, 50, 75 and 95 % of the ratios of one DC."""
    low, first, middle, third, high = values.dropna().clip(lower=LEAST).quantile(ENDS)
    axes.plot((low, high), (place, place), color=theme.LINE, linewidth=0.9)
    axes.barh(
        place,
        third - first,
        0.5,
        first,
        color=LOOKS["DC"].colour,
        alpha=0.4,
        edgecolor=theme.LINE,
        linewidth=0.7,
    )
    axes.plot(
        (middle, middle), (place - 0.25, place + 0.25), color=LOOKS["DC"].colour, linewidth=1.8
    )
