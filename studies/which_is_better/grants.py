"""What does a grant for the uplink change?

64 networks of downloads and of requests, with 0 and 10 ms from a packet that finds the uplink's
queue empty to its service (TS 38.321, clauses 5.4.4 and 5.4.5), on both legs and for both sides:
deployable Dual Connectivity with 5 ms of Xn, and MP-QUIC.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from campaign import ASKED, DOWNLOADS, fields_of
from ratios import MARGIN, Ratios, by_way, late_answers, of, shares
from ways import MPQUIC

import minitopo_dc as dc

Case = tuple[dc.Scenario, dict[str, Any]]
POINTS = {"full": 64, "quick": 4, "sample": 4}
GRANTS_MS = (0, 10)
"""10 ms: a scheduling request every 10 slots of 0.5 ms, two slots to a grant, and the same for the
buffer status report."""
DELAY_MARGIN = 0.1


def cases(version: str) -> Iterator[Case]:
    """Yield each network with each grant, on both sides."""
    number = POINTS[version]
    for experiment, points in (
        ("download", dc.campaign.sobol(512, DOWNLOADS)[:number]),
        ("requests", dc.campaign.sobol(256, ASKED)[:number]),
    ):
        for point in points:
            for grant_ms in GRANTS_MS:
                uplink = {"uplink": {"grant_ms": grant_ms}}
                base = dc.Scenario(**fields_of(point)).evolve(legs={0: uplink, 1: uplink})
                labels = {"experiment": experiment, "grant_ms": grant_ms, **point}
                yield base.with_dc("deployable", xn_ms=5), {**labels, "way": "dc"}
                yield base.evolve(**MPQUIC), {**labels, "way": "mpquic"}


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield Dual Connectivity against MP-QUIC with each grant, and each side with and without."""
    for name, margin in (("download", MARGIN), ("requests", DELAY_MARGIN)):
        mine = of(runs, name)
        if len(mine):
            yield f"{name}: DC against MP-QUIC, and 10 ms against none", shares(sides(mine), margin)


def sides(runs: pd.DataFrame) -> dict[str, Ratios]:
    """Return ratios by what they compare; above 1 the first side is better."""
    values = {}
    for grant_ms in GRANTS_MS:
        mine = runs[runs["grant_ms"] == grant_ms].drop(columns="grant_ms")
        mine.attrs["labels"] = [name for name in runs.attrs["labels"] if name != "grant_ms"]
        goodput = by_way(mine, "goodput_mbps", failed=0.01)
        waits = by_way(late_answers(mine), "answer_p95_ms", failed=60_000).clip(upper=60_000)
        values[grant_ms] = goodput if goodput.notna().to_numpy().any() else 1 / waits
    pairs = {f"DC against MP-QUIC, {ms} ms": v["dc"] / v["mpquic"] for ms, v in values.items()}
    for way in ("dc", "mpquic"):
        pairs[f"{way}: 10 ms against none"] = values[10][way] / values[0][way]
    return pairs
