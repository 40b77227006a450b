"""How long a silence of a leg is its failure.

`leg_failure_ms`: what it costs where a leg loses all, and how often a leg that delivers is taken
for failed. A silence of 0 ms does not look for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import minitopo_dc as dc
from minitopo_dc import plots

TRACE = Path(__file__).resolve().parents[2] / "traces" / "drive_road.csv"
LEGS = [  # those of the handover experiment of Multipath QUIC's design
    {"rate_mbps": 10, "delay_ms": delay_ms, "jitter_ms": 0, "queue_ms": 50}
    for delay_ms in (7.5, 12.5)
]
BASE = dc.Scenario(
    legs=[{"downlink": leg, "uplink": leg} for leg in LEGS],
    transport="quic-picoquic",
    options={"receive_buffer_bytes": None},  # the system's own: 212,992 on Linux
    mode="dc",
    congestion_control="cubic-picoquic",
    split_uplink=True,
    pdcp=dc.Pdcp(
        split="least-delay",
        report_ms=20,
        data_recovery=True,
        numbering="late",
        t_reordering_ms="adaptive",
        legs_keep_order=True,
    ),
    workload=dc.RequestResponse(
        request_bytes=750, response_bytes=750, interval_s=0.4, duration_s=60
    ),
    clock="virtual",
)
SILENCES_MS = (0, 20, 50, 100, 200, 500)
GONE = [{"at_s": 3, "loss_percent": 100}]
Case = tuple[dc.Scenario, dict[str, Any]]


def cases(version: str) -> Iterator[Case]:
    """Yield the cases of all experiments; those on a drive have one seed."""
    for seed in range(1, 11 if version == "full" else 2):
        for scenario, labels in (*loses_all(), *losses()):
            yield with_silence(scenario, labels["silence_ms"]).evolve(seed=seed), labels
    for scenario, labels in drive():
        yield with_silence(scenario, labels["silence_ms"]), labels


def with_silence(scenario: dc.Scenario, silence_ms: int) -> dc.Scenario:
    """Return a scenario that takes a leg for failed after this silence."""
    return scenario.evolve(pdcp={"leg_failure_ms": silence_ms}) if silence_ms else scenario


def loses_all() -> Iterator[Case]:
    """Yield requests over two legs, the first of which loses all from 3 s on."""
    first = {"downlink": {"changes": GONE}, "uplink": {"changes": GONE}}
    for way in ("least-delay", "proportional"):
        made = BASE.evolve(legs={0: first}, pdcp={"split": way}, workload={"duration_s": 12})
        for silence_ms in SILENCES_MS[1:]:
            yield made, {"experiment": "loses-all", "way": f"DC {way}", "silence_ms": silence_ms}


def losses() -> Iterator[Case]:
    """Yield requests, and downloads, over legs with random losses."""
    works = {"losses": BASE.workload, "downloads": dc.Download(size_mb=8)}
    for experiment, workload in works.items():
        for loss in (1, 5):
            leg = {key: {"loss_percent": loss} for key in ("downlink", "uplink")}
            made = BASE.evolve(legs={0: leg, 1: leg}, workload=workload)
            for silence_ms in SILENCES_MS:
                labels = {"loss_percent": loss, "silence_ms": silence_ms}
                yield made, {"experiment": experiment, **labels}


def drive() -> Iterator[Case]:
    """Yield requests on a drive of which no leg fails, from three starts."""
    legs = [
        {
            "trace": TRACE,
            "trace_column": f"channel_{channel}_mbps",
            "delay_curve": "power",
            "jitter_ms": 0,
            "queue_packets": 20,
        }
        for channel in (1, 2)
    ]
    made = BASE.evolve(legs=[{"downlink": leg, "uplink": leg} for leg in legs])
    for silence_ms in SILENCES_MS:
        for start_s in (0, 600, 1200):
            labels = {"silence_ms": silence_ms, "start_s": start_s}
            yield made.evolve(trace_offset_s=start_s), {"experiment": "drive", **labels}


@dc.run_measures("leg_failures")
def leg_failures(run: Path) -> dict[str, float]:
    """Return how often a transmitting entity took a leg for failed, downlink and uplink.

    It is NaN when no bearer of the run detected failures (`leg_failure_ms`).
    """
    summaries = (json.loads((run / f"{host}-summary.json").read_text()) for host in ("gnb", "ue"))
    bearers = [bearer for summary in summaries for bearer in summary["transmit"].values()]
    counts = [bearer[name] for bearer in bearers for name in bearer if name.startswith("failures_")]
    return {"leg_failures": sum(counts) if counts else math.nan}


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield worst and 95th percentile of the answers, and the legs taken for failed."""
    runs = dc.results.with_measures(runs, "leg_failures")
    gone = dc.results.with_measures(runs[runs["experiment"] == "loses-all"], "answer_worst_ms")
    yield "Worst answer", plots.curves(gone, "silence_ms", "way", "answer_worst_ms").figure
    lossy = dc.results.with_measures(runs[runs["experiment"] == "losses"], "answer_p95_ms")
    curves = plots.curves(lossy, "silence_ms", "loss_percent", "answer_p95_ms")
    yield "95th percentile of the answers", curves.figure
    for name in ("losses", "downloads", "drive"):
        chosen, by = runs[runs["experiment"] == name], None if name == "drive" else "loss_percent"
        yield (
            f"Legs taken for failed, {name}",
            plots.bars(chosen, "silence_ms", by, "leg_failures").figure,
        )
