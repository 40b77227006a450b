"""Throughput of QUIC and TCP over Dual Connectivity, LTE trace: appendix D of the thesis.

It has figures only, no tables, and says that the trends are those of constant rates (sections 5.2.1
to 5.2.5); so the same claims are judged here. The thesis' trace, of Raca et al., has no licence and
is not in the repository; docs/traces.md says how to fetch and read it. LTE_TRACE in the environment
names that file. Without it runs have a synthetic trace; the label `trace` tells them apart. The
capacity is that of the trace as it is; the thesis' shaping counts Ethernet headers, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import throughput
from testbed import APPENDIX, BASE, SAMPLE, SWEEPS, WAYS, Case, Change, downlinks, swept

from minitopo_dc.claims import table

SYNTHETIC = Path(__file__).resolve().parents[2] / "traces" / "lte_a.csv"
TRACE = Path(os.environ.get("LTE_TRACE", SYNTHETIC)).resolve()
FIGURES = {name: sweep for name, sweep in SWEEPS.items() if "bandwidth" not in name}
SIZE_MB = {"full": 100, "quick": 10, "sample": 20}


def figures(version: str, ways: Mapping[str, Change]) -> Iterator[Case]:
    """Yield the cases of figures D.1 to D.6, or E.1 to E.6, with some ways."""
    base = BASE.evolve(
        workload={"size_mb": SIZE_MB[version]}, timeout_s=3600, **downlinks(*[{"trace": TRACE}] * 2)
    )
    for scenario, labels in swept(base, ways, FIGURES, SAMPLE if version == "sample" else {}):
        yield scenario, labels | {"trace": TRACE.stem}


def cases(version: str) -> Iterator[Case]:
    """Yield those of appendix D."""
    more = {"ngtcp2": APPENDIX["ngtcp2"]} if version == "sample" else {}
    yield from figures(version, WAYS | more)


def seeds(version: str) -> range:
    """Return ten of them (section 4.4), or two."""
    return range(1, 11 if version == "full" else 3)


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield those claims on constant rates that runs over a trace can tell of."""
    for trace, part in runs.groupby("trace"):
        judged = [claim for claim in throughput.claims(part) if claim.verdict != "not run"]
        yield f"Claims, with {trace}", table(judged)
