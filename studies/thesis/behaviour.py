"""Reordering, overhead, link utilisation and pairs of connections.

Figures 5.1, 5.2, 5.3, 5.6 to 5.8, 5.10 and 5.14 and table 5.1 of the thesis "QUIC over Dual
Connectivity" (Hasselquist and Lindström, 2020): the behaviour of single connections.

Round-trip time, drop occasions (decreases of the congestion window) and packets declared lost are
the server's, from its qlog. In the figure of a drop occasion, packets that are acknowledged after
they were declared lost had only been overtaken on the other leg.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from testbed import BASE, DEFAULT_BUFFER, LARGE_BUFFER, Case, Change

SMOOTH: Change = {  # section 5.1
    "legs": {place: {"downlink": {"jitter_ms": 0}, "uplink": {"jitter_ms": 0}} for place in (0, 1)}
}
BEARERS: dict[str, Change] = {
    "SC": {"ratio": [1, 0], "delivery": "off"},
    "DC, no reordering": {"ratio": [1, 1], "delivery": "off"},
    "DC, reordering": {"ratio": [1, 1], "delivery": "in-order"},
}
TCP = {"transport": "tcp"}
ON_1, ON_2 = {"mode": "sc", "leg": 1}, {"mode": "sc", "leg": 2}
PAIRS: dict[str, list[dict[str, Any]]] = {
    "QUIC and QUIC on leg 1": [ON_1, ON_1],
    "QUIC and TCP on leg 1": [ON_1, ON_1 | TCP],
    "TCP and TCP on leg 1": [ON_1 | TCP, ON_1 | TCP],
    "DC and SC on each leg": [{"mode": "dc"}, ON_1, ON_2],
}
SPLITS: dict[str, Change] = {
    "batch 50": {"batch": 50},
    "batch 200": {"batch": 200},
    "batch 500": {"batch": 500},
    "ratio 9:1": {"ratio": [9, 1]},
}


def cases(version: str) -> Iterator[Case]:
    """Yield the cases of each figure, as often as the thesis' text needs."""
    size: Change = {"workload": {"size_mb": 100 if version == "full" else 20}}
    few = 3 if version == "full" else 2  # a qlog of 100 MB takes 130 MB
    quic = (
        BASE.evolve(**DEFAULT_BUFFER).evolve(**size, **SMOOTH).evolve(options=qlog(DEFAULT_BUFFER))
    )
    large = BASE.evolve(**LARGE_BUFFER).evolve(**size)
    yield from several(few, "reordering", ((quic.evolve(pdcp=b), n) for n, b in BEARERS.items()))
    proxies = {
        "without_proxy": quic.evolve(mode="sc"),
        "with_proxy": quic.evolve(pdcp={"ratio": [1, 0]}),
    }
    yield from several(few, "overhead", ((made, name) for name, made in proxies.items()))
    used = large.evolve(workload={"size_mb": 20}, statistics_ms=20)
    yield from several(1, "link-utilisation", ((used.evolve(pdcp=s), n) for n, s in SPLITS.items()))
    pairs = large.evolve(mode="flows", workload={"duration_s": 180}, flows=[ON_1, ON_2])
    yield from several(2, "pairs", ((pairs.evolve(flows=f), name) for name, f in PAIRS.items()))
    yield from several(10 if version == "full" else 2, "pacer", pacers(large))


def several(seeds: int, experiment: str, made: Any) -> Iterator[Case]:
    """Yield scenarios with their names, each with so many seeds."""
    for scenario, name in made:
        for seed in range(1, seeds + 1):
            yield scenario.evolve(seed=seed), {"experiment": experiment, "case": name}


def qlog(way: Change) -> dict[str, Any]:
    """Return the options of a way whose connection is logged."""
    return {**way["options"], "qlog": True}


def pacers(large: Any) -> Iterator[tuple[Any, str]]:
    """Yield downloads with and without QUIC's pacer (section 6.1)."""
    far = {place: {"downlink": {"delay_ms": 100, "jitter_ms": 10}} for place in (0, 1)}
    for delay, scenario in (("10 ms", large), ("100 ms", large.evolve(legs=far))):
        yield scenario, f"{delay}, paced"
        # All that the window allows goes at once.
        options = {**LARGE_BUFFER["options"], "pacing": False}
        yield scenario.evolve(options=options), f"{delay}, not paced"
