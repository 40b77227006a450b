"""Ask which property of a network explains the published delays of the radio of n78.

    python studies/carriers/published.py

Lone packets at random moments over n78 without errors and without a core, one property changed at
a time, beside two operators; and ranges of other networks. Writes `reference/published*.csv`. A
share is fitted: it is the one of a grid with the least greatest deviation of both operators'
medians and 95th percentiles. The third quartile takes no part in that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import log
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd

import minitopo_dc as dc
from minitopo_dc.cli.screen import progress
from minitopo_dc.fields.ranges import Direction
from minitopo_dc.interruption import interruptible
from minitopo_dc.link.capacity import make_capacity
from minitopo_dc.link.rlc.leg import RlcLeg
from minitopo_dc.trace.model import RateTrace
from minitopo_dc.units import NS_PER_MS

TABLE = Path(__file__).parent / "reference" / "published.csv"
QUANTILES: Mapping[str, float] = {"median_ms": 0.5, "p75_ms": 0.75, "p95_ms": 0.95}
FITTED = ("median_ms", "p95_ms")
PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "DDDSU": {"median_ms": 2.13, "p75_ms": 4.00, "p95_ms": 7.67},
    "DDDDDDDSUU": {"median_ms": 2.92, "p75_ms": 6.24, "p95_ms": 9.29},
}
"""Of Vodafone Germany (46 values) and Vodafone Italy (36) without retransmissions, by the pattern
that they may have: artifacts of Fezeu et al., SIGCOMM 2024, where each value stands twice."""
PACKETS, APART_MS, SPREAD_MS = 4_000, 400, 100
SHARES = [percent / 100 for percent in range(2, 62, 2)]
STEP_NS = 2_500_000
"""The capacity's time that a slot of the uplink has, in both patterns."""
DRX = {"on_ms": 10, "inactivity_ms": 10, "cycle_ms": 40}

Delays = Sequence[float]


@cache
def delays_ms(pattern: str, way: Direction, taken: float = 0.0, sr_ms: float = 0.0) -> Delays:
    """Return the delay of each lone packet, in the order of joining.

    Args:
        pattern: of TDD.
        way: the direction.
        taken: the share of the uplink's slots that are another user's, at random.
        sr_ms: from one occasion of a request to the next; 0: a grant is there beforehand.
    """
    return simulated(dc.nr(tdd=pattern, core_ms=0, block_error_percent=0, sr_ms=sr_ms), way, taken)


@cache
def asleep_ms(pattern: str) -> Delays:
    """Return the delays of a downlink whose terminal sleeps before each packet."""
    return simulated(dc.nr(tdd=pattern, core_ms=0, block_error_percent=0, drx=DRX), "downlink")


def simulated(nr: dc.Leg, way: Direction, taken: float = 0.0) -> Delays:
    """Return the delays of a leg; a share of its slots may be another user's."""
    leg = nr.direction(way).build(way)
    assert isinstance(leg, RlcLeg)
    rng = Random(way)
    if taken:
        leg.retune(0, capacity=make_capacity(shared(taken, rng)))
    leg.start(0)
    moments = [APART_MS * number + SPREAD_MS * rng.random() for number in range(PACKETS)]
    return [delay_ms(leg, round(moment * NS_PER_MS)) for moment in moments]


def shared(taken: float, rng: Random) -> RateTrace:
    """Return a rate that is 0 in the slots of others."""
    rates = tuple(0 if rng.random() < taken else 10_000_000 for _ in range(4_001))
    times = tuple(number * STEP_NS for number in range(len(rates)))
    return RateTrace("shared", times, rates, len(rates) * STEP_NS)


def delay_ms(leg: RlcLeg[int], joins: int) -> float:
    """Return the delay of a packet that joins at a moment (ns) and finds nothing under way."""
    leg.push(0, 100, joins)
    while (due := leg.next_timeout()) is not None:
        if leg.poll(due):
            return (due - joins) / NS_PER_MS
    raise AssertionError("the packet never arrives")


def mixed(usual: Delays, other: Delays, share: float) -> Delays:
    """Return delays of which a share are of the other kind."""
    count = round(share * len(usual))
    return [*other[:count], *usual[count:]]


def added(downlink: Delays, uplink: Delays) -> Delays:
    """Return the sum of both directions' delays."""
    return [down + up for down, up in zip(downlink, uplink, strict=True)]


