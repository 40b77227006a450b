"""What do others get behind a common bottleneck, beside Dual Connectivity and beside multipath?

The networks of `answer.py` with random losses, with a link between gnb and the server that has half
of what both legs have: the bottleneck of all flows. One or four connections over leg 1 run beside
each way for ten seconds, on the real clock, which alone has such a link.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pandas as pd
from answer import beside
from answer_report import others
from campaign import DOWNLOADS
from networks import nine

import minitopo_dc as dc

NETWORKS = {"full": 2, "quick": 1, "sample": 0}
LINK: dict[str, Any] = {"delay_ms": 5, "queue_packets": None, "queue_ms": 40}


def cases(version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield each network with each number of connections beside each way."""
    networks = dc.campaign.sobol(512, DOWNLOADS)[: NETWORKS[version]]
    for point, count in product(networks, (1, 4)):
        link = LINK | {"rate_mbps": nine(point["total_mbps"] / 2)}
        for made, labels in beside({**point, "control": "cubic"}, count):
            real = made.evolve(clock="real", real={"backhaul": [link]})
            yield real, labels | {"experiment": "bottleneck"}


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield what a way and the connections beside it get, over one more such connection."""
    yield "Behind a common bottleneck: what the connections beside each way get", others(runs)
