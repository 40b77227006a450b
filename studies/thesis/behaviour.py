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

from testbed import BASE, WAYS, Case, Change, delayed

import minitopo_dc as dc

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
