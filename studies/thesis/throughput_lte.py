"""Throughput of QUIC and TCP over Dual Connectivity, LTE trace.

Appendix D of the thesis "QUIC over Dual Connectivity" (Hasselquist and Lindström, 2020), which has
figures only. The trace here is synthetic; the thesis has static_A_2018.02.12_16.14.02.csv of Raca
et al. (docs/traces.md). The capacity is that of the trace as it is; the thesis' shaping counts
Ethernet headers, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from testbed import BASE, NGTCP2, SWEEPS, WAYS, Case, leg, points

TRACE = Path(__file__).resolve().parents[2] / "traces" / "lte_a.csv"
EXPERIMENTS = [name for name in SWEEPS if not name.startswith("bandwidth")]


def cases(version: str) -> Iterator[Case]:
    """Yield all figures' points for each way; the sample has ngtcp2, too."""
    ways = WAYS | ({"ngtcp2": NGTCP2} if version == "sample" else {})
    base = BASE.evolve(
        legs=[leg(trace=TRACE, end="loop")] * 2,
        timeout_s=3600,
        workload={"size_mb": {"full": 100, "quick": 10, "sample": 20}[version]},
    )
    for experiment in EXPERIMENTS:
        mode = {"mode": "dc-duplicate"} if experiment == "loss-duplicate" else {}
        for labels, change in points(experiment, version):
            for way, fields in ways.items():
                yield base.evolve(**fields).evolve(**mode).evolve(**change), labels | {"way": way}


def seeds(version: str) -> range:
    """Return the ten of section 4.4, or two."""
    return range(1, 11 if version == "full" else 3)
