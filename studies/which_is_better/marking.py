"""What do queues that mark change for a download and the requests beside it?

128 networks with a download that never ends and small requests on the same connection: deployable
Dual Connectivity with 5 ms of Xn and MP-QUIC, over drop-tail queues and CoDel (RFC 8289) with
CUBIC, and over DualPI2 (RFC 9332) with Prague and ECN. Dual Connectivity keeps what waits where it
splits, so that it also marks there (`split`), with Prague and drop-tail queues of the legs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from campaign import fields_of, first_networks
from networks import Fields
from ratios import DELAY_MARGIN, MARGIN, by_way, of, shares
from ways import MPQUIC

import minitopo_dc as dc
from minitopo_dc.workloads import UnderLoad

Case = tuple[dc.Scenario, dict[str, Any]]
POINTS = {"full": 128, "quick": 4, "sample": 4}
L4S: Fields = {"congestion_control": "prague", "options": {"ecn": True}}
QUEUES: dict[str, tuple[str, Fields]] = {
    "drop-tail": ("drop-tail", {"congestion_control": "cubic"}),
    "codel": ("codel", {"congestion_control": "cubic", "options": {"ecn": True}}),
    "dualpi2": ("dualpi2", L4S),
}
"""By label: the discipline of both directions, and what both sides send with."""
SPLIT_MS = 5.0
"""Where a mark is made at the split: what statuses every 5 ms and 5 ms of Xn let it see."""
MEASURES = {"load_mbps": MARGIN, "loaded_p95_ms": DELAY_MARGIN}
"""With the margin of a tie."""


def cases(version: str) -> Iterator[Case]:
    """Yield each network with each queue, on both sides."""
    for experiment, point in first_networks(POINTS[version]):
        if experiment == "download":
            labels = {**point, "experiment": "marking"}
            fields = fields_of(point) | {"workload": UnderLoad(), "timeout_s": 120}
            for queue, (discipline, sender) in QUEUES.items():
                radio = {"queue_discipline": discipline}
                legs = {key: {"downlink": radio, "uplink": radio} for key in (0, 1)}
                base = dc.Scenario(**fields).evolve(**sender).evolve(legs=legs)
                yield base.with_dc("deployable", xn_ms=5), {**labels, "way": f"dc {queue}"}
                yield base.evolve(**MPQUIC), {**labels, "way": f"mpquic {queue}"}
            split = dc.Scenario(**fields).evolve(**L4S).with_dc("deployable", xn_ms=5)
            split = split.evolve(pdcp={"mark_above_ms": SPLIT_MS})
            yield split, {**labels, "way": "dc split"}


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield medians by way, and both sides and each queue against each other."""
    mine = of(runs, "marking")
    medians = mine.groupby("way", sort=False)[[*MEASURES, "idle_delay_ms"]].median()
    yield "Medians over networks", medians.round(2)
    for measure, margin in MEASURES.items():
        table = by_way(mine, measure)
        table = table if measure == "load_mbps" else 1 / table
        pairs = [(f"dc {name}", f"mpquic {name}") for name in QUEUES]
        pairs += [(f"{side} {name}", f"{side} drop-tail") for side in ("dc", "mpquic")
                  for name in ("codel", "dualpi2")]  # fmt: skip
        pairs += [("dc split", "dc drop-tail"), ("dc split", "mpquic dualpi2")]
        sides = {f"{first} against {second}": table[first] / table[second]
                 for first, second in pairs if {first, second} <= set(table)}  # fmt: skip
        yield f"{measure}: the better side", shares(sides, margin)
