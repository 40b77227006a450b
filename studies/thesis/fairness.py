"""Fairness of QUIC over Dual Connectivity.

Tables 5.8 to 5.12 of the thesis "QUIC over Dual Connectivity" (Hasselquist and Lindström, 2020):
one connection over Dual Connectivity beside one on each leg.

The thesis studies QUIC with the large buffer (section 4.4). With duplication it measured at the
links, where every copy counts; DC's goodput is about half of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from testbed import BASE, LARGE_BUFFER, SWEEPS, Case, points

ALONE: list[dict[str, Any]] = [{"mode": "sc", "leg": 1}, {"mode": "sc", "leg": 2}]
QUICK: dict[str, tuple[float, ...]] = {
    "batch-size": (2, 50, 100, 150, 200, 300, 500),
    "dc-ratio": (0, 20, 50, 80, 100),
    "bandwidth-ratio": (1, 2, 3, 4, 5),
    "bandwidth-and-dc-ratio": (1, 2, 3, 4, 5),
    "delay-ratio-low": (1, 2, 3, 4, 5),
    "delay-ratio-high": (1, 2, 3, 4, 5),
    "loss": (0, 0.05, 0.1, 0.15, 0.2),
    "loss-duplicate": (0, 1, 2, 3, 4, 5),
}


def cases(version: str) -> Iterator[Case]:
    """Yield the points of all of the thesis' tables."""
    # Section 4.4: the first three minutes of 1 GB.
    duration_s = {"full": 180, "quick": 30, "sample": 60}[version]
    base = BASE.evolve(**LARGE_BUFFER, workload={"duration_s": duration_s, "size_mb": 1000})
    for experiment in SWEEPS:
        mode = "dc-duplicate" if experiment == "loss-duplicate" else "dc"
        flows = base.evolve(mode="flows", flows=[{"mode": mode}, *ALONE])
        for labels, change in points(experiment, version):
            value = labels[SWEEPS[experiment][0]]
            if version != "quick" or value in QUICK[experiment]:
                made = flows.evolve(**change)
                if (experiment, value) == ("delay-ratio-low", 2.5):  # table 5.11 has 5.6 ms
                    second = {"delay_ms": 5.6, "jitter_ms": 0.56}
                    made = made.evolve(legs={1: {"downlink": second}})
                yield made, labels


def seeds(version: str) -> range:
    """Return the ten of section 4.4, or one."""
    return range(1, 11 if version == "full" else 2)
