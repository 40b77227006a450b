"""What does a caller feel over one leg, Dual Connectivity and MP-QUIC?

30 frames a second of 1.5 Mbit/s down, a key frame each second ten times as large as another, 150 ms
of deadline. The rate is fixed: the congestion control of media is left out.

Every way is picoquic with CUBIC. A frame is a stream of its own, which is given up when it is too
late. A share that is late counts frames that did not come. The better leg alone is the one with
fewer late frames.

Bytes for each byte of use: IP bytes that the downlinks delivered for each byte of frames that came
in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from claims import Claim, mean
from felt import BEARER, Case, Values, at, by_measure, judged, places, ways
from networks import leg
from ways import Fields, dual

import minitopo_dc as dc

LASTS_S = {"full": 60, "quick": 30, "sample": 15}
LOSSES: Values = {"full": (0.1, 1, 3), "quick": (1,), "sample": (1,)}
"""Of the WiFi leg (%)."""
KEY_FRAMES: Fields = dual(BEARER | {"duplication": {"dscp": [46]}})
"""Key frames alone go over both legs: the packets of their connection are marked."""
WAYS = ways(deadline_ms=50) | {"dc-key-frames": KEY_FRAMES}
SAMPLE = ("leg-1", "leg-2", "dc-adaptive", "dc-duplicate", "mpquic")


def cases(version: str) -> Iterator[Case]:
    """Yield the cases of all experiments."""
    call = dc.Realtime(bitrate_mbps=1.5, reset_late=True, duration_s=LASTS_S[version])
    marked = call.evolve(key_frame_dscp=46)
    for place in places(version, "loss_percent", LOSSES, pair):
        for name in SAMPLE if version == "sample" else WAYS:
            work = marked if name == "dc-key-frames" else call
            yield at(place, name, **WAYS[name], workload=work)


def pair(loss_percent: float) -> list[dc.Leg]:
    """Return a leg of 5G and one of WiFi, which loses packets both ways."""
    up = {"rate_mbps": 12, "loss_percent": loss_percent}
    return [
        leg(rate_mbps=8, delay_ms=8, queue_ms=50, uplink={"rate_mbps": 8}),
        leg(rate_mbps=12, delay_ms=4, queue_ms=50, loss_percent=loss_percent, uplink=up),
    ]


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield the claims of each experiment."""
    yield from judged(runs, claims)


def claims(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield what is claimed at the points of an experiment; shares of frames, freezes of a call."""
    found = by_measure(runs, ("late_share", "freezes", "bytes_per_byte"))
    late, freezes, used = found.values()
    leg = late[["leg-1", "leg-2"]].min(axis=1, skipna=False)
    adaptive, mpquic = late["dc-adaptive"], late["mpquic"]
    for words, first, second in (
        ("adaptive DC, less than the better leg alone", adaptive, leg),
        ("duplication, less than the better leg alone", late["dc-duplicate"], leg),
        ("MP-QUIC, less than the better leg alone", mpquic, leg),
        ("adaptive DC, less than MP-QUIC", adaptive, mpquic),
        ("duplication, less than adaptive DC", late["dc-duplicate"], adaptive),
        ("selective duplication, less than adaptive DC", late["dc-selective"], adaptive),
        ("duplication of key frames, less than adaptive DC", late["dc-key-frames"], adaptive),
    ):
        yield mean(f"late share of {words}: difference", first - second, most=0)
    more = freezes["dc-adaptive"] - freezes["mpquic"]
    yield mean("freezes of adaptive DC, no more than of MP-QUIC: difference", more, most=0)
    yield mean("bytes of duplication for each byte of use", used["dc-duplicate"], least=1.8)
    above = used.sub(used["dc-adaptive"], axis=0)
    for way, words in (("dc-key-frames", "key frames"), ("dc-selective", "late packets")):
        part = above[way] / above["dc-duplicate"]
        yield mean(f"more bytes of copies of {words}, over those of all", part, most=0.5)
