"""Multipath QUIC: Design and Evaluation.

De Coninck and Bonaventure (CoNEXT 2017) on their own networks of two paths, 253 in each of four
classes.

The queue is the authors', too: their generator takes the queuing delay for seconds where
milliseconds are meant, so that the factor adds nothing, and a queue holds one bandwidth-delay
product of a round trip (with 1,048,576 bits to the megabit), at least 10 packets.

MP-QUIC is picoquic (draft-ietf-quic-multipath, TLS 1.3) with OLIA over all paths, theirs a
prototype in quic-go with Google QUIC's handshake, OLIA, and a scheduler that sends copies on a path
that it does not know yet. QUIC on one path has CUBIC as theirs, by RFC 9438. MPTCP is the kernel's
version 1 with CUBIC on each path, as it has no coupled congestion control; theirs is version 0.91
with OLIA.

Medians are of 3 repetitions, as in their scripts (slides: 15). TCP and MPTCP, which take 2 s of a
processor for 20 MB, are in the sample only.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from pathlib import Path
from typing import Any

import minitopo_dc as dc

POINTS = Path(__file__).with_name("reference") / "authors_points.csv"
SYSTEM = {"receive_buffer_bytes": None}
QUIC = {"transport": "quic-picoquic", "options": SYSTEM}
FROM_1 = {"mode": "multipath", "paths": {"initial": [1, 2], "each_carries": False}}
FROM_2 = {"mode": "multipath", "paths": {"initial": [2, 1], "each_carries": False}}
ALONE = QUIC | {"congestion_control": "cubic-rfc9438", "mode": "sc"}
MPQUIC = {"transport": "mpquic-picoquic", "options": SYSTEM, "congestion_control": "olia"}
WAYS: dict[str, dict[str, Any]] = {
    "quic-1": ALONE | {"leg": 1},
    "quic-2": ALONE | {"leg": 2},
    "mpquic-1": MPQUIC | FROM_1,
    "mpquic-2": MPQUIC | FROM_2,
}
LINUX: dict[str, dict[str, Any]] = {
    "tcp-1": {"transport": "tcp", "mode": "sc", "leg": 1},
    "tcp-2": {"transport": "tcp", "mode": "sc", "leg": 2},
    "mptcp-1": {"transport": "mptcp"} | FROM_1,
    "mptcp-2": {"transport": "mptcp"} | FROM_2,
}
ADAPTIVE: dict[str, Any] = {
    "split": "least-delay",
    "numbering": "late",
    "t_reordering_ms": "adaptive",
    "legs_keep_order": True,
}
# Both ends learn of a leg that loses all, and send again what it had (link_failure/leg_failure).
FAILING = ADAPTIVE | {"report_ms": 20, "leg_failure_ms": 100, "data_recovery": True}
PROPORTIONAL = {"split": "proportional", "report_ms": 20}
DC = QUIC | {"mode": "dc", "split_uplink": True}
BEARERS: dict[str, dict[str, Any]] = {
    "dc-static": DC,
    "dc-least-delay": DC | {"pdcp": ADAPTIVE},
    "dc-proportional": DC | {"pdcp": ADAPTIVE | PROPORTIONAL, "uplink_pdcp": ADAPTIVE},
    "dc-duplicate": DC | {"mode": "dc-duplicate"},
    "dc-least-delay-failure": DC | {"pdcp": FAILING},
    "dc-proportional-failure": DC
    | {"pdcp": FAILING | {"split": "proportional"}, "uplink_pdcp": FAILING},
}
COLUMNS = {
    f"{factor}_{leg}": (f"{factor}_{leg}_{unit}", 0, most)
    for leg in (1, 2)
    for factor, unit, most in (
        ("capacity", "mbps", 100),
        ("rtt", "ms", 400),
        ("loss", "percent", 2.5),
    )
}
"""Of each factor the column, and the least and most value."""
Link = tuple[float, float]
"""Capacity (Mbit/s) and round trip (ms)."""
EXAMPLE: tuple[Link, Link] = ((20, 20), (15, 40))
NAMED: dict[str, tuple[Link, Link]] = {
    "18.9 and 0.43 Mbit/s": ((18.9, 49.4), (0.43, 10.6)),
    "0.14 and 49.72 Mbit/s": ((0.14, 27.2), (49.72, 46.4)),
}
"""The two networks that the slides name: rows 112 and 3 of the points."""
ENDS: dict[str, dict[str, Any]] = {
    "is down": {"outages": [[3, 1000]]},  # its own node knows; so do the adaptive splits
    "loses all": {  # nobody is told
        direction: {"changes": [{"at_s": 3, "loss_percent": 100}]}
        for direction in ("downlink", "uplink")
    },
}
ASKS = dc.RequestResponse(request_bytes=750, response_bytes=750, interval_s=0.4, duration_s=12)


def over(first: Link, second: Link, **more: Any) -> dc.Scenario:
    """Return a download over two paths, each with its capacity (Mbit/s) and round trip (ms)."""
    return dc.Scenario(
        legs=[path(*first), path(*second)],
        mode="multipath",
        transport="mpquic-picoquic",
        congestion_control="cubic",
        timeout_s=7200,
        clock="virtual",
        **{"workload": dc.Download(size_mb=20.48), **more},
    )


def path(mbps: float, rtt_ms: float) -> dict[str, Any]:
    """Return a path that is the same in both directions, with the authors' queue."""
    queue = max(10, floor(mbps * rtt_ms * 1.048576 / 12))
    direction = {"rate_mbps": mbps, "delay_ms": rtt_ms / 2, "jitter_ms": 0, "queue_packets": queue}
    return {"downlink": direction, "uplink": direction}


