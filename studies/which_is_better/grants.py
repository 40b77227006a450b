"""What does a grant for the uplink change?

64 networks of downloads, of requests and of uploads, with 0 and 10 ms from a packet that finds the
uplink's queue empty to its service (TS 38.321, clauses 5.4.4 and 5.4.5), on both legs and for both
sides: deployable Dual Connectivity with 5 ms of Xn, and MP-QUIC. Uploads are the requests' networks
with 300 kB up for 750 bytes down: beyond ul-DataSplitThreshold, so that both uplinks are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from campaign import fields_of, first_networks
from networks import Point, nine, requests
from ratios import DELAY_MARGIN, MARGIN, Ratios, shares, speeds
from ways import MPQUIC

import minitopo_dc as dc

Case = tuple[dc.Scenario, dict[str, Any]]
POINTS = {"full": 64, "quick": 4, "sample": 4}
MARGINS = {"download": MARGIN, "requests": DELAY_MARGIN, "uploads": DELAY_MARGIN}
"""Of a tie, by experiment."""
GRANTS_MS = (0, 10)
"""10 ms: a scheduling request every 10 slots of 0.5 ms, two slots to a grant, and the same for the
buffer status report."""


UPLOAD_KB = 300
"""A photograph. ul-DataSplitThreshold is 51.2 kB."""


def cases(version: str) -> Iterator[Case]:
    """Yield each network with each grant, on both sides."""
    networks = list(first_networks(POINTS[version]))
    uploads = [("uploads", point) for experiment, point in networks if experiment == "requests"]
    for experiment, point in networks + uploads:
        for grant_ms in GRANTS_MS:
            uplink = {"uplink": {"grant_ms": grant_ms}}
            base = dc.Scenario(**fields_of(point)).evolve(legs={0: uplink, 1: uplink})
            if experiment == "uploads":
                base = base.evolve(workload=upload(point))
            labels = {"experiment": experiment, "grant_ms": grant_ms, **point}
            yield base.with_dc("deployable", xn_ms=5), {**labels, "way": "dc"}
            yield base.evolve(**MPQUIC), {**labels, "way": "mpquic"}


def upload(point: Point) -> dc.RequestResponse:
    """Return 100 uploads that load the uplinks, which have a quarter of a network's rate."""
    mbps = point["load"] * point["total_mbps"] / 4
    interval_s = nine(UPLOAD_KB / 125 / mbps)
    return requests(point).evolve(
        request_bytes=1000 * UPLOAD_KB, response_bytes=750, interval_s=interval_s
    )


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield Dual Connectivity against MP-QUIC with each grant, and each side with and without."""
    for name, margin in MARGINS.items():
        if (runs["experiment"] == name).any():
            table = shares(sides(runs, name), margin)
            yield f"{name}: DC against MP-QUIC, and 10 ms against none", table


def sides(runs: pd.DataFrame, experiment: str) -> dict[str, Ratios]:
    """Return ratios by what they compare; above 1 the first side is better."""
    values = {}
    for grant_ms in GRANTS_MS:
        mine = runs[runs["grant_ms"] == grant_ms].drop(columns="grant_ms")
        mine.attrs["labels"] = runs.attrs["labels"]
        values[grant_ms] = speeds(mine, experiment, ["dc", "mpquic"])
    pairs = {f"DC against MP-QUIC, {ms} ms": v["dc"] / v["mpquic"] for ms, v in values.items()}
    for way in ("dc", "mpquic"):
        pairs[f"{way}: 10 ms against none"] = values[10][way] / values[0][way]
    return pairs
