"""What does a split gain in goodput, and what does it cost in delay? And is the new one better?

`judged`: deployable Dual Connectivity, the one that it took the place of, and MP-QUIC, over
networks on which nothing was chosen: held-out downloads under random loss, over RLC AM with a
server 20 ms away, uploads, requests, and networks of another design. 5 ms of Xn.

`frontier`: the first of the held-out downloads with what a node desires varied, and MP-QUIC's
schedulers: the goodput, and the 95th percentile of the delays of a download's packets.

What was chosen was chosen at other networks: of a random order of the 512 (seed 61), the first 64.
Those held out are in its second half, without the 96 at which the policy was first tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from campaign import ASKED, DOWNLOADS, UNSEEN, fields_of
from matplotlib.figure import Figure
from networks import Fields, Point
from ratios import LEAST, MARGIN, by_way, of, speeds
from ways import MPQUIC

import minitopo_dc as dc
from minitopo_dc import plots
from minitopo_dc.quic.stack import Scheduler
from minitopo_dc.results.measures.delays import NETWORK
from minitopo_dc.scenario.presets import t_reordering_ms
from minitopo_dc.statistics import bootstrap_interval
from minitopo_dc.workloads import Upload

Case = tuple[dc.Scenario, dict[str, Any]]
XN_MS = 5
FIRST_TRIED = frozenset(Random(7).sample(range(512), 96))
ORDER = Random(61).sample(range(512), 512)
SEARCHED = ORDER[:64]
HELD_OUT = [place for place in ORDER[256:] if place not in FIRST_TRIED]
"""Places among the 512 networks of downloads."""
REQUESTS_HELD_OUT = Random(61).sample(range(256), 256)[128:]


class Points(NamedTuple):
    """The number of networks of each experiment in a version."""

    losses: int
    rlc: int
    beside: int
    unseen: int
    frontier: int


POINTS = {"full": Points(64, 64, 16, 32, 10), "quick": Points(3, 2, 2, 2, 2)}
SCHEDULERS: tuple[Scheduler, ...] = ("picoquic", "ecf", "blest", "roundrobin", "weighted")
DESIRED_MS = (7, 15, 30, 60)
"""Beside what is on Xn; 30 is what the deployable one has."""
JUDGED_AT = ("losses", "rlc", "upload", "requests", "unseen")
"""Experiments; a requests' speed is one over the 95th percentile of the answers' delays."""
SMALL_BYTES = 200
"""Acknowledgements are smaller."""


def cases(version: str) -> Iterator[Case]:
    """Yield each network with each way: what is judged first, then the frontier."""
    number = POINTS[version]
    downloads = dc.campaign.sobol(512, DOWNLOADS)
    held_out = [downloads[place] for place in HELD_OUT]
    unseen = dc.campaign.latin_hypercube(200, UNSEEN, seed=7)
    asked = dc.campaign.sobol(256, ASKED)
    requests = [asked[place] for place in REQUESTS_HELD_OUT[: number.beside]]
    yield from judged("losses", held_out[: number.losses])
    yield from judged("rlc", held_out[: number.rlc], server_delay_ms=20, rlc=True)
    yield from judged("upload", held_out[: number.beside], upload=True)
    yield from judged("requests", requests)
    yield from judged("unseen", dc.campaign.spread(unseen, number.unseen))
    for point in held_out[: number.frontier]:
        base = dc.Scenario(**fields_of(point), virtual={"packet_delays": True})
        for way, scenario in frontier_ways(base, point):
            yield scenario, {"experiment": "frontier", "way": way, **point}


def judged(
    experiment: str,
    networks: Sequence[Point],
    *,
    upload: bool = False,
    server_delay_ms: float = 0,
    **air: Any,
) -> Iterator[Case]:
    """Yield each network with the three ways that are judged."""
    for point in networks:
        base = dc.Scenario(**fields_of(point, **air)).evolve(server_delay_ms=server_delay_ms)
        if upload:
            base = base.evolve(workload=Upload(size_mb=point["size_mb"] / 4))
        for way, make in JUDGED.items():
            yield make(base), {"experiment": experiment, "way": way, **point}


def before(base: dc.Scenario) -> dc.Scenario:
    """Return the deployable Dual Connectivity as it was: ul-DataSplitThreshold of 51,200 bytes.

    Its nodes desired what a status and its answer take, 17 ms at the far one, all of which
    t-Reordering waited for: Xn there and back, too.
    """
    radios = [leg.downlink for leg in base.legs]
    waits_ms = t_reordering_ms(radios, 3 * XN_MS, 7)
    uplink = {"split": "threshold", "parameters": {"primary": 1, "threshold_bytes": 51_200}}
    return deployable(base).evolve(
        pdcp={"t_reordering_ms": waits_ms, "flow_control": {"desired_ms": None}},
        uplink_pdcp=uplink,
    )


def deployable(base: dc.Scenario) -> dc.Scenario:
    """Return the deployable Dual Connectivity as it is now."""
    return base.with_dc("deployable", xn_ms=XN_MS)


def multipath(base: dc.Scenario) -> dc.Scenario:
    """Return MP-QUIC with picoquic's own scheduler."""
    return base.evolve(**MPQUIC)


