"""Fairness of QUIC over Dual Connectivity: tables 5.8 to 5.12 of the thesis.

One connection over Dual Connectivity and one on each leg at once, QUIC only as in the thesis
(section 4.4; figure 5.14 has TCP, in thesis/behaviour). Where a case is the default point, tables
share its runs.

With duplication the thesis measured at the links, where every copy counts. So does its table here;
DC's goodput is about half of what it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import links  # noqa: F401 (its measures are asked for by name)
import pandas as pd
from claims import by_seed, judged, least, most
from comparison import sections
from published import LINKS
from testbed import BASE, SAMPLE, SWEEPS, WAYS, Case, Change, Sweep, delayed, loss, swept

import minitopo_dc as dc
from minitopo_dc.claims import Claim, table

LARGE = {"quic_bm": WAYS["quic_bm"]}
"""Fairness is studied with the large buffer (section 4.4)."""
FLOWS = BASE.evolve(
    mode="flows",
    flows=[{"mode": "dc"}, {"mode": "sc", "leg": 1}, {"mode": "sc", "leg": 2}],
    workload={"size_mb": 1000, "duration_s": 180},  # section 4.4: the first three minutes of 1 GB
)
DURATION_S = {"full": 180, "quick": 30, "sample": 60}
RATIOS = (1, 2, 3, 4, 5)
KEPT: dict[str, Mapping[str, Any]] = {
    "full": {},
    "quick": {
        "batch-size": (2, 50, 100, 150, 200, 300, 500),
        "dc-ratio": (0, 20, 50, 80, 100),
        **dict.fromkeys(("bandwidth-ratio", "bandwidth-and-dc-ratio"), RATIOS),
        **dict.fromkeys(("delay-ratio-low", "delay-ratio-high"), RATIOS),
        "loss": (0, 0.05, 0.1, 0.15, 0.2),
        "loss-duplicate": (0, 1, 2, 3, 4, 5),
    },
    "sample": SAMPLE,
}


LOW, LOSSY = SWEEPS["delay-ratio-low"], SWEEPS["loss-duplicate"]
TABLES = SWEEPS | {
    # Table 5.11 has 14.3 and 5.6 ms, which are 19.9; table 5.6 has 5.7.
    "delay-ratio-low": Sweep(LOW.label, {**LOW.points, 2.5: delayed(14.3, 5.6)}),
    # DC's packets alone are duplicated.
    "loss-duplicate": Sweep(
        LOSSY.label,
        {
            percent: loss(percent) | {"flows": {0: {"mode": "dc-duplicate"}}}
            for percent in LOSSY.points
        },
    ),
}


def tables(version: str, ways: Mapping[str, Change]) -> Iterator[Case]:
    """Yield the cases of tables 5.8 to 5.12 with some ways."""
    base = FLOWS.evolve(workload={"duration_s": DURATION_S[version]})
    yield from swept(base, ways, TABLES, KEPT[version])


def cases(version: str) -> Iterator[Case]:
    """Yield those with the large buffer."""
    yield from tables(version, LARGE)


def seeds(version: str) -> range:
    """Return ten of them (section 4.4), or one."""
    return range(1, 11 if version == "full" else 2)


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the claims, and the thesis' tables."""
    names = [curve.measure for curve in LINKS]
    if not set(names) <= set(runs):  # what the links of the last table carried
        copied = runs[runs["experiment"] == "loss-duplicate"]
        runs = runs.join(dc.results.with_measures(copied, *names)[names])
    yield "Claims", table(claims(runs))
    yield from sections(runs, "fairness")


def claims(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield what the papers say of Jain's index, and of the goodput of DC beside SC."""
    batch, ratio = _index(runs, "batch-size"), _index(runs, "dc-ratio")
    uneven, one_link = most(ratio[[20, 80]]), most(ratio[[0, 100]])
    steps = {"uneven": ratio[50] - uneven, "one link": uneven - one_link}
    even, matched = _index(runs, "bandwidth-ratio"), _index(runs, "bandwidth-and-dc-ratio")
    low, high = _index(runs, "delay-ratio-low"), _index(runs, "delay-ratio-high")
    copies = _index(runs, "loss-duplicate", "links_jain_index")
    yield from judged(
        {
            "fair-small-batches": least(batch[[2, 50, 100]]),
            "fair-batch-500": batch[500],
            "fair-batch-500-dc": _dc_over_sc(runs, "batch-size", 500),
            "fair-even-split": ratio[50],
            "fair-uneven-split": least(pd.DataFrame(steps)),
            "fair-equal-rates": even[1],
            "fair-rates-5": even[5],
            "fair-rates-5-dc": _dc_over_sc(runs, "bandwidth-ratio", 5),
            "fair-matched": matched[5],
            "fair-matched-not": matched[5],
            "fair-delays-low": least(low[[1, 3, 5]]),
            "fair-delays-high": high[5],
            "fair-delays-rates": high[5],
            "fair-loss": least(_index(runs, "loss")[[0, 0.05, 0.1, 0.15, 0.2]]),
            "fair-copies": most(copies[[0, 1, 2, 3, 4, 5]]),
        }
    )


def _index(runs: pd.DataFrame, experiment: str, measure: str = "jain_index") -> pd.DataFrame:
    label, points = TABLES[experiment]
    return by_seed(runs, experiment, label, points, measure=measure, way="quic_bm")


def _dc_over_sc(runs: pd.DataFrame, experiment: str, value: float) -> pd.Series[Any]:
    """Return the goodput of DC over the mean of both SC."""
    rates = (_index(runs, experiment, f"flow_{flow}_goodput_mbps")[value] for flow in (1, 2, 3))
    over_dc, first, second = rates
    return over_dc / ((first + second) / 2)
