"""Which is better, Dual Connectivity or multipath?

The protocol is docs/study.md. A ratio is the best of three variants of Dual Connectivity over the
best of three of MP-QUIC: the papers' split, proportional and least-delay; uncoupled windows, LIA
and OLIA. Of TCP and MPTCP it is one against one.

The better of two sides must be better by more than 5 %, what is within is a tie. 5 % is what the
clocks differ by.

LIA and OLIA take NewReno's place in a window; the uncoupled windows and Dual Connectivity have the
point's own congestion control.

A run that fails has goodput 0 and takes for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

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
from report import report
from ways import ALONE, LEAST_DELAY, MPQUIC, MPTCP, PROPORTIONAL, TCP, dual

import minitopo_dc as dc

__all__ = ["cases", "report"]
Case = tuple[dc.Scenario, dict[str, Any]]
OF_EACH_LEG: dict[str, Any] = {
    "queue_1_ms": (10, 300, "log"),  # at the leg's mean rate
    "queue_2_ms": (10, 300, "log"),
    "loss_1_percent": [0, 0, 0, 0.01, 0.1, 1],
    "loss_2_percent": [0, 0, 0, 0.01, 0.1, 1],
}
DOWNLOADS: dict[str, Any] = {
    **NETWORKS,
    **OF_EACH_LEG,
    **CAPACITY,
    "control": ["cubic", "cubic-picoquic", "reno", "bbr1"],
    "size_mb": (0.25, 40, "log"),
}
UNSEEN: dict[str, Any] = {
    **DOWNLOADS,
    "total_mbps": (5, 60),  # linear: fewer slow networks
    "share": (0.5, 0.8),
    "delay_sum_ms": (20, 200),
    "delay_ratio": (0.33, 3, "log"),
    "loss_1_percent": (0.001, 2, "log"),  # no network without losses
    "loss_2_percent": (0.001, 2, "log"),
    "capacity": ["constant", "walk", "road"],
    "size_mb": (1, 20, "log"),
}
OF_TCP: dict[str, Any] = DOWNLOADS | {"control": ["cubic", "reno"]}
ASKED: dict[str, Any] = {
    **NETWORKS,
    **OF_EACH_LEG,
    **CAPACITY,
    "control": ["cubic", "cubic-picoquic", "reno"],
    **REQUESTS,
}


class Points(NamedTuple):
    """The number of points of each experiment in a version."""

    download: int
    again: int
    unseen: int
    some: int
    tcp: int
    requests: int


POINTS = {
    "full": Points(512, 32, 200, 32, 512, 256),
    "quick": Points(64, 4, 24, 3, 12, 16),
    "sample": Points(60, 2, 4, 2, 60, 6),  # on the real clock, in pieces: docs/study.md
}
DISORDER = {"legs_keep_order": False}
"""Of legs that reorder, which cannot tell a loss by their order."""
DC: dict[str, Fields] = {
    "dc-papers": {},  # 1:1 in batches of 100, t-Reordering 200 ms
    "dc-least-delay": dual(LEAST_DELAY, LEAST_DELAY),
    "dc-proportional": dual(PROPORTIONAL, LEAST_DELAY),
}
MULTIPATH: dict[str, Fields] = {
    "mpquic": MPQUIC,
    "mpquic-lia": MPQUIC | {"congestion_control": "lia"},
    "mpquic-olia": MPQUIC | {"congestion_control": "olia"},
}
WAYS = ALONE | DC | MULTIPATH
TCP_WAYS: dict[str, Fields] = {
    **{f"tcp-{name}": way | TCP for name, way in ALONE.items()},
    "tcp-papers": TCP,
    "tcp-least-delay": DC["dc-least-delay"] | TCP,
    "mptcp": MPTCP,
}


def jittered(*, reorder: bool) -> dict[str, Fields]:
    """Return the ways over legs with jitter."""
    order, up = DISORDER if reorder else {}, LEAST_DELAY | DISORDER
    return {
        **ALONE,
        "dc-papers": {},
        "dc-jitter": dual(LEAST_DELAY | order, up),
        "dc-jitter-proportional": dual(PROPORTIONAL | order, up),
        **MULTIPATH,
    }


def legs(point: Point, *, rlc: bool = False, up_jitter_ms: float = 0, **air: Any) -> list[dc.Leg]:
    """Return both legs of a point.

    Args:
        point: the factors.
        rlc: whether RLC in acknowledged mode with HARQ takes the place of random loss.
        up_jitter_ms: of the uplinks.
        air: other fields of the downlinks, of which reordering is of both directions.
    """
    made = []
    for number, mbps, own in halves(point):
        loss = 0 if rlc else point[f"loss_{number}_percent"]
        radio: Fields = {"rlc": {"mode": "am"}} if rlc else {"loss_percent": loss}
        queue = {"queue_ms": point[f"queue_{number}_ms"]}
        uplink: Fields = {"rate_mbps": nine(mbps / 4), "queue_packets": 1000}
        uplink |= {"jitter_ms": up_jitter_ms, "loss_percent": loss}
        made.append(leg(**own | queue | radio | air, uplink=uplink))
    return made


def fields_of(point: Point, **air: Any) -> Fields:
    """Return what all ways have in common at a point; `air` is of `legs`."""
    asked = "answer_kb" in point
    return {
        "transport": "quic-picoquic",
        "options": {"receive_buffer_bytes": 33_554_432},  # the papers' large one
        "mode": "dc",
        "clock": "virtual",
        "timeout_s": 3600,
        "congestion_control": point["control"],
        "trace_offset_s": start_s(point),
        "legs": legs(point, **air),
        "workload": requests(point) if asked else dc.Download(size_mb=point["size_mb"]),
    }


def at_points(
    experiment: str,
    points: Iterable[Point],
    ways: dict[str, Fields] = WAYS,
    *,
    seeds: Sequence[int] = (1,),
    labels: Fields | None = None,
    **air: Any,
) -> Iterator[Case]:
    """Yield each point with each way; `labels` tell what `air` and `ways` have of their own."""
    for point in points:
        common = fields_of(point, **air)
        for name, way in ways.items():
            told = {"experiment": experiment, "way": name, **point, **(labels or {})}
            for seed in seeds:
                yield dc.Scenario(**common | way, seed=seed), told


def first_networks(number: int) -> Iterator[tuple[str, Point]]:
    """Yield the first networks of `download` and of `requests`, each with its experiment."""
    for experiment, points, factors in (("download", 512, DOWNLOADS), ("requests", 256, ASKED)):
        yield from ((experiment, point) for point in dc.campaign.sobol(points, factors)[:number])


def cases(version: str) -> Iterator[Case]:
    """Yield all cases: whole points one after the other, by experiment."""
    number = POINTS[version]
    downloads = dc.campaign.sobol(512, DOWNLOADS)
    unseen = dc.campaign.latin_hypercube(200, UNSEEN, seed=7)
    some = downloads[: number.some]
    yield from at_points("download", downloads[: number.download])
    yield from at_points("download-again", downloads[: number.again], seeds=range(1, 6))
    yield from at_points("download-unseen", dc.campaign.spread(unseen, number.unseen))
    yield from at_points("radio", some, rlc=True)
    for jitter, reorder, up in [
        *((jitter, reorder, 0) for jitter in (1, 5) for reorder in (False, True)),
        *((5, reorder, 5) for reorder in (True, False)),
    ]:
        air: Fields = {"jitter_ms": jitter, "reorder": reorder}
        name, ways = "jitter-uplink" if up else "jitter", jittered(reorder=reorder)
        yield from at_points(name, some, ways, labels=air, up_jitter_ms=up, **air)
    yield from at_points("tcp", dc.campaign.sobol(512, OF_TCP)[: number.tcp], TCP_WAYS)
    yield from at_points("requests", dc.campaign.sobol(256, ASKED)[: number.requests])
