"""Goodput against t-Reordering.

How long the receiving PDCP entity waits for what is missing: fixed values, one that adapts, and
losses that the legs' order tells (docs/pdcp.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import minitopo_dc as dc

TRACES = Path(__file__).resolve().parents[2] / "traces"
UPLINK: Any = {"rate_mbps": 20, "delay_ms": 10, "queue_packets": 10_000}
LEG = dc.Leg(rate_mbps=20, uplink=UPLINK)  # thesis, table 4.3
BASE = dc.Scenario(
    legs=[LEG, LEG],
    transport="quic",
    mode="dc",
    congestion_control="reno",
    options={"receive_buffer_bytes": 32 << 20},
    workload=dc.Download(size_mb=10),
    clock="virtual",
)
TIMERS: dict[str, dict[str, Any]] = {
    "20 ms": {"t_reordering_ms": 20},
    "100 ms": {"t_reordering_ms": 100},
    "200 ms": {"t_reordering_ms": 200},  # the papers'
    "1000 ms": {"t_reordering_ms": 1000},
    "infinity": {"t_reordering_ms": "infinity"},  # one loss stops it: such runs fail
    "adaptive": {"t_reordering_ms": "adaptive"},
    "200 ms, by order": {"t_reordering_ms": 200, "legs_keep_order": True},
    "adaptive, by order": {"t_reordering_ms": "adaptive", "legs_keep_order": True},
}


def lossy(percent: float) -> dict[str, Any]:
    """Return a change of both downlinks' random losses."""
    return {"legs": {key: {"downlink": {"loss_percent": percent}} for key in (0, 1)}}


FAR = BASE.evolve(legs={1: {"downlink": {"delay_ms": 50}}})
LTE = BASE.evolve(
    legs=[{"downlink": {"trace": TRACES / f"lte_{leg}.csv"}, "uplink": UPLINK} for leg in "ab"],
    pdcp={"split": "least-delay"},
)
LINKS = {
    "equal": BASE,
    "0.1 % loss": BASE.evolve(**lossy(0.1)),
    "1 % loss": BASE.evolve(**lossy(1)),
    "10 and 50 ms": FAR,
    "10 and 50 ms, 0.1 % loss": FAR.evolve(**lossy(0.1)),
    "LTE, least-delay": LTE,
    "LTE, least-delay, 0.1 % loss": LTE.evolve(**lossy(0.1)),
}


def cases(_version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield each timer over all legs."""
    for name, scenario in LINKS.items():
        for timer, pdcp in TIMERS.items():
            yield scenario.evolve(pdcp=pdcp), {"legs": name, "way": timer}


def seeds(version: str) -> range:
    """Return three seeds, or one."""
    return range(1, 4 if version == "full" else 2)
