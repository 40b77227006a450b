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
from claims import by_seed, judge, most
from comparison import sections
from drop_occasion import drop_occasion
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


SENDER = ["rtt_ms", "drop_occasions", "lost_packets"]
UNTIL_S = 3
"""What figures 5.6 to 5.8 and 5.10 show of the links."""


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the claims, table 5.1, and the figures over time."""
    runs = with_sender(runs)
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
        mine = first[first["experiment"] == experiment]
        if len(mine):
            yield title, draw({case: root / run for case, run in zip(mine["case"], mine["run"],
                                                                     strict=True)})  # fmt: skip


def with_sender(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs with what the server's qlog has, of the experiments that need it."""
    if set(SENDER) <= set(runs):
        return runs
    logged = runs[runs["experiment"].isin(["reordering", "overhead"])]
    return runs.join(dc.results.with_measures(logged, *SENDER)[SENDER])


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
    return plots.series(
        {
            f"{case}\n(Mbit/s)": _by(dc.results.leg_rates(run, bin_s=0.02), "leg")
            for case, run in runs.items()
        },
        until=UNTIL_S,
    )[0]


def _pairs(runs: Mapping[str, Path]) -> Any:
    """Return the rate of each connection, a panel a pair."""
    return plots.series(
        {f"{case}\n(Mbit/s)": _by(dc.results.flow_rates(run), "flow") for case, run in runs.items()}
    )[0]


def _by(rates: pd.DataFrame, column: str) -> dict[str, tuple[Any, Any]]:
    return {
        f"{column} {number}": (rows["time_s"], rows["rate_mbps"])
        for number, rows in rates.groupby(column)
    }


def claims(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield what the papers say of reordering, of proxies, of pairs and of the pacer."""
    yield from _of_reordering(runs)
    yield from _of_overhead(runs)
    yield from _of_pairs(runs)
    yield from _of_pacer(runs)


def _of_reordering(runs: pd.DataFrame) -> Iterator[Claim]:
    time, drops, lost = (
        by_seed(runs, "reordering", "case", REORDERING, measure=measure)
        for measure in ("completion_s", "drop_occasions", "lost_packets")
    )
    alone, off, on = REORDERING
    yield judge("Without reordering DC is slower than one leg: download time / SC's",
                "section 5.1, figure 5.1", time[off] / time[alone], least=1)  # fmt: skip
    yield judge("With reordering it is faster: download time / SC's",
                "section 5.1, figure 5.1", time[on] / time[alone], most=0.75)  # fmt: skip
    yield judge("Without reordering there are many more drop occasions: / SC's",
                "section 5.1, figure 5.2", drops[off] / drops[alone], least=5)  # fmt: skip
    yield judge("With reordering there are fewer than with one leg: / SC's",
                "section 5.1, figure 5.2", drops[on] / drops[alone], most=1)  # fmt: skip
    yield judge("Without reordering more packets count as lost than with one leg: / SC's",
                "section 5.1, figure 5.1", lost[off] / lost[alone], least=1)  # fmt: skip
    yield judge(
        "With reordering many more than in both other cases, as queues overflow in batches: / "
        "the larger",
        "section 5.1, figure 5.1: much more",
        lost[on] / most(lost[[alone, off]]),
        least=1.5,
    )


def _of_overhead(runs: pd.DataFrame) -> Iterator[Claim]:
    trip, rate = (
        by_seed(runs, "overhead", "case", OVERHEAD, measure=measure)
        for measure in ("rtt_ms", "goodput_mbps")
    )
    without, proxies = OVERHEAD
    yield judge("PDCP's proxies add 2 ms to the round trip (ms)", "section 5.1, table 5.1: 2.06",
                trip[proxies] - trip[without], least=1.5, most=2.6)  # fmt: skip
    yield judge("And cost throughput: with / without", "section 5.1, table 5.1: 0.93",
                rate[proxies] / rate[without], most=0.97)  # fmt: skip


def _of_pairs(runs: pd.DataFrame) -> Iterator[Claim]:
    index = by_seed(runs, "pairs", "case", PAIRS, measure="jain_index")
    for case, claim, source in zip(
        PAIRS,
        (
            "QUIC is fair to QUIC on one leg: its index",
            "QUIC and TCP are fair to each other: their index",
            "TCP is fair to TCP: its index",
            "DC is fair to one connection on each leg: their index",
        ),
        (
            "journal, appendix: close to one",
            "section 5.3, figure 5.14b; journal, appendix: close to one",
            "section 5.3, figure 5.14c; journal, appendix: close to one",
            "table 5.8: 0.9998",
        ),
        strict=True,
    ):
        yield judge(claim, source, index[case], least=0.98)


def _of_pacer(runs: pd.DataFrame) -> Iterator[Claim]:
    rate = by_seed(runs, "pacer", "case", PACER)
    near, near_unpaced, far, far_unpaced = (rate[case] for case in PACER)
    yield judge(
        "Without its pacer QUIC is hardly faster: not paced / paced, 10 ms",
        "section 6.1: almost negligible improvements in most cases",
        near_unpaced / near,
        least=0.98,
        most=1.05,
    )
    yield judge(
        "And far slower at high delays: not paced / paced, 100 ms each",
        "section 6.1: detrimental; TCP, which has none, 0.74 of it (table 5.6)",
        far_unpaced / far,
        most=0.9,
    )
