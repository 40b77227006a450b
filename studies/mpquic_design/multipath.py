"""Multipath transports on two to four legs.

What transports make of several legs, on both clocks: rates, delays, traces, congestion controls.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import minitopo_dc as dc

TRACES = Path(__file__).resolve().parents[2] / "traces"


def leg(rate_mbps: float = 20, delay_ms: float = 10) -> dict[str, Any]:
    """Return a leg with the same rate and delay in both directions."""
    direction = {"rate_mbps": rate_mbps, "delay_ms": delay_ms}
    return {"downlink": direction, "uplink": direction}


BASE = dc.Scenario(
    legs=[leg(), leg()],
    mode="multipath",
    transport="mpquic-picoquic",
    congestion_control="cubic",
    workload=dc.Download(size_mb=20),
    clock="virtual",
)
SYSTEM = {"receive_buffer_bytes": None}  # the system's own: 212,992 on Linux
WAYS: dict[str, dict[str, Any]] = {
    "MP-QUIC (picoquic), NewReno": {"congestion_control": "reno", "options": SYSTEM},
    "MP-QUIC (picoquic), CUBIC": {"congestion_control": "cubic-picoquic", "options": SYSTEM},
    "MP-QUIC (picoquic), BBRv1": {"congestion_control": "bbr1", "options": SYSTEM},
    "MP-QUIC (picoquic), FAST": {"congestion_control": "fast", "options": SYSTEM},
    "MPTCP, CUBIC": {"transport": "mptcp"},
}
BBR3: dict[str, Any] = {"congestion_control": "bbr", "options": SYSTEM}
LOSSY = {
    name: WAYS[f"MP-QUIC (picoquic), {name}"] for name in ("NewReno", "CUBIC", "BBRv1")
} | {"BBRv3": BBR3}  # fmt: skip
LINKS: dict[str, list[Any]] = {
    "20 + 20 Mbit/s": [leg(), leg()],
    "30 + 10 Mbit/s": [leg(30), leg(10)],
    "10 and 60 ms": [leg(), leg(20, 60)],
    "LTE traces": [
        {
            "downlink": {"trace": TRACES / f"lte_{name}.csv", "delay_ms": 10},
            "uplink": leg()["uplink"],
        }
        for name in "ab"
    ],
}


def cases(version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield the transports over links, over two to four legs, and over legs that lose packets."""
    del version  # which only has fewer seeds
    counts = {str(number): [leg()] * number for number in (2, 3, 4)}
    for experiment, links in (("links", LINKS), ("legs", counts)):
        for name, legs in links.items():
            for way, fields in WAYS.items():
                labels = {"experiment": experiment, "legs": name, "way": way}
                yield BASE.evolve(**fields, legs=legs), labels
    for loss in (0, 0.1, 0.5, 1, 2):
        lossy = {key: {"downlink": {"loss_percent": loss}} for key in (0, 1)}
        for way, fields in LOSSY.items():
            yield (
                BASE.evolve(**fields, legs=lossy),
                {"experiment": "loss", "loss_percent": loss, "way": way},
            )


def seeds(version: str) -> range:
    """Return five seeds, two or one."""
    return range(1, {"full": 6, "sample": 3}.get(version, 2))
