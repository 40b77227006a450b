"""What do viewers and callers notice of three Dual Connectivities by name, and of MP-QUIC?

The places of `video` and `calls`, with the papers', the deployable (5 ms of Xn) and the ideal Dual
Connectivity, and MP-QUIC with picoquic's own scheduler and with earliest completion first. All have
picoquic and CUBIC of RFC 9438.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import calls
import pandas as pd
import video
from felt import Case, Values, places
from ratios import by_way, of
from ways import MPQUIC

import minitopo_dc as dc
from minitopo_dc.statistics import mean_interval

LASTS_S = {"full": 60, "quick": 10, "sample": 10}
MEASURES = {
    "video": ("stall_s", "bitrate_mbps", "linear_qoe_mbps"),
    "calls": ("late_share", "freezes"),
}
JUDGED = {"video": "linear_qoe_mbps", "calls": "late_share"}
"""QoE in Mbit/s per segment; the share of frames that come too late or not at all."""


def cases(version: str) -> Iterator[Case]:
    """Yield each place with each way, for videos and for calls."""
    lasts_s = LASTS_S[version]
    movie = dc.Video(video="movie", abr="dynamic", duration_s=lasts_s)
    call = dc.Realtime(bitrate_mbps=1.5, reset_late=True, duration_s=lasts_s)
    varied: tuple[tuple[str, str, Values, Any], ...] = (
        ("video", "first_mbps", video.RATES, video.pair),
        ("calls", "loss_percent", calls.LOSSES, calls.pair),
    )
    for media, label, values, pair in varied:
        for labels, fields in places(version, label, values, pair):
            work: Any = call
            if media == "video":
                is_pair = labels["experiment"] == "pair"
                work = movie.evolve(video="bbb4k") if is_pair else movie
            base = dc.Scenario(
                transport="quic-picoquic", mode="dc", clock="virtual", workload=work, **fields
            )
            for way, scenario in ways(base):
                yield scenario, {"media": media, "way": way, **labels}


def ways(base: dc.Scenario) -> Iterator[tuple[str, dc.Scenario]]:
    """Yield each Dual Connectivity by name, and MP-QUIC with two schedulers."""
    for name in ("papers", "deployable", "ideal"):
        yield f"dc-{name}", base.with_dc(name)
    yield "mpquic", base.evolve(**MPQUIC)
    yield "mpquic-ecf", base.evolve(**MPQUIC, options={"scheduler": "ecf"})


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield means by place and way, and what the deployable one has more than each other way."""
    for media, measures in MEASURES.items():
        mine = runs[runs["media"] == media]
        if len(mine):
            mine.attrs["labels"] = runs.attrs["labels"]
            means = mine.groupby(["experiment", "way"], sort=False)[[*measures]].mean()
            yield f"{media}: means", means.round(3)
            yield f"{media}: {JUDGED[media]}, deployable less another", differences(mine, media)


def differences(runs: pd.DataFrame, media: str) -> pd.DataFrame:
    """Return mean differences with Student's 95 % intervals, paired by place, as texts."""
    rows = {}
    for name in runs["experiment"].unique():
        points = by_way(of(runs, name), JUDGED[media])
        others = points.drop(columns="dc-deployable")
        more = others.rsub(points["dc-deployable"], axis=0)
        rows[name] = {"places": len(points), **{way: text(more[way]) for way in more}}
    return pd.DataFrame.from_dict(rows, orient="index")


def text(values: pd.Series[float]) -> str:
    """Return a mean with its interval as tables have them."""
    known = values.dropna().tolist()
    ends = mean_interval(known)
    return f"{sum(known) / len(known):.3f} ({ends.low:.3f} to {ends.high:.3f})"
