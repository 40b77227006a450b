"""Throughput of QUIC and TCP over Dual Connectivity, LTE trace: appendix D of the thesis.

It has figures only, no tables. TRACE is a synthetic trace; the thesis has
static_A_2018.02.12_16.14.02.csv of Raca et al. (docs/traces.md). The capacity is that of the trace
as it is; the thesis' shaping counts Ethernet headers, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from testbed import APPENDIX, BASE, SAMPLE, SWEEPS, WAYS, Case, Change, downlinks, swept

TRACE = Path(__file__).resolve().parents[2] / "traces" / "lte_a.csv"
FIGURES = {name: sweep for name, sweep in SWEEPS.items() if "bandwidth" not in name}
SIZE_MB = {"full": 100, "quick": 10, "sample": 20}


def figures(version: str, ways: Mapping[str, Change]) -> Iterator[Case]:
    """Yield the cases of figures D.1 to D.6, or E.1 to E.6, with some ways."""
    base = BASE.evolve(
        workload={"size_mb": SIZE_MB[version]}, timeout_s=3600, **downlinks(*[{"trace": TRACE}] * 2)
    )
    yield from swept(base, ways, FIGURES, SAMPLE if version == "sample" else {})


def cases(version: str) -> Iterator[Case]:
    """Yield those of appendix D."""
    more = {"ngtcp2": APPENDIX["ngtcp2"]} if version == "sample" else {}
    yield from figures(version, WAYS | more)


def seeds(version: str) -> range:
    """Return ten of them (section 4.4), or two."""
    return range(1, 11 if version == "full" else 3)
