"""Which is better over legs that are LTE and NR carriers?

Three pairs by name and ten that differ in one thing, each leg alone, three Dual Connectivities
(the deployable one with Xn of 0, 5 and 20 ms) and MP-QUIC, with downloads, requests and a call.
The carriers, and what their values rest on: docs/carriers.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from typing import Any

import pandas as pd

import minitopo_dc as dc
from minitopo_dc.numbers import significant
from minitopo_dc.scenario.carriers import PAIRS
from minitopo_dc.statistics import mean_interval

DRX = {"on_ms": 10, "inactivity_ms": 100, "cycle_ms": 160}
LTE_DRX = {
    "on_ms": 10,
    "inactivity_ms": 200,
    "cycle_ms": 320,
    "short_cycle_ms": 40,
    "short_cycles": 2,
}
"""Of captured networks."""
NETWORKS: Mapping[str, list[Any]] = {
    "en-dc": list(PAIRS["en-dc"]),
    "nr-dc": list(PAIRS["nr-dc"]),
    "two-operators": list(PAIRS["two-operators"]),
    "5g-wifi": list(PAIRS["5g-wifi"]),
    "5g-satellite": list(PAIRS["5g-satellite"]),
    "lte + lte": [dc.lte(), dc.lte(mcs=14)],
    "n1 + n78": [dc.nr("n1", 20), dc.nr()],
    "lte-10 + nr-tdd-40": [dc.lte(10), dc.nr("n78", 40)],
    "en-dc, cell edge": [dc.lte(mcs=10), dc.nr(cqi=3, uplink_cqi=3)],
    "en-dc, 30 % block errors": [dc.lte(), dc.nr(block_error_percent=30)],
    "en-dc, DDDDDDDSUU": [dc.lte(), dc.nr(tdd="DDDDDDDSUU")],
    "en-dc, proactive grants": [dc.lte(sr_ms=0), dc.nr(sr_ms=0)],
    "en-dc, DRX": [dc.lte(drx=LTE_DRX), dc.nr(drx=DRX)],
}
WORKLOADS: Mapping[str, tuple[Any, str]] = {
    "1 MB": (dc.Download(size_mb=1), "goodput_mbps"),
    "10 MB": (dc.Download(size_mb=10), "goodput_mbps"),
    "100 MB": (dc.Download(size_mb=100), "goodput_mbps"),
    "requests": (dc.RequestResponse(), "delay_p95_ms"),
    "call": (dc.Realtime(bitrate_mbps=1.5, duration_s=30), "frame_delay_p95_ms"),
}
"""What is done, and the measure that the table has of it."""
XN_MS = (0, 5, 20)
SAMPLE = {"networks": ("en-dc",), "workloads": ("10 MB",)}


def cases(version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield each way over each network with each workload; the sample has one of both."""
    sample = version == "sample"
    for network in SAMPLE["networks"] if sample else NETWORKS:
        for name in SAMPLE["workloads"] if sample else WORKLOADS:
            base = dc.Scenario(
                transport="quic-picoquic",
                mode="dc",
                clock="virtual",
                legs=NETWORKS[network],
                workload=WORKLOADS[name][0],
                primary_leg="nearest",
                congestion_control="cubic",
            )
            for way, scenario in ways(base):
                yield scenario, {"network": network, "workload": name, "way": way}


def ways(base: dc.Scenario) -> Iterator[tuple[str, dc.Scenario]]:
    """Yield what is compared over the same legs."""
    for leg in (1, 2):
        yield f"leg {leg}", base.evolve(mode="sc", leg=leg)
    yield "DC papers'", base.with_dc("papers")
    for xn_ms in XN_MS:
        yield f"DC, Xn {xn_ms} ms", base.with_dc("deployable", xn_ms=xn_ms)
    yield "DC ideal", base.with_dc("ideal")
    paths = {"initial": [1, 2], "each_carries": False}
    yield "MP-QUIC", base.evolve(transport="mpquic-picoquic", mode="multipath", paths=paths)


def seeds(version: str) -> range:
    """Return five seeds, or one."""
    return range(1, 6 if version == "full" else 2)


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield a table a workload: the mean of each way over each network, with its interval."""
    for name, (_, measure) in WORKLOADS.items():
        own = runs[(runs["workload"] == name) & (runs["status"] == "ok")]
        if len(own):
            yield f"{name}: {measure}", table(own, measure)


def table(runs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the means of a measure, and half their 95 % intervals, by network and way."""

    def text(values: pd.Series[float]) -> str:
        interval = mean_interval(list(values))
        half = (interval.high - interval.low) / 2
        return significant(values.mean()) + ("" if isnan(half) else f" ± {round(half, 1):g}")

    shown = runs.groupby(["network", "way"], sort=False)[measure].apply(text).unstack()
    return shown.reindex(columns=runs["way"].unique(), index=runs["network"].unique())
