"""Reordering, overhead, link utilisation and pairs of connections: more of the thesis.

Figures 5.1, 5.2, 5.3, 5.6 to 5.8, 5.10 and 5.14, table 5.1 and section 6.1. Of a drop occasion,
packets that are acknowledged after they were declared lost had only been overtaken on the other
leg.

Round-trip time, drop occasions (decreases of the congestion window) and packets declared lost are
the server's, from its qlog. Figures 5.14b and 5.14c (QUIC beside TCP, TCP beside TCP) need the real
clock, or minitopo-dc build linux.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from claims import by_seed, judged, most
from comparison import sections
from drop_occasion import drop_occasion
from links import flow_rates
from recovery import SENDER
from testbed import BASE, WAYS, Case, Change, delayed

import minitopo_dc as dc
from minitopo_dc import plots
from minitopo_dc.claims import Claim, table

BUFFER, LARGE = (BASE.evolve(**WAYS[way]) for way in ("quic", "quic_bm"))
LOGGED = BUFFER.evolve(
    legs={leg: {"jitter_ms": 0, "uplink": {"jitter_ms": 0}} for leg in (0, 1)},  # section 5.1
    options={**BUFFER.options, "qlog": True},
)
REORDERING: dict[str, Change] = {
    "SC": {"pdcp": {"ratio": (1, 0), "delivery": "off"}},
    "DC, no reordering": {"pdcp": {"ratio": (1, 1), "delivery": "off"}},
    "DC, reordering": {"pdcp": {"ratio": (1, 1), "delivery": "in-order"}},
}
OVERHEAD: dict[str, Change] = {
    "without_proxy": {"mode": "sc"},
    "with_proxy": {"pdcp": {"ratio": (1, 0)}},
}
UTILISATION: dict[str, Change] = {
    **{f"batch {batch}": {"pdcp": {"batch": batch}} for batch in (50, 200, 500)},
    "ratio 9:1": {"pdcp": {"ratio": (9, 1)}},
}
ON_LEG_1 = {"mode": "sc", "leg": 1}
TCP_ON_LEG_1 = ON_LEG_1 | {"transport": "tcp"}
PAIRS: dict[str, Change] = {
    "QUIC and QUIC on leg 1": {"mode": "flows", "flows": [ON_LEG_1, ON_LEG_1]},
    "QUIC and TCP on leg 1": {"mode": "flows", "flows": [ON_LEG_1, TCP_ON_LEG_1]},
    "TCP and TCP on leg 1": {"mode": "flows", "flows": [TCP_ON_LEG_1, TCP_ON_LEG_1]},
    "DC and SC on each leg": {
        "mode": "flows",
        "flows": [{"mode": "dc"}, ON_LEG_1, {"mode": "sc", "leg": 2}],
    },
}
FAR = delayed(100, 100)
UNPACED: Change = {"options": {**LARGE.options, "pacing": False}}
"""All that the window allows goes at once."""
PACER: dict[str, Change] = {
    "10 ms, paced": {},
    "10 ms, not paced": UNPACED,
    "100 ms, paced": FAR,
    "100 ms, not paced": FAR | UNPACED,
}


def cases(version: str) -> Iterator[Case]:
    """Yield the cases of all figures, each with its own seeds: a qlog of 100 MB takes 130 MB."""
    few = version != "full"
    workload = {"size_mb": 20 if few else 100}
    small = {"workload": {"size_mb": 20}, "statistics_ms": 20}
    both = {"workload": {**workload, "duration_s": 180}}  # section 4.4: of 1 GB in the thesis
    seeds = 2 if few else 3
    logged = LOGGED.evolve(workload=workload)
    yield from _repeated("reordering", logged, REORDERING, seeds)
    yield from _repeated("congestion-window", logged, REORDERING, 1)
    off = {"DC, no reordering": REORDERING["DC, no reordering"]}
    yield from _repeated("drop-occasion", logged, off, 1)
    yield from _repeated("overhead", logged, OVERHEAD, seeds)
    yield from _repeated("link-utilisation", LARGE.evolve(**small), UTILISATION, 1)
    yield from _repeated("pairs", LARGE.evolve(**both), PAIRS, 2)
    yield from _repeated("pacer", LARGE.evolve(workload=workload), PACER, 2 if few else 10)


def _repeated(
    experiment: str, base: dc.Scenario, points: Mapping[str, Change], seeds: int
) -> Iterator[Case]:
    for case, change in points.items():
        for seed in range(1, seeds + 1):
            yield base.evolve(**change, seed=seed), {"experiment": experiment, "case": case}


UNTIL_S = 3
"""What figures 5.6 to 5.8 and 5.10 show of the links."""


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the claims, table 5.1, and the figures over time."""
    if not set(SENDER) <= set(runs):  # of the experiments that need it
        logged = runs[runs["experiment"].isin(["reordering", "overhead"])]
        runs = runs.join(dc.results.with_measures(logged, *SENDER)[SENDER])
    yield "Claims", table(claims(runs))
    yield from sections(runs, "behaviour")
    first = runs[(runs["seed"] == 1) & (runs["status"] == "ok")]
    root = Path(runs.attrs.get("directory", ""))
    first = first[[(root / run).is_dir() for run in first["run"]]]
    for experiment, title, draw in (
        ("congestion-window", "Figure 5.2: windows without and with reordering", _windows),
        ("drop-occasion", "Figure 5.3: a needless drop occasion, as the server saw it", _occasion),
        ("link-utilisation", "Figures 5.6 to 5.8, 5.10: what the links deliver", _links),
        ("pairs", "Figure 5.14: what competing connections receive", _pairs),
    ):
        mine = first[first["experiment"] == experiment].set_index("case")["run"]
        if len(mine):
            yield title, draw({str(case): root / run for case, run in mine.items()})


