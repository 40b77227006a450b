"""Requests and responses while leg 1 goes down at 3 s.

How long an answer takes when the path that carried it is gone: the handover experiment of
"Multipath QUIC: Design and Evaluation" (De Coninck and Bonaventure, CoNEXT 2017, section 4.3) with
link-layer Dual Connectivity beside the transports. DC is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import minitopo_dc as dc

BASE = dc.Scenario(
    legs=[  # round trips of 15 and 25 ms, as in the paper
        dc.Leg(rate_mbps=10, delay_ms=7.5, uplink={"rate_mbps": 10}, outages=[[3, 1000]]),
        dc.Leg(rate_mbps=10, delay_ms=12.5, uplink={"rate_mbps": 10}),
    ],
    mode="dc",
    transport="quic",
    congestion_control="cubic",
    split_uplink=True,  # both directions change legs
    workload=dc.RequestResponse(
        request_bytes=750, response_bytes=750, interval_s=0.4, duration_s=20
    ),
    clock="virtual",
)
STACKS: dict[str, dict[str, Any]] = {
    "QUIC": {"transport": "quic", "options": {"receive_buffer_bytes": None}},
    "TCP": {"transport": "tcp"},
}
SPLITS: dict[str, dict[str, Any]] = {
    "one leg": {"mode": "sc", "split_uplink": False},
    "DC batch 100": {},
    "DC batch 2": {"pdcp": {"batch": 2}},
    "DC duplicate": {"mode": "dc-duplicate"},
    "DC least-delay": {"pdcp": {"split": "least-delay"}},
}
MPTCP = {"transport": "mptcp", "mode": "multipath", "split_uplink": False}


def cases(_version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield each split for both stacks, and MPTCP."""
    for stack, fields in STACKS.items():
        for split, changes in SPLITS.items():
            yield BASE.evolve(**(fields | changes)), {"stack": stack, "way": split}
    yield BASE.evolve(**MPTCP), {"stack": "TCP", "way": "MPTCP"}


def seeds(version: str) -> range:
    """Return five seeds, or one."""
    return range(1, 6 if version == "full" else 2)
