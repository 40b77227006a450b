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

import numpy as np
import pandas as pd
from claims import Claim, share, table
from learn import trees
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
from ratios import Ratios, by_way, late_answers, of, percent
from ways import ALONE, COPIES, LATE, LEAST_DELAY, MPQUIC, MPTCP, PROPORTIONAL, TCP, dual

import minitopo_dc as dc
from minitopo_dc import plots
from minitopo_dc.statistics import Proportion

Case = tuple[dc.Scenario, dict[str, Any]]
STUDIED: dict[str, Any] = {
    **NETWORKS,
    "queue_ms": (10, 300, "log"),  # of each leg at its mean rate
    "loss_percent": [0, 0, 0.01, 0.1, 1],
    **CAPACITY,
    "t_reordering_ms": [20, 50, 100, 200, 500],  # of static splits
    "control": ["cubic-picoquic", "reno", "bbr1"],
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


OTHERS = {"reno": "reno"}
"""Congestion controls of the other stacks, by picoquic's; of its others they have CUBIC."""


def stacks(point: Point, *, with_tcp: bool) -> dict[str, Fields]:
    """Return the ways that several stacks have."""
    own, other = ways(point), {"congestion_control": OTHERS.get(point["control"], "cubic")}
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
    downloads = dc.campaign.sobol(512, DOWNLOADS)
    others = dc.campaign.sobol(30, DOWNLOADS, seed=2)
    yield from at_points("download", version, downloads[:download])
    yield from at_points("requests", version, dc.campaign.sobol(256, ASKED)[:asked])
    yield from at_points("download-unseen", version, others[:unseen])
    yield from at_points("stacks", version, downloads[:stack])


SPLITS = {
    "dc-equal": "DC, equal shares",
    "dc-matched": "DC, matching shares",
    "dc-matched-late": "DC, matching shares, late",
    "dc-proportional": "DC, proportional",
    "dc-least-delay": "DC, least delay",
    "dc-duplicate": "DC, copies on both legs",
    "leg": "better leg alone",
}
"""Ways in words; of the last two, few are asked to be as good as MP-QUIC in downloads."""
AS_GOOD, NO_LONGER = 0.97, 1.03
"""Of MP-QUIC's goodput, and of its delay: repetitions of a run differ by as much."""
FACTORS = ["total_mbps", "share", "delay_sum_ms", "delay_ratio", "queue_ms", "loss_percent",
           "capacity", "start_s", "t_reordering_ms", "control", "size_mb"]  # fmt: skip


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield where each way is as good as MP-QUIC, and what decides that."""
    ran = set(runs["experiment"])
    for name in ("download", "download-unseen"):
        if name in ran:
            yield f"{name}: goodput over that of MP-QUIC", list(download_parts(gains(runs, name)))
    if "requests" in ran:
        ratios = delays(runs)
        yield (
            "requests: worst delay over that of MP-QUIC",
            [
                as_good(1 / ratios, (1 / NO_LONGER, 1, 1 / 1.1)),
                table(claimed(1 / ratios, 1 / NO_LONGER, most=("leg",))),
            ],
        )
    if "download" in ran:
        points, other = gains(runs, "download").reset_index(), "download-unseen"
        unseen = gains(runs, other).reset_index() if other in ran else None
        yield "What decides", list(trees(points, which_are_good, FACTORS, unseen))
    if "stacks" in ran:
        yield "Other stacks", table(opposed(runs))


def which_are_good(points: pd.DataFrame) -> dict[str, pd.Series[bool]]:
    """Return at which points each way is as good as MP-QUIC."""
    known = {f"{words} as good": points[way].dropna() for way, words in SPLITS.items()}
    return {words: ratios >= AS_GOOD for words, ratios in known.items()}


def gains(runs: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Return the goodput of each way over that of MP-QUIC, by point."""
    wide = by_way(of(runs, experiment), "goodput_mbps", failed=0.0)
    wide["leg"] = wide[["leg-1", "leg-2"]].max(axis=1, skipna=False)
    return wide[list(SPLITS)].div(wide["mpquic"], axis=0)


def delays(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the worst delay of each way over that of MP-QUIC, by point."""
    wide = by_way(late_answers(of(runs, "requests")), "answer_worst_ms", failed=np.inf)
    wide["leg"] = wide[["leg-1", "leg-2"]].min(axis=1, skipna=False)
    return wide[list(SPLITS)].div(wide["mpquic"], axis=0)


def download_parts(ratios: pd.DataFrame) -> Iterator[Any]:
    """Yield the tables and the figure of downloads."""
    yield as_good(ratios, (AS_GOOD, 0.9, 1))
    yield table(claimed(ratios, AS_GOOD, most=("dc-duplicate", "leg")))
    long = ratios.rename(columns=SPLITS).melt(var_name="way", value_name="gain")
    yield plots.cdf(long, "gain", "way", level=1)


def as_good(ratios: pd.DataFrame, limits: Iterable[float]) -> pd.DataFrame:
    """Return the share of points (%) at which each way reaches each limit."""
    rows = {
        words: {f"at least {limit:.3g}": percent(_part(ratios[way], limit)) for limit in limits}
        for way, words in SPLITS.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("way")


def _part(ratios: Ratios, limit: float) -> Proportion:
    known = ratios.dropna()
    return Proportion(int((known >= limit).sum()), len(known))


def claimed(ratios: pd.DataFrame, limit: float, most: Iterable[str]) -> Iterator[Claim]:
    """Yield that each way is as good in most networks, or those of `most` in few."""
    for way, words in SPLITS.items():
        yes = ratios[way].dropna() >= limit
        few = {"most": 0.5} if way in most else {"least": 0.5}
        amount = "few" if way in most else "most"
        yield share(f"{words}: as good as MP-QUIC in {amount} networks", yes, **few)


def opposed(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield that stacks do not contradict each other, by more than repetitions differ."""
    wide = by_way(of(runs, "stacks"), "goodput_mbps", failed=0.0)
    gain: dict[str, Ratios] = {
        stack: wide[[f"{dual}equal", f"{dual}proportional"]].max(axis=1, skipna=False)
        / wide[[f"{leg}-1", f"{leg}-2"]].max(axis=1, skipna=False)
        for stack, dual, leg in (("picoquic", "dc-", "leg"), ("aioquic", "aioquic-", "aioquic-leg"),
                                 ("TCP", "tcp-", "tcp-leg"))
        if f"{dual}equal" in wide
    }  # fmt: skip
    for stack, its in gain.items():
        if stack != "picoquic":
            yield _contradicts(f"{stack} on whether DC beats one leg", gain["picoquic"], its)
    if "mptcp" in wide:
        yield _contradicts(
            "TCP and MPTCP on whether DC beats multipath",
            wide["dc-proportional"] / wide["mpquic"],
            wide["tcp-proportional"] / wide["mptcp"],
        )


def _contradicts(who: str, first: Ratios, second: Ratios) -> Claim:
    both = pd.concat([first, second], axis=1).dropna()
    yes = (both.min(axis=1) < AS_GOOD) & (both.max(axis=1) > NO_LONGER)
    return share(f"picoquic is seldom contradicted by {who}", yes, most=0.1)
