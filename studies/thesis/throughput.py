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

from testbed import APPENDIX, BASE, SAMPLE, SWEEPS, WAYS, Case, Change, Sweep, split, swept

EARLIER: Change = {
    "virtual": {
        # A quirk of the first version of this campaign, of which the recorded runs are: TCP lacks
        # the proxies' delay, and its kernel counts UDP's memory as now, which TCP has none of.
        **{"processing_delay_ms": 0, "udp_memory": "modern"},
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
