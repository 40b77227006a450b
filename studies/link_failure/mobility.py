"""What mobility costs Dual Connectivity, and what the same radio costs MP-QUIC.

A PSCell that changes every 3 s, a failure of the SCG or the MCG, a second leg that is added after
1 s, and a drive whose handovers are PSCell changes (docs/paths.md#mobility-of-dual-connectivity).
MP-QUIC has no RRC between its paths: its leg is away for as long, and it finds out by itself; its
second path is opened after 1 s; on the drive it opens and abandons paths.

`dc-recovery` is the deployable one with data recovery: PDCP sends again what a leg that went down
has not delivered. With `dc-detection` the receiver's reports also tell of a leg that fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import minitopo_dc as dc
from minitopo_dc.scenario.change import INTERRUPTION_MS
from minitopo_dc.statistics import mean_ratio

Case = tuple[dc.Scenario, dict[str, Any]]
TRACES = Path(__file__).resolve().parents[2] / "traces"
LEGS: dict[str, list[dict[str, Any]]] = {
    name: [
        {"rate_mbps": rate, "delay_ms": delay, "queue_ms": 100, "uplink": {"rate_mbps": 10}}
        for rate, delay in both
    ]
    for name, both in (
        ("20 and 20 Mbit/s, 10 and 20 ms", ((20, 10), (20, 20))),
        ("30 and 10 Mbit/s, 10 and 40 ms", ((30, 10), (10, 40))),
    )
}
EVENTS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "PSCell changes": [{"at_s": at_s, "pscell_change": 2} for at_s in range(1, 20, 3)],
    "SCG failure": [{"at_s": 2, "scg_failure": 2}],
    "MCG failure": [{"at_s": 2, "mcg_failure": 1}],
    "SCG addition": [{"at_s": 1, "scg_addition": 2}],
}
WORKLOADS = {
    "download": dc.Download(size_mb=20),
    "requests": dc.RequestResponse(interval_s=0.1, duration_s=8),
}
RECOVERY = {"data_recovery": True, "report_ms": 20}
RECOVERIES: dict[str, dict[str, Any]] = {
    "dc-recovery": RECOVERY,
    "dc-detection": RECOVERY | {"leg_failure_ms": 100},
}
STARTS_S = range(0, 1600, 200)


def cases(version: str) -> Iterator[Case]:
    """Yield each network with each event, and the drives, in each way."""
    seeds = range(1, 6 if version == "full" else 2)
    for network, legs in LEGS.items():
        for name, events in EVENTS.items():
            for kind, workload in WORKLOADS.items():
                base = dc.Scenario(
                    transport="quic-picoquic", mode="dc", clock="virtual", timeout_s=60,
                    legs=legs, workload=workload, mobility=events,
                )  # fmt: skip
                labels = {"experiment": kind, "network": network, "event": name}
                for way, scenario in ways(base):
                    for seed in seeds:
                        yield scenario.evolve(seed=seed), {**labels, "way": way}
    for drive in ("residential", "road"):
        for start_s in STARTS_S[:: 1 if version == "full" else 4]:
            base = driven(drive, start_s)
            labels = {"experiment": "drive", "network": drive, "start_s": str(start_s)}
            for way, scenario in ways(base):
                yield scenario, {**labels, "way": way}


def ways(base: dc.Scenario) -> Iterator[tuple[str, dc.Scenario]]:
    """Yield MP-QUIC and each Dual Connectivity."""
    yield "mpquic", multipath(base)
    for name in ("papers", "deployable", "ideal"):
        yield f"dc-{name}", base.with_dc(name)
    for way, pdcp in RECOVERIES.items():
        yield way, base.with_dc("deployable").evolve(pdcp=pdcp, uplink_pdcp=pdcp)


def multipath(base: dc.Scenario) -> dc.Scenario:
    """Return the scenario with MP-QUIC, whose legs are away at the same times.

    A second leg that is added is a path that is opened; `mobility` itself is of other modes.
    """
    fields: dict[str, Any] = {"transport": "mpquic-picoquic", "mode": "multipath"}
    away: dict[int, list[tuple[float, float]]] = {}
    for event in base.mobility:
        if event.kind == "scg_addition":
            opened = {"at_s": event.at_s, "open": event.leg}
            fields["paths"] = {"initial": [1], "schedule": [opened]}
        else:
            away.setdefault(event.leg - 1, []).append((event.at_s, event.outage[1]))
    if away:
        fields["legs"] = {number: {"outages": times} for number, times in away.items()}
    return base.evolve(**fields)


def driven(drive: str, start_s: int) -> dc.Scenario:
    """Return 30 s on a drive with four channels, two of which are used at once."""
    directions = [
        {
            "trace": TRACES / f"drive_{drive}.csv",
            "trace_column": f"channel_{channel}_mbps",
            "delay_curve": "power",
            "queue_packets": 20,
        }
        for channel in range(1, 5)
    ]
    return dc.Scenario(
        transport="quic-picoquic", mode="dc", clock="virtual", timeout_s=60,
        legs=[{"downlink": radio, "uplink": radio} for radio in directions],
        workload=dc.Download(duration_s=30), trace_offset_s=start_s,
        handover={"case": 2, "interruption_ms": INTERRUPTION_MS},
    )  # fmt: skip


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield goodput over MP-QUIC's, and the worst answer, by event; and the drives."""
    for name, measure in (("download", "goodput_mbps"), ("requests", "delay_max_ms")):
        mine = runs[runs["experiment"] == name]
        if len(mine):
            yield (
                f"{name}: {measure}, mean",
                mine.pivot_table(
                    index=["network", "event"], columns="way", values=measure, sort=False
                ),
            )
            yield f"{name}: {measure} over MP-QUIC's", ratios(mine, measure, ["event"], "seed")
    drive = runs[runs["experiment"] == "drive"]
    if len(drive):
        yield "drive: goodput over MP-QUIC's", ratios(drive, "goodput_mbps", ["network"], "start_s")


def ratios(runs: pd.DataFrame, measure: str, rows: Sequence[str], pair: str) -> pd.DataFrame:
    """Return the mean ratio to MP-QUIC of each way, paired, with its 95 % interval."""
    failed = runs["status"] == "failed"
    kept = runs.assign(value=runs[measure].astype(float).mask(failed, 0.01))
    columns = list(dict.fromkeys([*rows, "network", pair]))
    wide = kept.pivot_table(index=columns, columns="way", values="value", sort=False)
    wide = wide.reindex(columns=[*wide.columns.union(["mpquic"], sort=False)])
    others = wide.drop(columns="mpquic").div(wide["mpquic"], axis=0)
    table = {}
    for key, group in others.groupby(list(rows), sort=False):
        table[key[0]] = {"pairs": len(group)} | {way: text(group[way]) for way in others}
    return pd.DataFrame.from_dict(table, orient="index")


def text(values: pd.Series[Any]) -> str:
    """Return a mean ratio with its interval as tables have them."""
    mean, interval = mean_ratio(values.dropna().clip(lower=0.01).tolist())
    return f"{mean:.2f} ({interval.low:.2f} to {interval.high:.2f})"
