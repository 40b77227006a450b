"""iperf3 over one leg, Dual Connectivity and MPTCP.

A program that this project knows nothing of, on the real clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

import minitopo_dc as dc
from minitopo_dc import plots

CLIENT = ["iperf3", "--client", "{server}", "--reverse", "--json", "--time", "10"]
SERVER = ["iperf3", "--server"]
LEG = dc.Leg(rate_mbps=20, uplink={"rate_mbps": 20})  # thesis, table 4.3
BASE = dc.Scenario(
    legs=[LEG, LEG],
    transport="command",
    congestion_control="reno",
    mode="dc",
    workload=dc.Command(
        server=SERVER,
        server_ready=5201,  # iperf3's own port
        client=CLIENT,
        measures={
            "received_mbps": {
                "json_path": "end.sum_received.bits_per_second", "scale": 1.0e-6, "unit": "Mbit/s"
            },
            "retransmissions": {"json_path": "end.sum_sent.retransmits", "unit": "segments"},
        },
    ),
    clock="real",
)  # fmt: skip
ADAPTIVE = {"split": "least-delay", "numbering": "late", "t_reordering_ms": "adaptive"}
MPTCP = ["mptcpize", "run"]
WAYS: dict[str, dict[str, Any]] = {
    "leg 1": {"mode": "sc"},
    "Dual Connectivity": {"pdcp": ADAPTIVE},
    "MPTCP": {
        "mode": "multipath",
        "workload": {"server": MPTCP + SERVER, "client": MPTCP + CLIENT},
    },
}


def cases(version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield each way for each rate of leg 2."""
    for rate in (20, 10, 5) if version == "full" else (20,):
        for way, fields in WAYS.items():
            made = BASE.evolve(**fields, legs={1: {"downlink": {"rate_mbps": rate}}})
            yield made, {"rate_2_mbps": rate, "way": way}


def seeds(version: str) -> range:
    """Return five seeds, or one."""
    return range(1, 6 if version == "full" else 2)


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield what iperf3 received, and what TCP sent again."""
    for title, measure in (
        ("What iperf3 received", "received_mbps"),
        ("What TCP sent again (segments)", "retransmissions"),
    ):
        yield title, plots.curves(runs, "rate_2_mbps", "way", measure).figure