NOW, BEFORE, OTHER = "dc-deployable", "dc-before", "mpquic"
JUDGED: dict[str, Callable[[dc.Scenario], dc.Scenario]] = {
    NOW: deployable, BEFORE: before, OTHER: multipath,
}  # fmt: skip


def frontier_ways(base: dc.Scenario, point: Point) -> Iterator[tuple[str, dc.Scenario]]:
    """Yield Dual Connectivity and MP-QUIC with all that is varied."""
    yield BEFORE, before(base)
    yield "dc-ideal", base.with_dc("ideal")
    for desired_ms in DESIRED_MS:
        yield (
            f"dc-desired-{desired_ms}",
            deployable(base).evolve(pdcp={"flow_control": {"desired_ms": desired_ms}}),
        )
    for name in SCHEDULERS:
        options: Fields = {"scheduler": name}
        if name == "weighted":
            parts = point["share"], 1 - point["share"]
            options["weights"] = [max(1, round(20 * part)) for part in parts]
        yield f"mpquic-{name}", multipath(base).evolve(options=options)


@dc.run_measures("network_p95_ms")
def network_delay(run: Path) -> dict[str, float]:
    """Return the 95th percentile of the delays of a download's packets between the end hosts."""
    packets = dc.results.packet_delays(run)
    content = packets[(packets["direction"] == "downlink") & (packets["bytes"] > SMALL_BYTES)]
    parts = [f"{part}_ms" for part in NETWORK]
    return {"network_p95_ms": float(content[parts].fillna(0).sum(axis=1).quantile(0.95))}


def with_measures(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with the delays of the packets of those that kept them."""
    if "network_p95_ms" in runs:
        return runs
    kept = runs["experiment"] == "frontier"
    read = dc.results.with_measures(runs[kept], "network_p95_ms")["network_p95_ms"]
    return runs.assign(network_p95_ms=read)


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield what was judged, and the points of the frontier."""
    rows = {
        (experiment, f"{mine} against {other}"): row
        for experiment in JUDGED_AT
        for mine, other, row in compared(runs, experiment)
    }
    if rows:
        judged_at = pd.DataFrame.from_dict(rows, orient="index")
        yield "Judged on what was held out", judged_at.rename_axis(["experiment", "ways"])
    if (runs["experiment"] == "frontier").any():
        yield "The frontier", frontier(runs)


def compared(runs: pd.DataFrame, experiment: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield each pair of ways, with the geometric mean of their ratio and its interval."""
    table = speeds(runs, experiment, [*JUDGED])
    for mine, other in ((NOW, BEFORE), (NOW, OTHER), (BEFORE, OTHER)):
        ratios = (table[mine] / table[other]).dropna().clip(LEAST, 1 / LEAST)
        if len(ratios):
            ends = bootstrap_interval(ratios.to_numpy(float)[np.newaxis, np.newaxis], _mean)
            yield mine, other, {
                "networks": len(ratios),
                "ratio": f"{_mean(ratios):.3f} ({ends.low:.3f} to {ends.high:.3f})",
                "better by 5 %": int((ratios > 1 + MARGIN).sum()),
                "worse by 5 %": int((ratios < 1 / (1 + MARGIN)).sum()),
                "least": f"{ratios.min():.2f}",
            }  # fmt: skip


def _mean(ratios: Any) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def frontier(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the share of the bound and the delay of each way: means over the same networks."""
    mine = of(with_measures(runs), "frontier")
    mine = mine.assign(of_bound=mine["goodput_mbps"] / mine["bound_mbps"])
    reached = by_way(mine, "of_bound", failed=LEAST).clip(lower=LEAST)
    delays = by_way(mine, "network_p95_ms").reindex(reached.index)
    both = delays.notna().all(axis=1)
    means = {"share of the bound": reached[both], "95th percentile (ms)": delays[both]}
    table = pd.DataFrame({name: values.apply(_mean) for name, values in means.items()})
    return table.assign(networks=int(both.sum())).round(
        {"share of the bound": 3, "95th percentile (ms)": 1}
    )


def figure(runs: pd.DataFrame) -> Figure:
    """Draw goodput against delay: above and to the left is better."""
    table = frontier(runs)
    table.columns = ["share", "delay", "networks"]
    with plots.style():
        drawn = Figure(figsize=(3.5, 2.6))
        axes = drawn.subplots()
        for side, look in plots.looks(("dc", "mpquic")).items():
            points = table[[name.startswith(side) for name in table.index]].sort_values("share")
            axes.scatter(points["delay"], points["share"], s=14, color=look.colour)
            for place, (name, point) in enumerate(points.iterrows()):
                label = str(name).removeprefix("mpquic-").replace("dc-", "DC ")
                text: Any = {"textcoords": "offset points", "fontsize": 6, "color": look.colour}
                where = (3, 2) if place % 2 else (3, -8)
                axes.annotate(label, (point["delay"], point["share"]), where, **text)
        desired = table.loc[[f"dc-desired-{ms}" for ms in DESIRED_MS]]
        axes.plot(
            desired["delay"],
            desired["share"],
            color=plots.looks(["dc"])["dc"].colour,
            linewidth=0.8,
        )
        axes.set(xlabel="delay of a packet, 95th percentile (ms)", ylabel="goodput over the bound")
    return drawn