def both(pattern: str, taken: float) -> Delays:
    """Return the delays there and back if a share of the uplink's slots is taken."""
    return added(delays_ms(pattern, "downlink"), delays_ms(pattern, "uplink", taken))


def sleeps(pattern: str, share: float) -> Delays:
    """Return a downlink's delays if the terminal sleeps before a share of its packets."""
    return mixed(delays_ms(pattern, "downlink"), asleep_ms(pattern), share)


def requests(pattern: str, share: float, period_ms: int) -> Delays:
    """Return an uplink's delays if a share of its packets ask for a grant."""
    asking = delays_ms(pattern, "uplink", sr_ms=period_ms)
    return mixed(delays_ms(pattern, "uplink"), asking, share)


PROPERTIES: Mapping[str, Callable[[str, float], Delays]] = {
    "downlink and uplink": lambda pattern, _: both(pattern, 0),
    "downlink": lambda pattern, _: delays_ms(pattern, "downlink"),
    "uplink": lambda pattern, _: delays_ms(pattern, "uplink"),
    "downlink, a share sleeps (DRX)": sleeps,
    "uplink, a share asks each 5 ms": partial(requests, period_ms=5),
    "uplink, a share asks each 10 ms": partial(requests, period_ms=10),
    "uplink, a share asks each 20 ms": partial(requests, period_ms=20),
    "uplink, a share of slots is taken": lambda pattern, share: delays_ms(pattern, "uplink", share),
    "both, a share of the uplink's slots is taken": both,
}
"""What differs, and how the delays of a pattern follow from a share."""


def quantiles(delays: Delays) -> dict[str, float]:
    """Return the quantiles by their columns."""
    values = np.quantile(delays, list(QUANTILES.values()))
    return dict(zip(QUANTILES, map(float, values), strict=True))


def worst(name: str, share: float) -> float:
    """Return the logarithm of the factor by which a fitted quantile is off, at most."""
    factors = [
        abs(log(quantiles(PROPERTIES[name](pattern, share))[column] / published[column]))
        for pattern, published in PUBLISHED.items()
        for column in FITTED
    ]
    return max(factors)


def rows() -> Iterator[dict[str, object]]:
    """Yield a row a property and pattern."""
    for name, delays in progress([*PROPERTIES.items()], lambda item: item[0]):
        shares = SHARES if "share" in name else [0.0]
        share = min(shares, key=lambda tried, name=name: worst(name, tried))  # type: ignore[misc]
        for pattern, published in PUBLISHED.items():
            model = quantiles(delays(pattern, share))
            fitted = {f"{column}_ratio": model[column] / published[column] for column in model}
            yield {"property": name, "pattern": pattern, "share": share, **model, **fitted}


def round_trip_ms(nr: dc.Leg) -> Delays:
    """Return the delays there and back."""
    return added(simulated(nr, "downlink"), simulated(nr, "uplink"))


def ranges() -> Iterator[dict[str, object]]:
    """Yield what is published of other networks beside the model without a core."""
    campus = simulated(dc.nr(core_ms=0), "downlink")
    asking = round_trip_ms(dc.nr(core_ms=0, sr_ms=20, block_error_percent=0))
    granted = round_trip_ms(dc.lte(core_ms=0, sr_ms=0))
    for name, published, delays in (
        ("campus, SA, core to terminal", "95 % within 4 to 10", campus),
        ("srsRAN, SA, ping, requests each 20 ms", "15 to 35", asking),
        ("LTE, ping, grants beforehand", "9.4 least, 11.4 mean", granted),
    ):
        least, low, high, most = np.quantile(delays, [0, 0.025, 0.975, 1])
        numbers = {"least_ms": least, "p2_5_ms": low, "p97_5_ms": high, "most_ms": most}
        yield {"network": name, "published_ms": published, **numbers, "mean_ms": np.mean(delays)}


if __name__ == "__main__":
    with interruptible("a table is written when all of it is there"):
        others = pd.DataFrame(ranges()).round(2)
        others.to_csv(TABLE.with_stem("published_ranges"), index=False)
        print(others.to_string(index=False))  # noqa: T201
        table = pd.DataFrame(rows()).round(2)
        table.to_csv(TABLE, index=False)
        print(table.to_string(index=False))  # noqa: T201
