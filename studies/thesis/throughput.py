"""Throughput of QUIC and TCP over Dual Connectivity.

Tables 5.2 to 5.7 of the thesis "QUIC over Dual Connectivity" (Hasselquist and Lindström, 2020).

The thesis' server has Linux 5.3 (table 4.1), which keeps the slow start threshold of a connection
for the next one to the same client. So on the virtual clock each download over TCP follows another
one of the same size. Linux has kept no threshold since 5.6 unless
net.ipv4.tcp_no_ssthresh_metrics_save is 0. The real clock has no earlier download.
"""

from __future__ import annotations

from collections.abc import Iterator

from testbed import BASE, NGTCP2, SWEEPS, TCP, WAYS, Case, Change, points

SAVED = {"net.ipv4.tcp_no_ssthresh_metrics_save": "0"}
# This TCP lacks the proxies' processing delay and the client's kernel, which all other ways have.
# That is a mistake of the first campaign, whose results are kept: to mend it is to run TCP again.
OURS: dict[str, Change] = {
    **WAYS,
    "TCP": TCP
    | {
        "virtual": {
            "earlier_downloads": 1,
            "sysctl": SAVED,
            "processing_delay_ms": 0,
            "udp_memory": "modern",
        }
    },
}
SIZES_MB = (10, *range(100, 1001, 100))
DUPLICATION: dict[str, Change] = {
    "split": {},
    "duplicate": {"mode": "dc-duplicate"},
    "one link": {"pdcp": {"ratio": [100, 0]}},
}


def cases(version: str) -> Iterator[Case]:
    """Yield all tables' points for each way; the sample has ngtcp2, too."""
    ways = OURS | ({"ngtcp2": NGTCP2} if version == "sample" else {})
    # The default buffer is filled late: QUIC is up to 15 % faster with 30 MB than with 100.
    usual: Change = {"workload": {"size_mb": {"full": 100, "quick": 30, "sample": 40}[version]}}
    for size in SIZES_MB if version == "full" else SIZES_MB[:2]:
        for way, fields in ways.items():
            made = BASE.evolve(**fields).evolve(workload={"size_mb": size})
            yield made, {"experiment": "file-size", "size_mb": size, "way": way}
    for experiment in SWEEPS:
        mode = {"mode": "dc-duplicate"} if experiment == "loss-duplicate" else {}
        for labels, change in points(experiment, version):
            for way, fields in ways.items():
                made = BASE.evolve(**fields).evolve(**usual, **mode).evolve(**change)
                yield made, labels | {"way": way}
    for case, change in DUPLICATION.items():
        if version != "sample" or case != "one link":
            made = BASE.evolve(**WAYS["QUIC, large buffer"]).evolve(**usual).evolve(**change)
            yield made, {"experiment": "duplication", "case": case, "way": "QUIC, large buffer"}


def seeds(version: str) -> range:
    """Return the ten of section 4.4, or two."""
    return range(1, 11 if version == "full" else 3)
