"""What varies over a design's points, and the legs that a point gives; the named pairs of legs.

A point is a mapping of factors: rates in Mbit/s, times in ms, losses in percent. Sums and ratios of
both legs are varied in place of either leg, so that the factors are independent of each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import minitopo_dc as dc

Fields = dict[str, Any]
Point = Mapping[str, Any]
TRACES = Path(__file__).resolve().parents[2] / "traces"
LTE, DRIVE = "DL_bitrate", ("channel_1_mbps", "channel_3_mbps")
CAPACITIES: dict[str, Sequence[tuple[Path, str]]] = {
    "lte": [(TRACES / "lte_a.csv", LTE), (TRACES / "lte_b.csv", LTE)],
    "drive": [(TRACES / "drive_residential.csv", column) for column in DRIVE],
    "walk": [(TRACES / "lte_walk_a.csv", LTE), (TRACES / "lte_walk_b.csv", LTE)],
    "road": [(TRACES / "drive_road.csv", column) for column in DRIVE],
}
"""File and column of each leg's trace. `walk` and `road` are held out: no rule was made of them."""
COHERENCE_S = {"lte": 5.0, "drive": 19.0, "walk": 7.0, "road": 52.0}
"""The lag at which the autocorrelation of a capacity falls below 1/e, mean of both legs."""
VARIATION = {"constant": 0.0, "lte": 0.47, "drive": 0.75, "walk": 0.73, "road": 0.94}
"""The coefficient of variation, mean of both legs (`minitopo-dc trace info`)."""
NETWORKS: dict[str, Any] = {
    "total_mbps": (4, 100, "log"),  # mean of both legs together
    "share": (0.5, 0.95),  # of leg 1
    "delay_sum_ms": (10, 300, "log"),  # of both legs' round trips
    "delay_ratio": (0.2, 5, "log"),  # of leg 2's round trip to leg 1's
}
CAPACITY: dict[str, Any] = {"capacity": ["constant", "lte", "drive"], "start_s": (0, 1700)}
"""Over time, and where in the traces a run begins."""
REQUESTS: dict[str, Any] = {
    "answer_kb": (1, 200, "log"),
    "load": (0.05, 0.5),  # of the mean rate of both legs
}


def nine(value: float) -> float:
    """Return a number with 9 significant digits, with which recorded runs have their identity."""
    return float(f"{value:.9g}")


def halves(point: Point) -> Iterator[tuple[int, float, Fields]]:
    """Yield of each leg of a point its number, its mean rate (Mbit/s), and its own fields."""
    total, share = point["total_mbps"], point["share"]
    trips, ratio = point["delay_sum_ms"], point["delay_ratio"]
    delays = trips / (1 + ratio) / 2, trips * ratio / (1 + ratio) / 2
    rates = total * share, total * (1 - share)
    for number, mbps, delay in zip((1, 2), rates, delays, strict=True):
        fields: Fields = {"rate_mbps": nine(mbps)}
        if point["capacity"] != "constant":
            trace, column = CAPACITIES[point["capacity"]][number - 1]
            fields = {"trace": trace, "trace_column": column, "trace_mean_mbps": nine(mbps)}
        yield number, mbps, fields | {"delay_ms": nine(delay)}


def start_s(point: Point) -> float:
    """Return the moment at which the traces of a point begin."""
    return 0.0 if point["capacity"] == "constant" else float(point["start_s"])


def requests(point: Point) -> dc.RequestResponse:
    """Return 100 requests for answers that make the load of a point."""
    kb, mbps = point["answer_kb"], point["load"] * point["total_mbps"]
    return dc.RequestResponse(
        request_bytes=750,
        response_bytes=round(1000 * kb),
        interval_s=nine(max(kb / 125 / mbps, 0.01)),
        count=100,
        patience_s=60,
    )


def leg(**fields: Any) -> dc.Leg:
    """Return a leg that has no jitter unless its fields say so."""
    fields.setdefault("jitter_ms", 0)
    return dc.Leg(**fields)


def lte_pair() -> list[dc.Leg]:
    """Return the embedded LTE pair, with means of 4 and 2.7 Mbit/s."""
    (first, _), (second, _) = CAPACITIES["lte"]
    both: Fields = {"delay_ms": 20, "queue_packets": 100, "uplink": {"rate_mbps": 5}}
    return [
        leg(trace=first, trace_mean_mbps=4, **both),
        leg(trace=second, trace_mean_mbps=2.7, **both),
    ]


def drive(name: str) -> list[dc.Leg]:
    """Return one channel of each of two operators on a drive, up as down."""
    both: Fields = {"delay_curve": "power", "queue_packets": 20}
    channels = [{"trace": file, "trace_column": name} for file, name in CAPACITIES[name]]
    return [leg(downlink=channel, uplink=channel, **both) for channel in channels]


def outages(away_s: float) -> list[dc.Leg]:
    """Return 4 and 2 Mbit/s; the first leg is away for so long every 15 s."""
    away = [(start, start + away_s) for start in (5, 20, 35, 50)]
    return [
        leg(rate_mbps=4, delay_ms=15, queue_ms=100, uplink={"rate_mbps": 4}, outages=away),
        leg(rate_mbps=2, delay_ms=30, queue_ms=100, uplink={"rate_mbps": 2}),
    ]
