"""Latency under load.

Small requests while a download fills the legs, as in flent's tests, and goodput against the delay
of packets, as Pantheon shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

import minitopo_dc as dc
from minitopo_dc import plots

BASE = dc.Scenario(
    legs=[
        {"downlink": {"rate_mbps": 40, "delay_ms": 10, "queue_ms": 100},
         "uplink": {"rate_mbps": 20, "delay_ms": 10}},
        {"downlink": {"rate_mbps": 20, "delay_ms": 25, "queue_ms": 100},
         "uplink": {"rate_mbps": 10, "delay_ms": 25}},
    ],
    mode="dc",
    transport="quic",
    workload=dc.Download(duration_s=10),
    clock="virtual",
)  # fmt: skip
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "leg 1": ({"mode": "sc", "leg": 1}, {}),
    "DC 2:1": ({"mode": "dc"}, {"ratio": [2, 1]}),
    "DC least-delay": ({"mode": "dc"}, {"split": "least-delay", "numbering": "late"}),
}
"""How the legs are used, and the bearer."""
ASKS = {"kind": "request-response", "interval_s": 0.1, "duration_s": 10}


def cases(version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield downloads with requests beside them, and downloads whose packets are followed."""
    for seed in range(1, 6 if version == "full" else 3):
        for way, (mode, pdcp) in WAYS.items():
            base = BASE.evolve(pdcp=pdcp, seed=seed)
            flows = [mode, {**mode, "workload": ASKS}]
            labels = {"experiment": "under load", "way": way}
            yield base.evolve(mode="flows", flows=flows), labels | {"congestion": "cubic"}
            logged = base.evolve(
                **mode, virtual={"packet_delays": True}, workload={"duration_s": 3}
            )
            for control in ("cubic", "reno"):
                labels = {"experiment": "packets", "way": way, "congestion": control}
                yield logged.evolve(congestion_control=control), labels


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the delay of requests, and that of each packet."""
    load = runs[runs["experiment"] == "under load"]
    delays = plots.bars(load, "way", y="flow_2_delay_p95_ms")
    yield "Delay of requests while a download fills the legs", delays.figure
    packets = dc.results.with_measures(runs[runs["experiment"] == "packets"], "packet_delay_p95_ms")
    delays = plots.bars(packets, "congestion", "way", "packet_delay_p95_ms")
    yield "One-way delay of packets", delays.figure
