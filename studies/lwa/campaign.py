"""LTE and WiFi: Dual Connectivity beside multipath.

3GPP's LTE-WLAN aggregation (TS 36.300, clause 22A): one bearer of PDCP over both, split statically
or by what its legs can carry, beside MP-QUIC over the same two legs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import minitopo_dc as dc
from minitopo_dc import claims, plots
from minitopo_dc.claims import Claim, Known

TRACE = Path(__file__).resolve().parents[2] / "traces" / "lte_a.csv"
BASE = dc.Scenario(
    mode="dc",
    transport="quic-picoquic",
    options={"receive_buffer_bytes": None},  # the system's own: 212,992 on Linux
    congestion_control="cubic-picoquic",
    workload=dc.Download(size_mb=20),
    legs=[
        {"downlink": {"rate_mbps": 20, "delay_ms": 20,
                      "rlc": {"mode": "am", "block_error_percent": 10}},
         "uplink": {"rate_mbps": 20, "delay_ms": 20}},
        {"wifi": {"rate_mbps": 39, "mpdu_error_percent": 5},  # MCS 4
         "downlink": {"delay_ms": 2, "jitter_ms": 0.5},
         "uplink": {"delay_ms": 2, "jitter_ms": 0.5}},
    ],
    clock="virtual",
)  # fmt: skip
ADAPTIVE = {"numbering": "late", "t_reordering_ms": "adaptive", "legs_keep_order": True}
CREDIT = {"split": "credit", "flow_control": {"backhaul_ms": 5}}
WAYS: dict[str, dict[str, Any]] = {
    "LTE alone": {"mode": "sc", "leg": 1},
    "WiFi alone": {"mode": "sc", "leg": 2},
    "DC 1:1": {"pdcp": {"batch": 10}},
    "DC 1:2": {"pdcp": {"batch": 10, "ratio": [1, 2]}},  # what the legs carry on average
    "DC least-delay": {"pdcp": ADAPTIVE | {"split": "least-delay"}},
    "DC credit": {"pdcp": ADAPTIVE | CREDIT},
    "MP-QUIC": {"transport": "mpquic-picoquic", "mode": "multipath"},
}
GROUPS = {
    "alone": ("LTE alone", "WiFi alone"),
    "static": ("DC 1:1", "DC 1:2"),
    "adaptive": ("DC least-delay", "DC credit"),
}
CHANNELS: dict[str, dict[int, Any]] = {
    "alone": {},
    "20 % load": {1: {"wifi": {"load_percent": 20}}},
    "50 % load of 5": {1: {"wifi": {"load_percent": 50, "stations": 5}}},
    "20 % MPDU errors": {1: {"wifi": {"mpdu_error_percent": 20}}},
    "bursts of errors": {1: {"wifi": {"error_bursts": {"p": 0.02, "r": 0.1}}}},
    "2 hops": {1: {"wifi": {"hops": 2}}},
    "LTE trace": {},
}


def cases(version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield each way over each channel; the sample has one of these."""
    for channel, change in CHANNELS.items():
        if version == "sample" and channel != "20 % load":
            continue
        for way, fields in WAYS.items():
            yield over(BASE.evolve(**fields), channel, change), {"channel": channel, "way": way}


def over(scenario: dc.Scenario, channel: str, change: dict[int, Any]) -> dc.Scenario:
    """Return a scenario over a channel."""
    if channel == "LTE trace":
        lte = {"downlink": {"trace": TRACE, "delay_ms": 20}, "uplink": scenario.legs[0].uplink}
        return scenario.evolve(legs=[lte, scenario.legs[1]])
    return scenario.evolve(legs=change)


def seeds(version: str) -> range:
    """Return five seeds, or one."""
    return range(1, 6 if version == "full" else 2)


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the claims, and the goodput over each channel."""
    yield "Claims", claims.table(judged(runs))
    yield "Goodput", plots.bars(runs, "channel", "way").figure


def judged(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield our claims: channels are points."""

    def numbers(mbps: Known) -> dict[str, Any]:
        best = {
            name: pd.concat([mbps[way] for way in ways], axis=1).max(axis=1)
            for name, ways in GROUPS.items()
        }
        over = {name: best["adaptive"] / best[name] for name in ("alone", "static")}
        return over | {"multipath": best["adaptive"] / mbps["MP-QUIC"]}

    seen = claims.points(runs, ["channel"], "way", "goodput_mbps", numbers)
    yield Claim("adaptive DC is faster than the better leg alone", least=1).every(seen, "alone")
    yield Claim("an adaptive split is faster than a static one", least=1).every(seen, "static")
    yield Claim(
        "adaptive DC and MP-QUIC are alike: middle ratio of goodputs", least=0.9, most=1.1
    ).number(np.median, seen, "multipath")
