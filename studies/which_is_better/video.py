"""What does a viewer see over one leg, Dual Connectivity and MP-QUIC?

Every way is picoquic with CUBIC, one connection for all segments. TCP and MPTCP are on the real
clock: `campaign run which_is_better/video --sample --clock real --only experiment=lte`.

The player is DYNAMIC of dash.js with a buffer of 25 s. The better leg alone is the one with the
higher QoE.

Bytes for each byte watched: IP bytes that the downlinks delivered, also of downloads that were
given up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from claims import Claim, mean, share
from felt import Case, Values, at, by_measure, judged, places, ways
from networks import leg
from ways import ALONE, MPTCP, Fields

import minitopo_dc as dc

RATES: Values = {"full": (8, 16, 24), "quick": (16,), "sample": (16,)}
"""Of the 5G leg (Mbit/s)."""
WAYS = ways(deadline_ms=100)
SAMPLE: dict[str, Fields] = {
    **{name: WAYS[name] for name in ("leg-1", "leg-2", "dc-adaptive", "mpquic")},
    **{f"tcp-{name}": {"transport": "tcp", **way} for name, way in ALONE.items()},
    "mptcp": MPTCP,
}


def cases(version: str) -> Iterator[Case]:
    """Yield the cases of all experiments."""
    sample = version == "sample"
    movie = dc.Video(video="movie", abr="dynamic", duration_s=30 if sample else 60)
    for place in places(version, "first_mbps", RATES, pair):
        work = movie.evolve(video="bbb4k") if place[0]["experiment"] == "pair" else movie
        for name, way in (SAMPLE if sample else WAYS).items():
            yield at(place, name, **way, workload=work)


def pair(first_mbps: float) -> list[dc.Leg]:
    """Return a leg of 5G and one of WiFi, which loses packets."""
    up = {"rate_mbps": 10}
    return [
        leg(rate_mbps=first_mbps, delay_ms=8, queue_ms=50, uplink=up),
        leg(rate_mbps=12, delay_ms=4, queue_ms=50, loss_percent=0.1, uplink=up),
    ]


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the claims of each experiment."""
    yield from judged(runs, claims)


def claims(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield what is claimed at the points of an experiment: s of stalls, Mbit/s of the rest."""
    found = by_measure(runs, ("stall_s", "bitrate_mbps", "linear_qoe_mbps", "bytes_per_byte"))
    stall, bitrate, qoe, used = found.values()
    first_leg = qoe["leg-1"] >= qoe["leg-2"]
    leg = {name: its["leg-1"].where(first_leg, its["leg-2"]) for name, its in found.items()}
    yield share(
        "adaptive DC stalls for no longer than the better leg alone, at most points",
        stall["dc-adaptive"] <= leg["stall_s"] + 0.05,
        least=0.5,
    )
    for words, more in (
        ("bitrate of adaptive DC, more than the better leg alone", bitrate["dc-adaptive"]
         - leg["bitrate_mbps"]),
        ("bitrate of MP-QUIC, more than the better leg alone", bitrate["mpquic"]
         - leg["bitrate_mbps"]),
        ("QoE of adaptive DC, more than MP-QUIC", qoe["dc-adaptive"] - qoe["mpquic"]),
        ("QoE of adaptive DC, more than equal batches", qoe["dc-adaptive"] - qoe["dc-batch"]),
        ("QoE of duplication, more than the better leg alone", qoe["dc-duplicate"]
         - leg["linear_qoe_mbps"]),
    ):  # fmt: skip
        yield mean(f"{words}: difference", more)
    longer = stall["dc-adaptive"] - stall["mpquic"]
    yield mean("stalls of adaptive DC, no longer than MP-QUIC's: difference", longer, most=0)
    yield mean("bytes of adaptive DC for each byte watched", used["dc-adaptive"], most=1.1)
    yield mean("bytes of MP-QUIC for each byte watched", used["mpquic"], most=1.1)
    yield mean("bytes of duplication for each byte watched", used["dc-duplicate"], least=1.5)
