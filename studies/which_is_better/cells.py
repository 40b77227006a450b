"""What do Dual Connectivity and MP-QUIC do in cells whose load jumps, and to the others in them?

Each leg of a network is in a cell of its own, with background users: two with Poisson downloads
(FTP model 3 of 3GPP) from the begin to the end, and one to seven with full buffers from 6 s to 10 s
in one of both cells. A leg's rate is what it has alone in its cell. Deployable Dual Connectivity
with 5 ms of Xn is set against MP-QUIC, a download that never ends with small requests beside it on
the same connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from campaign import DOWNLOADS, fields_of
from networks import Fields, Point, halves, nine
from ways import MPQUIC

import minitopo_dc as dc
from minitopo_dc.workloads import UnderLoad

Case = tuple[dc.Scenario, dict[str, Any]]
POINTS = {"full": 128, "quick": 4, "sample": 4}
FACTORS: dict[str, Any] = {
    **{name: levels for name, levels in DOWNLOADS.items() if name not in ("capacity", "start_s")},
    "total_mbps": (4, 40, "log"),
    "capacity": ["constant"],  # all that changes is load
    "load": (0.05, 0.6),  # of each cell's capacity, by downloads
    "full_buffers": [1, 2, 3, 5, 7],  # after the jump
    "jump_leg": [1, 2],
    "scheduler": ["round-robin", "proportional-fair"],
}
DOWNLOADERS = 2
JUMP_S = (6, 10)
"""When the full buffers begin and end."""
WINDOWS = {"before": (4, 6), "up": (6, 8), "loaded": (8, 10), "down": (10, 12)}
"""From and to (s): before the jump, the 2 s after it, under the load, the 2 s after its end."""
MEASURES = [f"{what}_{name}" for what in ("mbps", "delay_ms") for name in WINDOWS]
OTHERS = ["others_s", "fair_share", "cell_jain"]


def cases(version: str) -> Iterator[Case]:
    """Yield each network with both sides."""
    for point in dc.campaign.sobol(POINTS["full"], FACTORS)[: POINTS[version]]:
        labels = {**point, "experiment": "cells"}
        fields = fields_of(point) | {
            "workload": UnderLoad(idle_s=1, warm_up_s=3, interval_s=0.05, duration_s=12),
            "timeout_s": 120,
            "cells": [cell(point, number, mbps) for number, mbps, _ in halves(point)],
        }
        base = dc.Scenario(**fields)
        yield base.with_dc("deployable", xn_ms=5), {**labels, "way": "dc"}
        yield base.evolve(**MPQUIC), {**labels, "way": "mpquic"}


def cell(point: Point, leg: int, mbps: float) -> Fields:
    """Return the cell of a leg that has so many Mbit/s alone; so has each other user."""
    rate, load = nine(mbps), nine(point["load"] * mbps / DOWNLOADERS)
    users: list[Fields] = [
        {"kind": "poisson", "rate_mbps": rate, "mean_mbps": load, "users": DOWNLOADERS,
         "download_mb": nine(mbps / 20)}
    ]  # fmt: skip
    if leg == point["jump_leg"]:
        full = {"kind": "full", "rate_mbps": rate, "users": point["full_buffers"]}
        users.append(full | {"times_s": [JUMP_S]})
    return {"legs": [leg], "scheduler": point["scheduler"], "background": users}
