"""Throughput of QUIC and TCP over Dual Connectivity: tables 5.2 to 5.7 of the thesis.

Where a case is the default point, tables share its runs. TCP and ngtcp2 run on the virtual clock
where minitopo-dc build linux was run.

The thesis' server has Linux 5.3 (table 4.1), which keeps the slow start threshold of a connection
for the next one to the same client. So on the virtual clock each download over TCP follows another
one of the same size. Linux has kept no threshold since 5.6 unless
net.ipv4.tcp_no_ssthresh_metrics_save is 0. The real clock has no earlier download.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from claims import by_seed, judged, least, most
from comparison import sections
from testbed import APPENDIX, BASE, SAMPLE, SWEEPS, WAYS, Case, Change, Sweep, split, swept

from minitopo_dc.claims import Claim, table

EARLIER: Change = {
    "virtual": {
        "earlier_downloads": 1,
        "sysctl": {"net.ipv4.tcp_no_ssthresh_metrics_save": "0"},
    }
}
SIZES = Sweep("size_mb", {mb: {"workload": {"size_mb": mb}} for mb in (10, *range(100, 1001, 100))})
TABLES = {"file-size": SIZES, **SWEEPS}
CASES = Sweep(
    "case", {"split": {}, "duplicate": {"mode": "dc-duplicate"}, "one link": split(100, 0)}
)
"""Of section 5.3 of the journal paper."""
SIZE_MB = {"full": 100, "quick": 30, "sample": 40}
"""With 30 MB `quic` is up to 15 % faster than with 40 MB: it fills its buffer late."""
KEPT = {
    "full": {},
    "quick": {"file-size": (10, 100)},
    "sample": SAMPLE | {"file-size": (10, 100), "duplication": ("split", "duplicate")},
}


def with_earlier(ways: Mapping[str, Change]) -> dict[str, Change]:
    """Return ways of which TCP's have an earlier download."""
    return {way: change | EARLIER if "tcp" in way.split("_") else change
            for way, change in ways.items()}  # fmt: skip


def tables(version: str, ways: Mapping[str, Change]) -> Iterator[Case]:
    """Yield the cases of tables 5.2 to 5.7 with some ways."""
    base = BASE.evolve(workload={"size_mb": SIZE_MB[version]})
    yield from swept(base, with_earlier(ways), TABLES, KEPT[version])


def cases(version: str) -> Iterator[Case]:
    """Yield those of the tables, and those that tell what duplicates carry."""
    more = {"ngtcp2": APPENDIX["ngtcp2"]} if version == "sample" else {}
    yield from tables(version, WAYS | more)
    base = BASE.evolve(workload={"size_mb": SIZE_MB[version]})
    large = {"quic_bm": WAYS["quic_bm"]}
    yield from swept(base, large, {"duplication": CASES}, KEPT[version])


def seeds(version: str) -> range:
    """Return ten of them (section 4.4), or two."""
    return range(1, 11 if version == "full" else 3)


UNEQUAL = [1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5]


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the claims, and the thesis' tables."""
    yield "Claims", table(claims(runs))
    yield from sections(runs, "throughput")


def claims(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield what the papers say of the large buffer (quic_bm), and of others beside it."""

    def goodput(experiment: str, way: str = "quic_bm") -> pd.DataFrame:
        sweep = TABLES.get(experiment, CASES)
        return by_seed(runs, experiment, sweep.label, sweep.points, way=way)

    default, large, tcp = (goodput("batch-size", way) for way in WAYS)
    ratio, rate = goodput("dc-ratio"), goodput("bandwidth-ratio")
    matched = goodput("bandwidth-and-dc-ratio")
    up, down = ratio[range(0, 51, 10)], ratio[range(100, 49, -10)]
    steps = [side.diff(axis=1).iloc[:, 1:] for side in (up, down)]
    low, high = goodput("delay-ratio-low"), goodput("delay-ratio-high")
    loss, copies = goodput("loss"), goodput("loss-duplicate")
    which = goodput("duplication")
    yield from judged(
        {
            "batch-500": large[500] / large[100],
            "batch-best": most(large[[50, 100, 150]]) / most(large[[2, 10]]),
            "buffer": default[100] / large[100],
            "quic-tcp": large[100] / tcp[100],
            "even-split": ratio[50] / most(ratio[[40, 60]]),
            "uneven-split": least(pd.concat(steps, axis=1)),
            "equal-rates": rate[1] / rate[1.5],
            # From 2.5:1 on an even split is below link 1 alone whatever the transport does: twice
            # link 2.
            "rates-2": rate[2] / (26.418 * 0.86),
            "matched-rates": least(matched[UNEQUAL]) / matched[1],
            "delays-low": least(low[UNEQUAL]) / low[1],
            "delays-high": high[1] / most(high[UNEQUAL]),
            "delays-worst": least(high[UNEQUAL]) / high[1],
            "loss-0.1": loss[0.1] / loss[0],
            "loss-0.2": loss[0.2] / loss[0.1],
            "copies-0.2": copies[0.2] / copies[0],
            "copies-2": copies[2] / copies[0],
            "copies-one-link": which["duplicate"] / which["one link"],
            "copies-split": which["duplicate"] / which["split"],
        }
    )
