"""A leg that is down for 2 s.

The second leg is down in mid-transfer. Data recovery (TS 38.323, clause 5.5) and late numbering
stand against the thesis' behaviour, beside MP-QUIC and MPTCP. `given_up` is the number of COUNTs
that the receiving entity gave up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

import minitopo_dc as dc
from minitopo_dc import plots

LEG = dc.Leg(rate_mbps=20, uplink={"rate_mbps": 20})  # thesis, table 4.3
BASE = dc.Scenario(
    legs=[LEG, LEG.evolve(outages=[[2, 4]])],  # down in both directions
    mode="dc",
    transport="quic",
    congestion_control="cubic",
    workload=dc.Download(size_mb=20),
    clock="virtual",
)
BUFFER = {"receive_buffer_bytes": 32 << 20}
PICOQUIC: dict[str, Any] = {
    "congestion_control": "cubic-picoquic",
    "options": {"receive_buffer_bytes": None},  # 212,992 on Linux
}
WAYS: dict[str, dict[str, Any]] = {
    "QUIC": {"options": BUFFER},
    "QUIC (picoquic)": {"transport": "quic-picoquic", **PICOQUIC},
    "TCP": {"transport": "tcp"},
}
RECOVERY = {"data_recovery": True, "report_ms": 20}
BEARERS: dict[str, dict[str, Any]] = {
    "as in the thesis": {},
    "data recovery": RECOVERY,
    "the same, late": RECOVERY | {"numbering": "late"},
    "the same, least-delay": RECOVERY | {"numbering": "late", "split": "least-delay"},
}
MULTIPATH: dict[str, dict[str, Any]] = {
    "MP-QUIC": {"transport": "mpquic-picoquic", "mode": "multipath", **PICOQUIC},
    "MPTCP": {"transport": "mptcp", "mode": "multipath"},
}


def cases(_version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield each bearer of DC for each stack, and the multipath transports, which have none."""
    for way, fields in WAYS.items():
        for bearer, pdcp in BEARERS.items():
            yield BASE.evolve(**fields, pdcp=pdcp), {"way": way, "bearer": bearer}
    for way, fields in MULTIPATH.items():
        yield BASE.evolve(**fields), {"way": way, "bearer": "none"}


def seeds(version: str) -> range:
    """Return five seeds, or one."""
    return range(1, 6 if version == "full" else 2)


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the COUNTs that were given up."""
    runs = dc.results.with_measures(runs[runs["bearer"] != "none"], "given_up")
    yield "COUNTs given up", plots.bars(runs, x="bearer", by="way", y="given_up").figure
