"""Fairness of MP-QUIC against QUIC over Dual Connectivity.

Both ways to use two legs share them: a QUIC connection over Dual Connectivity, one of MP-QUIC, and
one on each leg alone. The thesis' fairness experiments have no MP-QUIC.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

import minitopo_dc as dc

LEG = {direction: {"rate_mbps": 20, "delay_ms": 10} for direction in ("downlink", "uplink")}
SYSTEM = {"receive_buffer_bytes": None}  # the system's own: 212,992 on Linux
MULTIPATH = {"mode": "multipath", "transport": "mpquic-picoquic", "options": SYSTEM}
ALONE = [{"mode": "sc", "leg": 1}, {"mode": "sc", "leg": 2}]
ALL: list[dict[str, Any]] = [{"mode": "dc"}, MULTIPATH, *ALONE]
BASE = dc.Scenario(
    legs=[LEG, LEG],
    mode="flows",
    flows=ALL,
    transport="quic-picoquic",
    congestion_control="reno",
    options=SYSTEM,
    workload=dc.Download(duration_s=60),
    clock="virtual",
)
STACKS = {"picoquic": "quic-picoquic", "aioquic, MP-QUIC by picoquic": "quic"}
"""With picoquic in all flows only the way to use the legs differs; aioquic is the thesis'."""
BATCHES = (2, 10, 50, 100, 200, 350, 500)


def cases(version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield all four flows for each batch size, and MP-QUIC with the two on one leg."""
    for batch in BATCHES if version == "full" else (2, 100, 500):
        for stack, transport in STACKS.items():
            made = BASE.evolve(transport=transport, pdcp={"batch": batch})
            yield made, {"experiment": "batch size", "stack": stack, "batch": batch}
    alone = BASE.evolve(flows=[MULTIPATH, *ALONE])
    yield alone, {"experiment": "without DC", "stack": "picoquic", "batch": None}


def seeds(version: str) -> range:
    """Return five seeds, or one."""
    return range(1, 6 if version == "full" else 2)


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the share of each flow, and Jain's index."""
    names = {
        "batch size": ["DC", "MP-QUIC", "SC on leg 1", "SC on leg 2"],
        "without DC": ["MP-QUIC", "SC on leg 1", "SC on leg 2"],
    }
    for experiment, ways in names.items():
        of = runs[runs["experiment"] == experiment].drop(columns="goodput_mbps")
        columns = {f"flow_{number}_goodput_mbps": way for number, way in enumerate(ways, start=1)}
        flows = of.rename(columns=columns).melt(
            ["stack", "batch", "status"], ways, var_name="way", value_name="goodput_mbps"
        )
        if experiment == "batch size":
            for stack, rows in flows.groupby("stack", sort=False):
                yield f"Shares, {stack}", dc.plots.curves(rows, "batch", "way").figure
            yield "Jain's index", dc.plots.curves(of, "batch", "stack", "jain_index").figure
        else:
            yield "Shares without DC", dc.plots.bars(flows, "way").figure
