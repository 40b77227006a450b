"""Propagation delay as a function of a leg's capacity.

The paper of Krämer et al. (Electronics 11 (2022) 1492) has no delays in its traces and takes a
curve through two typical values of 5G, d(50) = 20 and d(200) = 100 (its figure 3), without a
formula or units. Read here as one-way ms at Mbit/s. Each kind of curve but `constant` goes through
both points.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Literal

from minitopo_dc.link.models.capacity import Capacity, ConstantCapacity, RateCapacity
from minitopo_dc.units import NS_PER_S

DelayCurve = Literal["power", "exponential", "linear", "constant"]
"""d(c) in ms at c Mbit/s: 0.2131 c^1.16096; 20 * 5^((c - 50) / 150); 20 + (c - 50) * 80 / 150, but
at least 0; 19."""
LOW, HIGH = (50.0, 20.0), (200.0, 100.0)
"""The two points: Mbit/s, ms."""
EXPONENT = 1.160964047443681
"""ln(100 / 20) / ln(200 / 50). Written down, so that it is the same on every platform."""
CONSTANT_MS = 19.0
"""Half of 38 ms, the mean round trip of LTE that the paper cites (its reference 7)."""
NS_PER_US = 1000


def curve_delay_ns(curve: DelayCurve, rate_bps: int) -> int:
    """Return the one-way delay (ns) at a capacity, in whole µs so that platforms agree."""
    return round(_delay_ms(curve, rate_bps / 1e6) * 1000) * NS_PER_US


def delay_steps(curve: DelayCurve, capacity: Capacity) -> Iterator[tuple[int, int]]:
    """Yield each time (ns, from 0) at which a capacity begins, and the delay (ns) from then on.

    While the capacity is 0 nothing passes, and the delay stays as it was. The delay of
    opportunities, which have no rate, follows their mean over each second.
    """
    delay = curve_delay_ns(curve, 0)
    for time, rate in _rates(capacity):
        delay = curve_delay_ns(curve, rate) if rate else delay
        yield time, delay


def _delay_ms(curve: DelayCurve, mbps: float) -> float:
    (c1, d1), (c2, d2) = LOW, HIGH
    if curve == "power":
        return d1 * float((mbps / c1) ** EXPONENT)
    if curve == "exponential":
        return d1 * float((d2 / d1) ** ((mbps - c1) / (c2 - c1)))
    if curve == "linear":
        return max(0.0, d1 + (d2 - d1) * (mbps - c1) / (c2 - c1))
    return CONSTANT_MS


def _rates(capacity: Capacity) -> Iterator[tuple[int, int]]:
    if isinstance(capacity, ConstantCapacity | RateCapacity):
        yield from capacity.steps()
        return
    for second in count(0, NS_PER_S):
        yield second, capacity.bits_between(second, second + NS_PER_S)
