"""Goodput per path while paths open, close and lose their leg.

What MP-QUIC and MPTCP make of a script of openings and abandonments, of legs that go down for a
while, and of hard handovers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import minitopo_dc as dc
from minitopo_dc import plots

LEG = {direction: {"rate_mbps": 20, "delay_ms": 10} for direction in ("downlink", "uplink")}
BASE = dc.Scenario(
    legs=[LEG, LEG],
    mode="multipath",
    transport="mpquic-picoquic",
    workload=dc.Download(duration_s=8),
    clock="virtual",
)
SYSTEM = {"receive_buffer_bytes": None}  # the system's own: 212,992 on Linux
WAYS: dict[str, dict[str, Any]] = {
    "MP-QUIC, NewReno": {"congestion_control": "reno", "options": SYSTEM},
    "MP-QUIC, CUBIC": {"congestion_control": "cubic", "options": SYSTEM},
    "MP-QUIC, BBRv1": {"congestion_control": "bbr1", "options": SYSTEM},
    "MPTCP, CUBIC": {"transport": "mptcp", "congestion_control": "cubic"},
}
SCRIPT = [{"at_s": 2, "open": 2}, {"at_s": 4, "abandon": 1}, {"at_s": 6, "open": 1}]
HANDOVERS = [
    {"at_s": at_s, action: leg}
    for number, at_s in enumerate(range(3, 30, 3))
    for action, leg in (("open", 2 - number % 2), ("abandon", 1 + number % 2))
]
"""Every 3 s the new path is opened when the old one is abandoned."""
CASES: dict[str, dict[str, Any]] = {
    "script": {"paths": {"initial": [1], "schedule": SCRIPT}},
    "handover": {
        "workload": {"duration_s": 30},
        "paths": {"initial": [1], "schedule": HANDOVERS},
    },
    "leg 1 down for 2 s": {"workload": {"duration_s": 12}, "legs": {0: {"outages": [[2, 4]]}}},
    "leg 1 down for 5 s": {"workload": {"duration_s": 12}, "legs": {0: {"outages": [[2, 7]]}}},
}


def cases(_version: str) -> Iterator[tuple[dc.Scenario, dict[str, Any]]]:
    """Yield each transport for each case."""
    for case, changes in CASES.items():
        for way, fields in WAYS.items():
            yield BASE.evolve(**fields, **changes), {"case": case, "way": way}


def seeds(version: str) -> range:
    """Return five seeds, or one."""
    return range(1, 6 if version == "full" else 2)


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the longest time until 0.8 of what is there is used again, and each path over time."""
    down = dc.results.with_measures(runs[runs["case"].str.startswith("leg 1")], "recovery_s")
    yield "Time to recover", plots.bars(down, "case", "way", "recovery_s").figure
    first = runs[(runs["seed"] == 1) & (runs["status"] == "ok")]
    for case, mine in first.groupby("case", sort=False):
        panels = {f"{run.way}\n(Mbit/s)": paths(runs, run.run) for run in mine.itertuples()}
        yield f"Goodput of each path: {case}", plots.series(panels)[0].figure


def paths(runs: pd.DataFrame, run: Any) -> dict[str, tuple[Any, Any]]:
    """Return the times and rates of each path of a run, by its leg."""
    rates = dc.results.path_rates(Path(runs.attrs["directory"], run))
    return plots.rates(rates.rename(columns={"leg": "path"}), "path")
