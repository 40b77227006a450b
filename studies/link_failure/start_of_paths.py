"""How long until data flow: a dead first path, a path that fails and returns, a second path late.

Dual Connectivity learns of a dead or failed first leg by RRC (docs/paths.md), MP-QUIC and MPTCP by
their own timers, ATSSS-LL by its echoes; a client of MP-QUIC or MPTCP may also try the next leg
after a delay (RFC 8305, section 5).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from mobility import RECOVERIES

import minitopo_dc as dc

Case = tuple[dc.Scenario, dict[str, Any]]
NETWORKS = {  # rates in Mbit/s, one-way delays in ms; the last one's second leg loses 1 %
    "20 and 20 Mbit/s, 10 and 20 ms": ((20, 10, 0), (20, 20, 0)),
    "30 and 10 Mbit/s, 10 and 40 ms": ((30, 10, 0), (10, 40, 0)),
    "10 and 30 Mbit/s, 40 and 10 ms": ((10, 40, 0), (30, 10, 0)),
    "20 and 50 Mbit/s, 30 and 15 ms, 1 %": ((20, 30, 0), (50, 15, 1)),
}
DEAD_S, FAILS_S, RETURNS_S = 2.5, 2, 5
"""Until when the first leg is dead at the start; when it fails later, and returns."""
DELAYS_MS = (100, 250)
"""The least that RFC 8305, section 5, recommends, and its default."""
LATER: dict[str, dict[str, Any]] = {
    "both at once": {},
    "after 100 kB": {"others_after_kb": 100},
    "after 1 MB": {"others_after_kb": 1000},
    "after 0.5 s": {"initial": [1], "schedule": [{"at_s": 0.5, "open": 2}]},
    "never": {"initial": [1]},
}
SIZES_MB = (0.1, 1, 10)
MPQUIC: dict[str, Any] = {"transport": "mpquic-picoquic", "mode": "multipath"}
MPTCP: dict[str, Any] = {"transport": "mptcp", "mode": "multipath"}
TCP: dict[str, Any] = {"transport": "tcp", "mode": "sc"}
TRIED: dict[str, dict[str, Any]] = {
    "MP-QUIC": MPQUIC,
    "MPTCP": MPTCP,
    "ATSSS, MPTCP to a proxy": MPTCP | {"mode": "atsss"},
}
"""Whose client chooses the leg on which a connection begins."""


def cases(version: str) -> Iterator[Case]:
    """Yield each network with each experiment in each way, and five seeds or one."""
    for network, both in NETWORKS.items():
        legs = [
            {"rate_mbps": rate, "delay_ms": delay, "queue_ms": 100, "loss_percent": loss}
            for rate, delay, loss in both
        ]
        base = dc.Scenario(
            transport="quic-picoquic", mode="dc", clock="virtual", timeout_s=60,
            legs=[{"downlink": leg, "uplink": leg} for leg in legs],
        )  # fmt: skip
        for scenario, labels in (*dead(base), *returning(base), *later(base)):
            for seed in range(1, 6 if version == "full" else 2):
                yield scenario.evolve(seed=seed), {**labels, "network": network}


def dead(base: dc.Scenario) -> Iterator[Case]:
    """Yield 100 kB over two legs, the first of which carries nothing for the first 2.5 s."""
    base = base.evolve(workload=dc.Download(size_mb=0.1))
    for way, scenario in ways(base, 0, DEAD_S):
        yield scenario, {"experiment": "dead first path", "way": way}


def returning(base: dc.Scenario) -> Iterator[Case]:
    """Yield requests and a download while the first leg fails at 2 s and returns at 5 s."""
    for workload in (dc.RequestResponse(interval_s=0.1, duration_s=8), dc.Download(duration_s=8)):
        experiment = (
            f"fails and returns, {'download' if workload.kind == 'download' else 'requests'}"
        )
        for way, scenario in ways(base.evolve(workload=workload), FAILS_S, RETURNS_S):
            if "attempt" not in way:
                yield scenario, {"experiment": experiment, "way": way}


def later(base: dc.Scenario) -> Iterator[Case]:
    """Yield downloads over MP-QUIC whose second path is opened later."""
    for size_mb in SIZES_MB:
        scenario = base.evolve(**MPQUIC, workload=dc.Download(size_mb=size_mb))
        for way, paths in LATER.items():
            labels = {"experiment": f"second path late, {size_mb:g} MB", "way": way}
            yield scenario.evolve(paths=paths or None), labels


def ways(base: dc.Scenario, begin_s: float, end_s: float) -> Iterator[tuple[str, dc.Scenario]]:
    """Yield each way with leg 1 away; Dual Connectivity's nodes know of it once T310 has ended."""
    away = base.evolve(legs={0: {"outages": [(begin_s, end_s)]}})
    for way, fields in TRIED.items():
        yield way, away.evolve(**fields)
        for delay_ms in DELAYS_MS:
            paths = {"attempt_delay_ms": delay_ms}
            yield f"{way}, next attempt after {delay_ms} ms", away.evolve(**fields, paths=paths)
    tries = {"paths": {"attempt_delay_ms": DELAYS_MS[1]}}
    yield f"TCP, next attempt after {DELAYS_MS[1]} ms", away.evolve(**TCP, **tries)
    yield "ATSSS-LL", away.evolve(mode="atsss")
    known_ms = 1000 * (end_s - begin_s) - 1000
    failure = {"at_s": begin_s, "mcg_failure": 1, "interruption_ms": known_ms}
    failing = base.evolve(mobility=[failure])
    yield "DC, deployable", failing.with_dc("deployable")
    recovery = RECOVERIES["dc-detection"]
    yield (
        "DC, `leg_failure_ms: 100`",
        failing.with_dc("deployable").evolve(pdcp=recovery, uplink_pdcp=recovery),
    )
    yield "DC, ideal", away.with_dc("ideal")


MEASURES = {
    "dead first path": "completion_s",
    "fails and returns, requests": "delay_max_ms",
    "fails and returns, download": "goodput_mbps",
    **{f"second path late, {size_mb:g} MB": "completion_s" for size_mb in SIZES_MB},
}
"""What is shown of each experiment."""


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the mean of each experiment's measure by way and network; failed runs are none."""
    for experiment, measure in MEASURES.items():
        mine = runs[runs["experiment"] == experiment]
        if len(mine):
            table = mine.pivot_table(
                index="way", columns="network", values=measure, sort=False, dropna=False
            )
            yield f"{experiment}: {measure}, mean", table
