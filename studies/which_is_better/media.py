"""What do viewers and callers notice of one leg, Dual Connectivity and MP-QUIC?

Three Dual Connectivities by name (the deployable one with 5 ms of Xn), the ideal one with copies of
all packets or of a call's key frames, each leg alone, and MP-QUIC with picoquic's own scheduler and
with earliest completion first. All have picoquic and CUBIC of RFC 9438. TCP and MPTCP play videos
on the real clock: `campaign run which_is_better/media --sample --clock real`.

The player is DYNAMIC of dash.js with a buffer of 25 s. A call has 30 frames a second of 1.5 Mbit/s
down, a key frame each second ten times as large as another, and 150 ms of deadline. Its rate is
fixed: the congestion control of media is left out. A frame is a stream of its own, which is given
up when it is too late; a share that is late counts frames that did not come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from networks import Fields, drive, leg, lte_pair, outages
from ratios import by_way, of
from ways import ALONE, COPIES, MPQUIC, MPTCP

import minitopo_dc as dc
from minitopo_dc.statistics import mean_interval

Case = tuple[dc.Scenario, dict[str, Any]]
Values = Mapping[str, Sequence[float]]
"""Of a factor, by version of the campaign."""
LTE: Values = {"full": range(0, 60, 10), "quick": (20,), "sample": (0,)}
"""Where in the traces a run begins (s)."""
DRIVES: Values = {"full": range(0, 1800, 100), "quick": (600,), "sample": ()}
AWAY: Values = {"full": (0.2, 0.5, 1, 2, 5), "quick": (2,), "sample": (2,)}
"""For how long a leg is away (s)."""
RATES: Values = {"full": (8, 16, 24), "quick": (16,), "sample": (16,)}
"""Of the 5G leg that a video has beside WiFi (Mbit/s)."""
LOSSES: Values = {"full": (0.1, 1, 3), "quick": (1,), "sample": (1,)}
"""Of the WiFi leg that a call has beside 5G (%), both ways."""
LASTS_S = {"full": 60, "quick": 10, "sample": 30}
KEY_FRAMES: Fields = {"workload": {"key_frame_dscp": 46}, "pdcp": {"duplication": {"dscp": [46]}}}
"""Key frames alone go over both legs: the packets of their connection are marked."""
SAMPLE = (
    *("leg-1", "leg-2", "dc-deployable", "dc-ideal", "dc-duplicate", "mpquic"),
    *("tcp-leg-1", "tcp-leg-2", "mptcp"),
)
MEASURES = {
    "video": ("stall_s", "bitrate_mbps", "linear_qoe_mbps", "bytes_per_byte"),
    "calls": ("late_share", "freezes", "frame_delay_p95_ms", "bytes_per_byte"),
}
JUDGED = {"video": "linear_qoe_mbps", "calls": "late_share"}
"""QoE in Mbit/s per segment; the share of frames that come too late or not at all."""


def cases(version: str) -> Iterator[Case]:
    """Yield each place with each way, for videos and for calls."""
    movie = dc.Video(video="movie", abr="dynamic", duration_s=LASTS_S[version])
    call = dc.Realtime(bitrate_mbps=1.5, reset_late=True, duration_s=LASTS_S[version])
    for media, work, label, values, pair in (
        ("video", movie, "first_mbps", RATES, video_pair),
        ("calls", call, "loss_percent", LOSSES, call_pair),
    ):
        for labels, fields in places(version, label, values, pair):
            base = dc.Scenario(
                transport="quic-picoquic", mode="dc", clock="virtual", workload=work, **fields
            )
            if (media, labels["experiment"]) == ("video", "pair"):
                base = base.evolve(workload={"video": "bbb4k"})
            for way, scenario in ways(base):
                if way in SAMPLE if version == "sample" else "tcp" not in way:
                    yield scenario, {"media": media, "way": way, **labels}


def places(
    version: str, label: str, values: Values, pair: Callable[[float], list[dc.Leg]]
) -> Iterator[tuple[dict[str, Any], Fields]]:
    """Yield the labels of each place, and what a scenario has of it.

    Args:
        version: of the campaign.
        label: what varies of the legs of 5G and WiFi.
        values: its values.
        pair: returns these legs.
    """
    for name, legs, starts in (
        ("lte", lte_pair(), LTE),
        ("residential", drive("drive"), DRIVES),
        ("road", drive("road"), DRIVES),
    ):
        for start in starts[version]:
            fields = {"legs": legs, "trace_offset_s": start}
            yield {"experiment": name, "start_s": start}, fields
    for value in values[version]:
        yield {"experiment": "pair", label: value}, {"legs": pair(value)}
    for away in AWAY[version]:
        yield {"experiment": "outages", "away_s": away}, {"legs": outages(away)}


def video_pair(first_mbps: float) -> list[dc.Leg]:
    """Return a leg of 5G and one of WiFi, which loses packets down."""
    up = {"rate_mbps": 10}
    return [
        leg(rate_mbps=first_mbps, delay_ms=8, queue_ms=50, uplink=up),
        leg(rate_mbps=12, delay_ms=4, queue_ms=50, loss_percent=0.1, uplink=up),
    ]


def call_pair(loss_percent: float) -> list[dc.Leg]:
    """Return a leg of 5G and one of WiFi, which loses packets both ways."""
    up = {"rate_mbps": 12, "loss_percent": loss_percent}
    return [
        leg(rate_mbps=8, delay_ms=8, queue_ms=50, uplink={"rate_mbps": 8}),
        leg(rate_mbps=12, delay_ms=4, queue_ms=50, loss_percent=loss_percent, uplink=up),
    ]


def ways(base: dc.Scenario) -> Iterator[tuple[str, dc.Scenario]]:
    """Yield each leg alone, each Dual Connectivity, and multipath, as the workload has them."""
    for name, alone in ALONE.items():
        yield name, base.evolve(**alone)
    for dual in ("papers", "deployable", "ideal"):
        yield f"dc-{dual}", base.with_dc(dual)
    yield "dc-duplicate", base.evolve(**COPIES)
    yield "mpquic", base.evolve(**MPQUIC)
    yield "mpquic-ecf", base.evolve(**MPQUIC, options={"scheduler": "ecf"})
    if isinstance(base.workload, dc.Realtime):
        yield "dc-key-frames", base.with_dc("ideal").evolve(**KEY_FRAMES)
        return
    for name, alone in ALONE.items():
        yield f"tcp-{name}", base.evolve(transport="tcp", **alone)
    yield "mptcp", base.evolve(**MPTCP)


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield means by place and way, and what the deployable one has more than each other way."""
    used = (runs["leg_bytes_1"] + runs["leg_bytes_2"]) / runs["size_bytes"]
    with_use = runs.assign(bytes_per_byte=used)
    for media, measures in MEASURES.items():
        mine = with_use[with_use["media"] == media]
        if len(mine):
            mine.attrs["labels"] = runs.attrs["labels"]
            means = mine.groupby(["experiment", "way"], sort=False)[[*measures]].mean()
            yield f"{media}: means", means.round(3)
            yield f"{media}: {JUDGED[media]}, deployable less another", differences(mine, media)


def differences(runs: pd.DataFrame, media: str) -> pd.DataFrame:
    """Return mean differences with Student's 95 % intervals, paired by place, as texts."""
    rows = {}
    for name in runs["experiment"].unique():
        points = by_way(of(runs, name), JUDGED[media], ways=["dc-deployable"])
        others = points.drop(columns="dc-deployable")
        more = others.rsub(points["dc-deployable"], axis=0)
        rows[name] = {"places": len(points), **{way: text(more[way]) for way in more}}
    return pd.DataFrame.from_dict(rows, orient="index")


def text(values: pd.Series[float]) -> str:
    """Return a mean with its interval as tables have them; nothing where no run is ok."""
    known = values.dropna()
    ends = mean_interval(known.tolist())
    return f"{known.mean():.3f} ({ends.low:.3f} to {ends.high:.3f})" if len(known) else ""
