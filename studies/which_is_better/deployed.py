"""Where is Dual Connectivity as good as multipath?

Every way is picoquic, with the point's congestion control, over the same two legs: over each leg
alone, over Dual Connectivity with each split, and as MP-QUIC. Those named aioquic, tcp and mptcp
are second and third opinions; where the point has BBR they have CUBIC.

A gain is Dual Connectivity's goodput over that of MP-QUIC at the same point; above 1 Dual
Connectivity is better. A delay is Dual Connectivity's over that of MP-QUIC; below 1 Dual
Connectivity is better.

Leg 1 has the greater mean rate. Static splits know the mean rates, not the moment's; they send up
on leg 1, as in the papers; the adaptive ones send up by least delay, duplication on both legs.

Capacity lte: the embedded LTE traces; drive: the first channels of both operators on the embedded
residential drive; from a moment of the point's on, times what gives the mean that the point has.
Uplinks are constant.

The better leg alone is the one that proved better in what is measured. A run that fails, e.g. as
it takes more than an hour, has goodput 0 and takes for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from networks import (
    CAPACITY,
    NETWORKS,
    REQUESTS,
    Fields,
    Point,
    halves,
    leg,
    nine,
    requests,
    start_s,
)
from ways import ALONE, COPIES, LATE, LEAST_DELAY, MPQUIC, MPTCP, PROPORTIONAL, TCP, dual

import minitopo_dc as dc

Case = tuple[dc.Scenario, dict[str, Any]]
STUDIED: dict[str, Any] = {
    **NETWORKS,
    "queue_ms": (10, 300, "log"),  # of each leg at its mean rate
    "loss_percent": [0, 0, 0.01, 0.1, 1],
    **CAPACITY,
    "t_reordering_ms": [20, 50, 100, 200, 500],  # of static splits
    "control": ["cubic", "reno", "bbr1"],
}
DOWNLOADS: dict[str, Any] = STUDIED | {"size_mb": (0.25, 40, "log")}
ASKED: dict[str, Any] = STUDIED | REQUESTS
POINTS = {"full": (512, 256, 30, 64), "quick": (32, 16, 8, 8), "sample": (10, 10, 1, 10)}
"""The number of points of each experiment in a version."""
ADAPTIVE = {
    "dc-proportional": dual(PROPORTIONAL, LEAST_DELAY),
    "dc-least-delay": dual(LEAST_DELAY, LEAST_DELAY),
    "dc-duplicate": COPIES,
}


def ways(point: Point) -> dict[str, Fields]:
    """Return picoquic's ways; static splits have the point's t-Reordering and mean rates."""
    share, timer = point["share"], {"t_reordering_ms": point["t_reordering_ms"]}
    ratio = {"ratio": [round(20 * share), max(round(20 * (1 - share)), 1)]}
    return {
        **ALONE,
        "dc-equal": {"pdcp": timer},
        "dc-matched": {"pdcp": timer | ratio},
        "dc-matched-late": {"pdcp": LATE | ratio},  # and the rest of what the adaptive ones have
        **ADAPTIVE,
        "mpquic": MPQUIC,
    }


def stacks(point: Point, *, with_tcp: bool) -> dict[str, Fields]:
    """Return the ways that several stacks have."""
    control = "cubic" if point["control"] == "bbr1" else point["control"]
    own, other = ways(point), {"congestion_control": control}
    kinds = [("", {}), ("aioquic-", {"transport": "quic", **other})]
    kinds += [("tcp-", TCP | other)] if with_tcp else []
    names = {"leg-1": "leg-1", "leg-2": "leg-2"}
    names |= {f"dc-{split}": split for split in ("equal", "proportional")}
    found = {
        before + (short if before else name): own[name] | kind
        for before, kind in kinds
        for name, short in names.items()
    }
    return found | {"mpquic": MPQUIC} | ({"mptcp": MPTCP | other} if with_tcp else {})


def legs(point: Point) -> list[dc.Leg]:
    """Return both legs of a point, whose uplinks have no losses."""
    made = []
    for _, mbps, own in halves(point):
        fields = {"queue_ms": point["queue_ms"], "loss_percent": point["loss_percent"]}
        uplink: Fields = {"rate_mbps": nine(mbps), "jitter_ms": 0, "queue_packets": 10_000}
        made.append(leg(**own | fields, uplink=uplink))
    return made


def at_points(experiment: str, version: str, points: Iterable[Point]) -> Iterator[Case]:
    """Yield each point with each way of an experiment."""
    sample = version == "sample"
    for point in points:
        asked = "answer_kb" in point
        common: Fields = {
            "transport": "quic-picoquic",
            "options": {"receive_buffer_bytes": None},  # the system's own: 212,992 on Linux
            "mode": "dc",
            "clock": "virtual",
            "timeout_s": 300 if sample else 3600,
            "congestion_control": point["control"],
            "trace_offset_s": start_s(point),
            "legs": legs(point),
            "workload": requests(point) if asked else dc.Download(size_mb=point["size_mb"]),
        }
        mine = stacks(point, with_tcp=sample) if experiment == "stacks" else ways(point)
        for name, way in mine.items():
            yield dc.Scenario(**common | way), {"experiment": experiment, "way": name, **point}


def cases(version: str) -> Iterator[Case]:
    """Yield all cases: whole points one after the other, by experiment."""
    download, asked, unseen, stack = POINTS[version]
    downloads = dc.sobol(512, DOWNLOADS)
    others = dc.sobol(30, DOWNLOADS, seed=2)
    yield from at_points("download", version, downloads[:download])
    yield from at_points("requests", version, dc.sobol(256, ASKED)[:asked])
    yield from at_points("download-unseen", version, others[:unseen])
    yield from at_points("stacks", version, downloads[:stack])
