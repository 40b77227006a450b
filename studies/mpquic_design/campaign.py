"""Multipath QUIC: Design and Evaluation.

De Coninck and Bonaventure (CoNEXT 2017) on their own networks of two paths, 253 in each of four
classes.

The queue is the authors', too: their generator takes the queuing delay for seconds where
milliseconds are meant, so that the factor adds nothing, and a queue holds one bandwidth-delay
product of a round trip (with 1,048,576 bits to the megabit), at least 10 packets.

MP-QUIC is picoquic (draft-ietf-quic-multipath, TLS 1.3) with OLIA over all paths, theirs a
prototype in quic-go with Google QUIC's handshake, OLIA, and a scheduler that sends copies on a path
that it does not know yet. QUIC on one path has CUBIC as theirs, by RFC 9438. MPTCP is the kernel's
version 1 with CUBIC on each path, as it has no coupled congestion control; theirs is version 0.91
with OLIA.

Medians are of 3 repetitions, as in their scripts (slides: 15). TCP and MPTCP are in the sample, and
in mpquic_design/tcp.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from networks import (
    ALONE,
    CLASSES,
    LINUX,
    QUIC,
    WAYS,
    Fields,
    Link,
    Network,
    networks,
    over,
)
from ranges import downloads
from report import report

import minitopo_dc as dc

__all__ = ["cases", "report"]
ADAPTIVE: Fields = {
    "split": "least-delay",
    "numbering": "late",
    "t_reordering_ms": "adaptive",
    "legs_keep_order": True,
}
# Both ends learn of a leg that loses all, and send again what it had (link_failure/leg_failure).
FAILING: Fields = ADAPTIVE | {"report_ms": 20, "leg_failure_ms": 100, "data_recovery": True}
PROPORTIONAL: Fields = {"split": "proportional", "report_ms": 20}
DC: Fields = QUIC | {
    "congestion_control": "cubic-picoquic",
    "mode": "dc",
    "split_uplink": True,
}
TOLD_S = 3.1
"""When the client tells the server of the path that has ended, as the prototype's PATHS frame did
after a timeout: some timeouts of 15 ms of round trip later. Both transports let a host demote a
path (PATH_STATUS_BACKUP, draft-ietf-quic-multipath; MP_PRIO, RFC 8684) or end it (PATH_ABANDON;
REMOVE_ADDR)."""


def told(way: Fields, action: str) -> Fields:
    """Return a way whose client demotes path 1, or ends it, when it no longer carries anything."""
    return way | {"paths": way["paths"] | {"schedule": [{"at_s": TOLD_S, action: 1}]}}


SEVERAL = {"MP-QUIC": WAYS["MP-QUIC, path 1 first"], "MPTCP": LINUX["MPTCP, path 1 first"]}
HANDED_OVER: dict[str, Fields] = {
    "QUIC": ALONE | {"leg": 1},
    **SEVERAL,
    **{f"{way}, path 1 a backup": told(fields, "backup") for way, fields in SEVERAL.items()},
    **{f"{way}, path 1 abandoned": told(fields, "abandon") for way, fields in SEVERAL.items()},
    "DC 1:1": DC,
    "DC least-delay": DC | {"pdcp": ADAPTIVE},
    "DC proportional": DC | {"pdcp": ADAPTIVE | PROPORTIONAL, "uplink_pdcp": ADAPTIVE},
    "DC duplicate": DC | {"mode": "dc-duplicate"},
    "DC least-delay, failure": DC | {"pdcp": FAILING},
    "DC proportional, failure": DC
    | {"pdcp": FAILING | {"split": "proportional"}, "uplink_pdcp": FAILING},
}
EXAMPLE: tuple[Link, Link] = ((20, 20), (15, 40))
NAMED: dict[str, tuple[Link, Link]] = {
    "18.9 and 0.43 Mbit/s": ((18.9, 49.4), (0.43, 10.6)),
    "0.14 and 49.72 Mbit/s": ((0.14, 27.2), (49.72, 46.4)),
}
"""The two networks that the slides name: rows 112 and, with its paths swapped, 3 of the points."""
GONE = {"changes": [{"at_s": 3, "loss_percent": 100}]}
ENDS: dict[str, Fields] = {
    "is down": {"outages": [[3, 1000]]},  # its own node knows; so do the adaptive splits
    "loses all": {"downlink": GONE, "uplink": GONE},  # nobody is told
}
ASKS = dc.RequestResponse(request_bytes=750, response_bytes=750, interval_s=0.4, duration_s=12)


def cases(version: str) -> Iterator[Network]:
    """Yield all experiments with their seeds: three, five of the handover, one in the quick one."""
    number = {"full": 253, "quick": 24, "sample": 10}[version]
    ways = WAYS | (LINUX if version == "sample" else {})
    for seed in range(1, 2 if version == "quick" else 4):
        for experiment in CLASSES:
            yield from used(networks(experiment, number), ways, seed)
        yield from named(seed)
    for seed in range(1, 2 if version == "quick" else 6):
        yield from handovers(seed)
    yield from downloads({"full": 24, "quick": 4, "sample": 1}[version])


def used(made: Iterator[Network], ways: dict[str, Fields], seed: int) -> Iterator[Network]:
    """Yield each way to use each network."""
    for scenario, labels in made:
        for way, fields in ways.items():
            yield scenario.evolve(**fields, seed=seed), labels | {"way": way}


def named(seed: int) -> Iterator[Network]:
    """Yield the networks that the slides name."""
    first = ("MP-QUIC, path 1 first", "MPTCP, path 1 first")
    ways = {name: way for name, way in (WAYS | LINUX).items() if not name.startswith("TCP")}
    example: dict[str, Any] = {"experiment": "example", "network": "20 and 15 Mbit/s"}
    yield from used(iter([(over(*EXAMPLE), example)]), {name: ways[name] for name in first}, seed)
    for name, network in NAMED.items():
        labels = {"experiment": "named", "network": name}
        yield from used(iter([(over(*network), labels)]), ways, seed)


def handovers(seed: int) -> Iterator[Network]:
    """Yield requests while path 1 ends at 3 s, over all ways to use both paths."""
    base = over((10, 15), (10, 25), workload=ASKS, seed=seed)
    for end, change in ENDS.items():
        for way, fields in HANDED_OVER.items():
            labels = {"experiment": "handover", "path_1": end, "way": way}
            yield base.evolve(legs={0: change}).evolve(**fields), labels
