"""The authors' networks of two paths, and ways to use them."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from pathlib import Path
from typing import Any

import pandas as pd

import minitopo_dc as dc

POINTS = Path(__file__).with_name("reference") / "mpquic_authors_points.csv"
Fields = dict[str, Any]
Network = tuple[dc.Scenario, dict[str, Any]]
"""A scenario without a way, and labels."""
Link = tuple[float, float]
"""Capacity (Mbit/s) and round trip (ms)."""
SYSTEM = {"receive_buffer_bytes": None}  # the system's own: 212,992 on Linux
FROM_1: Fields = {"mode": "multipath", "paths": {"initial": [1, 2], "each_carries": False}}
FROM_2: Fields = {"mode": "multipath", "paths": {"initial": [2, 1], "each_carries": False}}
QUIC: Fields = {"transport": "quic-picoquic", "options": SYSTEM}
ALONE = QUIC | {"congestion_control": "cubic", "mode": "sc"}
MPQUIC: Fields = {"transport": "mpquic-picoquic", "options": SYSTEM, "congestion_control": "olia"}
WAYS: dict[str, Fields] = {
    "QUIC on path 1": ALONE | {"leg": 1},
    "QUIC on path 2": ALONE | {"leg": 2},
    "MP-QUIC, path 1 first": MPQUIC | FROM_1,
    "MP-QUIC, path 2 first": MPQUIC | FROM_2,
}
LINUX: dict[str, Fields] = {
    "TCP on path 1": {"transport": "tcp", "mode": "sc", "leg": 1},
    "TCP on path 2": {"transport": "tcp", "mode": "sc", "leg": 2},
    "MPTCP, path 1 first": {"transport": "mptcp"} | FROM_1,
    "MPTCP, path 2 first": {"transport": "mptcp"} | FROM_2,
}
NUMBERS = [
    *(f"{what}_{path}_{unit}" for path in (1, 2)
      for what, unit in (("capacity", "mbps"), ("rtt", "ms"), ("loss", "percent"))),
]  # fmt: skip
"""The columns of the points."""
CLASSES = {
    "low-bdp": "low-bdp",
    "low-bdp-losses": "low-bdp-loss",
    "high-bdp": "high-bdp",
    "high-bdp-losses": "high-bdp-loss",
    "short": "low-bdp",
}
"""Of each experiment the networks: 253 in each class."""


def over(first: Link, second: Link, **more: Any) -> dc.Scenario:
    """Return a download of 20 MB over two paths; one way to use them is to be chosen."""
    return dc.Scenario(
        legs=[path(*first), path(*second)],
        mode="multipath",
        transport="mpquic-picoquic",
        congestion_control="cubic",
        timeout_s=7200,
        clock="virtual",
        **{"workload": dc.Download(size_mb=20.48), **more},
    )


def path(mbps: float, rtt_ms: float) -> dc.Leg:
    """Return a path that is the same in both directions, with the authors' queue."""
    queue = max(10, floor(mbps * rtt_ms * 1.048576 / 12))
    way: Any = {"rate_mbps": mbps, "delay_ms": rtt_ms / 2, "jitter_ms": 0, "queue_packets": queue}
    return dc.Leg(downlink=way, uplink=way)


def networks(experiment: str, number: int) -> Iterator[Network]:
    """Yield so many of an experiment's networks, evenly chosen; short files have 256 KB."""
    kind = CLASSES[experiment]
    table = pd.read_csv(POINTS, skipinitialspace=True)
    rows: Any = table.loc[table["class"] == kind, NUMBERS].astype(float).to_dict("records")
    points: list[Fields] = [{"point": place, **row} for place, row in enumerate(rows, start=1)]
    for point in dc.campaign.spread(points, number):
        first, second = ((point[f"capacity_{n}_mbps"], point[f"rtt_{n}_ms"]) for n in (1, 2))
        made = over(first, second)
        if experiment == "short":
            made = made.evolve(workload={"size_mb": 0.262144})
        if kind.endswith("-loss"):
            made = made.evolve(legs={n - 1: loses(point[f"loss_{n}_percent"]) for n in (1, 2)})
        yield made, {"experiment": experiment, **point}


def loses(percent: float) -> Fields:
    """Return the change of a path to random losses in both directions."""
    return {direction: {"loss_percent": percent} for direction in ("downlink", "uplink")}