Network = tuple[dc.Scenario, dict[str, Any], dict[str, dict[str, Any]]]
"""A scenario with its labels, and the ways that are run."""


def cases(version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield all experiments with their seeds: three, five of the handover, one in the quick one."""
    quick = version == "quick"
    for seed in range(1, 2 if quick else 4):
        for scenario, labels, ways in (*networks(version), *named()):
            for way, fields in ways.items():
                yield scenario.evolve(**fields, seed=seed), labels | {"way": way}
    for seed in range(1, 2 if quick else 6):
        yield from handovers(seed)


def networks(version: str) -> Iterator[Network]:
    """Yield downloads over the authors' networks, and short ones over those of the first class."""
    number = {"full": 253, "quick": 24, "sample": 10}[version]
    ways = WAYS | (LINUX if version == "sample" else {})
    for experiment, kind in (
        ("low-bdp", "low-bdp"),
        ("low-bdp-losses", "low-bdp-loss"),
        ("high-bdp", "high-bdp"),
        ("high-bdp-losses", "high-bdp-loss"),
        ("short", "low-bdp"),
    ):
        for point in dc.spread(dc.points_of(POINTS, COLUMNS, where={"class": kind}), number):
            first, second = ((point[f"capacity_{leg}"], point[f"rtt_{leg}"]) for leg in (1, 2))
            made = over(first, second)
            if experiment == "short":
                made = made.evolve(workload={"size_mb": 0.262144})
            if kind.endswith("-loss"):
                made = made.evolve(legs={0: lossy(point, 1), 1: lossy(point, 2)})
            yield made, {"experiment": experiment, **point}, ways


def lossy(point: dict[str, Any], leg: int) -> dict[str, Any]:
    """Return the change of a leg to the losses of a network."""
    loss = {"loss_percent": point[f"loss_{leg}"]}
    return {"downlink": loss, "uplink": loss}


def named() -> Iterator[Network]:
    """Yield the networks that the slides name."""
    ways = {name: fields for name, fields in (WAYS | LINUX).items() if not name.startswith("tcp")}
    example = {name: ways[name] for name in ("mpquic-1", "mptcp-1")}
    yield over(*EXAMPLE), {"experiment": "example", "network": "the example"}, example
    for name, network in NAMED.items():
        yield over(*network), {"experiment": "named", "network": name}, ways


def handovers(seed: int) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield requests while path 1 ends at 3 s, over all ways to use both paths."""
    base = over((10, 15), (10, 25), workload=ASKS, seed=seed)
    ways = {"quic-1": WAYS["quic-1"], "mpquic-1": WAYS["mpquic-1"], "mptcp-1": LINUX["mptcp-1"]}
    for end, change in ENDS.items():
        for way, fields in (ways | BEARERS).items():
            labels = {"experiment": "handover", "path_1": end, "way": way}
            yield base.evolve(legs={0: change}).evolve(**fields), labels
