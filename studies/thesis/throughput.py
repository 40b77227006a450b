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
from claims import by_seed, judge, least, most
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

    yield from _of_batches(*(goodput("batch-size", way) for way in WAYS))
    yield from _of_splits(goodput("dc-ratio"), goodput("bandwidth-ratio"))
    matched = goodput("bandwidth-and-dc-ratio")
    yield judge(
        "With the DC ratio that matches all bandwidth ratios are fast: the slowest / 1:1",
        "journal, section 5.6; table 5.5: 0.91",
        least(matched[UNEQUAL]) / matched[1],
        least=0.85,
    )
    yield from _of_delays(goodput("delay-ratio-low"), goodput("delay-ratio-high"))
    yield from _of_loss(goodput("loss"), goodput("loss-duplicate"), goodput("duplication"))


def _of_batches(default: pd.DataFrame, large: pd.DataFrame, tcp: pd.DataFrame) -> Iterator[Claim]:
    yield judge(
        "Large batches cost throughput: batch 500 / batch 100",
        "section 5.2.1, table 5.3: 0.67",
        large[500] / large[100],
        most=0.8,
    )
    yield judge(
        "The best batch is near 100 to 150: best of 50 to 150 / best of 2 and 10",
        "journal, section 5.6; table 5.3: 1.01",
        most(large[[50, 100, 150]]) / most(large[[2, 10]]),
        least=1,
    )
    yield judge(
        "The default receive buffer costs throughput: default / large, batch 100",
        "conclusion; table 5.3: 0.91",
        default[100] / large[100],
        most=0.95,
    )
    yield judge(
        "With a large buffer QUIC is as fast as TCP: QUIC / TCP, batch 100",
        "conclusion; table 5.3: 0.98",
        large[100] / tcp[100],
        least=0.9,
        most=1.1,
    )


def _of_splits(ratio: pd.DataFrame, rate: pd.DataFrame) -> Iterator[Claim]:
    yield judge(
        "An even split is best: 50 % / the better of 40 and 60 %",
        "section 5.2.2, table 5.4: 1.21",
        ratio[50] / most(ratio[[40, 60]]),
        least=1.1,
    )
    up, down = ratio[range(0, 51, 10)], ratio[range(100, 49, -10)]
    steps = [side.diff(axis=1).iloc[:, 1:] for side in (up, down)]
    yield judge(
        "And the more uneven, the slower: the least that a step of 10 % costs (Mbit/s)",
        "journal, section 5.1; table 5.4: 2.3",
        least(pd.concat(steps, axis=1)),
        least=0,
    )
    yield judge(
        "Split evenly, equal links are best: 1:1 / 1.5:1",
        "section 5.2.3, table 5.5: 1.23",
        rate[1] / rate[1.5],
        least=1.1,
    )
    # From 2.5:1 on an even split is below link 1 alone whatever the transport does: twice link 2.
    yield judge(
        "Up to 2:1 both links are better than link 1 alone: 2:1 / what that carries (0.86 of it)",
        "tables 5.4, 5.5: 24.4 / (26.7 x 17.3 / 20) = 1.06",
        rate[2] / (26.418 * 0.86),
        least=1,
    )


def _of_delays(low: pd.DataFrame, high: pd.DataFrame) -> Iterator[Claim]:
    yield judge(
        "Low delays may differ: the slowest ratio / 1:1",
        "journal, section 5.6; table 5.6: 0.99",
        least(low[UNEQUAL]) / low[1],
        least=0.95,
    )
    yield judge(
        "High delays may not: 1:1 / the best other ratio",
        "journal, section 5.6; table 5.6: 1.77",
        high[1] / most(high[UNEQUAL]),
        least=1.2,
    )
    yield judge(
        "And cost more than half: the slowest ratio / 1:1",
        "table 5.6: 0.39",
        least(high[UNEQUAL]) / high[1],
        most=0.5,
    )


def _of_loss(loss: pd.DataFrame, copies: pd.DataFrame, which: pd.DataFrame) -> Iterator[Claim]:
    yield judge("Loss costs throughput: 0.1 % / none", "table 5.7: 0.35",
                loss[0.1] / loss[0], most=0.5)  # fmt: skip
    yield judge("And more loss more: 0.2 % / 0.1 %", "table 5.7: 0.62",
                loss[0.2] / loss[0.1], most=0.9)  # fmt: skip
    yield judge(
        "Duplicates make throughput stable: 0.2 % of loss / none",
        "conclusion; table 5.7: 1.00 (split: 0.21)",
        copies[0.2] / copies[0],
        least=0.95,
    )
    yield judge("Even ten times that: 2 % / none", "table 5.7: 0.91",
                copies[2] / copies[0], least=0.8)  # fmt: skip
    yield judge(
        "Duplicates carry as much as one link alone",
        "tables 5.4 and 5.7: 17.3 / 17.3 = 1.00",
        which["duplicate"] / which["one link"],
        least=0.95,
        most=1.05,
    )
    yield judge(
        "About half of what a split carries",
        "table 5.7: 17.3 / 35.6 = 0.49",
        which["duplicate"] / which["split"],
        least=0.45,
        most=0.55,
    )
