"""Linux TCP and MPTCP on the virtual clock and on the real one.

Thirty points: rates, delays, queues, losses, jitter, traces, outages, two to four legs.

    minitopo-dc campaign run clocks --clock virtual
    sudo minitopo-dc campaign run clocks --clock real     # on a machine that does nothing else
    minitopo-dc show --compare results/clocks-virtual results/clocks-real
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import minitopo_dc as dc

TRACES = Path(__file__).resolve().parents[2] / "traces"
LEG = dc.Leg(rate_mbps=20, delay_ms=10, jitter_ms=0, uplink={"rate_mbps": 20, "jitter_ms": 0})
BASE = dc.Scenario(
    legs=[LEG, LEG],
    mode="dc",
    transport="tcp",
    congestion_control="cubic",
    workload=dc.Download(size_mb=10),
    clock="virtual",
)
WAYS: dict[str, dict[str, Any]] = {
    "TCP, one leg": {"mode": "sc", "leg": 1},
    "TCP, DC": {},
    "MPTCP": {"transport": "mptcp", "mode": "multipath"},
}


def downlinks(*changes: dict[str, Any]) -> dict[str, Any]:
    """Return a change of the legs' downlinks, one after the other; a single one is for both."""
    first, second = changes if len(changes) > 1 else changes * 2
    return {"legs": {0: {"downlink": first}, 1: {"downlink": second}}}


def delays(first: float, second: float) -> dict[str, Any]:
    """Return a change of the one-way delays in ms, of both directions."""
    return {"legs": {0: {"delay_ms": first}, 1: {"delay_ms": second}}}


def varying(first: dict[str, Any], second: dict[str, Any], delay_ms: float) -> dict[str, Any]:
    """Return a change to two legs that follow traces."""
    same: dict[str, Any] = {"delay_ms": delay_ms, "jitter_ms": 0, "uplink": {"rate_mbps": 20}}
    return {"legs": [dc.Leg(**trace, **same) for trace in (first, second)]}


LTE = varying({"trace": TRACES / "lte_a.csv"}, {"trace": TRACES / "lte_b.csv"}, 10)
DRIVE = {"trace": TRACES / "drive_residential.csv"}
STEADY: dict[str, dict[str, Any]] = {
    "5 Mbit/s": downlinks({"rate_mbps": 5}),
    "20 Mbit/s": {},
    "50 Mbit/s": downlinks({"rate_mbps": 50}),
    "100 Mbit/s": downlinks({"rate_mbps": 100}),
    "30 and 10 Mbit/s": downlinks({"rate_mbps": 30}, {"rate_mbps": 10}),
    "5 and 20 Mbit/s": downlinks({"rate_mbps": 5}, {}),
    "1 ms": delays(1, 1),
    "50 ms": delays(50, 50),
    "10 and 40 ms": delays(10, 40),
    "100 and 10 ms": delays(100, 10),
    "queue of 20 packets": downlinks({"queue_packets": 20}),
    "queue of 500 packets": downlinks({"queue_packets": 500}),
    "an uplink of 1 Mbit/s": {"legs": {key: {"uplink": {"rate_mbps": 1}} for key in (0, 1)}},
    "1 MB": {"workload": {"size_mb": 1}},
    "40 MB": {"workload": {"size_mb": 40}},
    "IPv6": {"ip_version": 6},
    "three legs": {"legs": [LEG] * 3},
    "four legs": {"legs": [LEG] * 4},
    "reno": {"congestion_control": "reno"},
    "bbr": {"congestion_control": "bbr"},
}
VARYING: dict[str, dict[str, Any]] = {
    "loss of 0.01 %": downlinks({"loss_percent": 0.01}),
    "loss of 0.1 % on leg 2": downlinks({}, {"loss_percent": 0.1}),
    "loss of 0.5 % on leg 2": downlinks({}, {"loss_percent": 0.5}),
    "loss of 1 % on leg 1": downlinks({"loss_percent": 1}, {}),
    "jitter of 1 ms": downlinks({"jitter_ms": 1}),
    "jitter of 5 ms": downlinks({"jitter_ms": 5}),
    "an outage of leg 2 from 1 to 2 s": {"legs": {1: {"outages": [[1, 2]]}}},
    "LTE traces": LTE,
    "LTE traces from 60 s": {**LTE, "trace_offset_s": 60},
    "a drive": varying(
        {**DRIVE, "trace_column": "channel_1_mbps"}, {**DRIVE, "trace_column": "channel_3_mbps"}, 20
    ),
}


def cases(version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield steady points once, and those with randomness with three seeds."""
    for experiment, points, seeds in (("steady", STEADY, 1), ("varying", VARYING, 3)):
        for seed in range(1, (seeds if version == "full" else 1) + 1):
            for point, change in points.items():
                for way, fields in WAYS.items():
                    scenario = BASE.evolve(**fields, seed=seed).evolve(**change)
                    if version != "full" and "workload" not in change:
                        scenario = scenario.evolve(workload={"size_mb": 2})
                    yield scenario, {"experiment": experiment, "point": point, "way": way}