def _windows(runs: Mapping[str, Path]) -> Any:
    """Return the windows, with all else that happens to them."""
    return plots.timeline(*runs.values(), names=list(runs))[0, 0]


def _occasion(runs: Mapping[str, Path]) -> Any:
    """Return when each of some packets was sent, acknowledged and declared lost."""
    events = drop_occasion(next(iter(runs.values())))
    with plots.style():
        axes = plots.series({"packet number": {}})[0]
        for (name, rows), mark in zip(events.groupby("event", sort=False), ".+x", strict=False):
            axes.plot(rows["time_ms"], rows["packet_number"], mark, label=name)
        axes.set_xlabel("time since the packets were declared lost (ms)")
        axes.autoscale()
        axes.legend()
    return axes


def _links(runs: Mapping[str, Path]) -> Any:
    """Return the rates of both legs, a panel a case."""
    return _rates({case: dc.results.leg_rates(run, bin_s=0.02) for case, run in runs.items()},
                  "leg", UNTIL_S)  # fmt: skip


def _pairs(runs: Mapping[str, Path]) -> Any:
    """Return the rate of each connection, a panel a pair."""
    return _rates({case: flow_rates(run) for case, run in runs.items()}, "flow")


def _rates(tables: Mapping[str, pd.DataFrame], column: str, until_s: float | None = None) -> Any:
    panels = {f"{case}\n(Mbit/s)": plots.rates(table, column) for case, table in tables.items()}
    return plots.series(panels, until=until_s)[0]


def claims(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield what the papers say of reordering, of proxies, of pairs and of the pacer."""

    def of(experiment: str, cases: Mapping[str, Change], measure: str) -> pd.DataFrame:
        return by_seed(runs, experiment, "case", cases, measure=measure)

    time, drops, lost = (
        of("reordering", REORDERING, measure)
        for measure in ("completion_s", "drop_occasions", "lost_packets")
    )
    alone, off, on = REORDERING
    trip, rate = (of("overhead", OVERHEAD, measure) for measure in ("rtt_ms", "goodput_mbps"))
    without, proxies = OVERHEAD
    index = of("pairs", PAIRS, "jain_index")
    pacer = of("pacer", PACER, "goodput_mbps")
    near, near_unpaced, far, far_unpaced = (pacer[case] for case in PACER)
    yield from judged(
        {
            "unordered-time": time[off] / time[alone],
            "ordered-time": time[on] / time[alone],
            "unordered-drops": drops[off] / drops[alone],
            "ordered-drops": drops[on] / drops[alone],
            "unordered-lost": lost[off] / lost[alone],
            "ordered-lost": lost[on] / most(lost[[alone, off]]),
            "proxies-rtt": trip[proxies] - trip[without],
            "proxies-rate": rate[proxies] / rate[without],
            "pair-quic": index["QUIC and QUIC on leg 1"],
            "pair-quic-tcp": index["QUIC and TCP on leg 1"],
            "pair-tcp": index["TCP and TCP on leg 1"],
            "pair-dc": index["DC and SC on each leg"],
            "unpaced-near": near_unpaced / near,
            "unpaced-far": far_unpaced / far,
        }
    )
