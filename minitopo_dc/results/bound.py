"""The bound of a transfer: a goodput that no split and no transport can beat over two legs.

It is a fluid's. (a) The handshake takes a round trip (RFC 9000, section 7; RFC 9293, section 3.5)
over the legs of least delay, a download's request one way more. (b) From then on each leg serves
all that its capacity gives; what it has served is at its end after its least delay. (c) Of it as
few packets are lost as `LUCK` allows. (d) The rest is content but for the headers of IP and TCP.
Serialisation, slots of RLC, Xn, windows and acknowledgements take no time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat
from math import sqrt
from typing import NamedTuple

from minitopo_dc.results.run_result import ENDS, goodput_mbps
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.leg import PACKET_BYTES, LegDirection
from minitopo_dc.scenario.radio import Leg
from minitopo_dc.scenario.resolve import resolve_scenario
from minitopo_dc.units import NS_PER_MS, NS_PER_S
from minitopo_dc.workloads import Download

CONTENT = (PACKET_BYTES - 40) / PACKET_BYTES
"""The share of content in full packets: IPv4 and TCP without options have 40 bytes, QUIC more."""
LUCK = 4.0
"""By how many standard deviations a run may lose fewer packets than the mean: 3 in 100,000 do."""
BOUNDED = ("download", "upload")
"""The workloads that have a bound: others send when their users or their media do."""


def bound_mbps(scenario: Scenario, start_s: float = 0.0) -> float | None:
    """Return the goodput that no way over the legs of a scenario can beat, in Mbit/s.

    It is None for other workloads than a download or an upload, for several flows, and for a size
    that the legs cannot carry within `timeout_s`.

    Args:
        scenario: has the legs, the server's delay and the workload; its way does not matter.
        start_s: when the client begins to connect, in s of the legs' time.

    Raises:
        SettingsError, TraceError: a trace is missing or wrong.
    """
    if scenario.flows or scenario.workload.kind not in BOUNDED:
        return None
    scenario, workload = resolve_scenario(scenario), scenario.workload
    limit_s, is_upload = scenario.timeout_s, scenario.loads == ("uplink",)
    legs = tuple(leg.direction(scenario.loads[0]) for leg in scenario.legs)
    down, up = _nearest_s(scenario.legs, limit_s)
    # Between the legs' node and the server, one way.
    wires = [
        scenario.server_delay_ms / 1000 + s for s in _nearest_s(scenario.real.backhaul, limit_s)
    ]
    begun = down + up + (0.0 if scenario.is_proxied else sum(wires))  # a proxy answers by itself
    begun += 0.0 if is_upload else up + sum(wires)  # the request, and its answer's way to the legs
    fluid = _Fluid(
        legs,
        tuple(leg.trace_age() for leg in legs),
        tuple(_least_s(leg, limit_s) for leg in legs),
        start_s,
        start_s + begun,
        later_s=wires[1] if is_upload else 0.0,
    )
    answer_s = down + wires[0] if is_upload else 0.0
    if isinstance(workload, Download) and workload.duration_s is not None:
        return fluid.arrived(workload.duration_s) / workload.duration_s / 1e6
    least_s = _when(fluid, 8 * workload.size_bytes, limit_s)
    return None if least_s is None else goodput_mbps(workload.size_bytes, least_s + answer_s)


class _Fluid(NamedTuple):
    """What each leg serves of a transfer, in s of the legs' time."""

    legs: tuple[LegDirection, ...]
    ages: tuple[int | None, ...]
    """When the trace of each was changed (`LegDirection.trace_age`)."""
    delays_s: tuple[float, ...]
    """The least delay of each."""
    start_s: float
    """When the client begins to connect."""
    begin_s: float
    """When the first content may enter a leg."""
    later_s: float
    """What content takes behind the legs."""

    def arrived(self, after_s: float) -> float:
        """Return the bits of content that have arrived so long after the start."""
        ends = [self.start_s + after_s - delay - self.later_s for delay in self.delays_s]
        return CONTENT * sum(map(_kept_bits, self.legs, repeat(self.begin_s), ends))


def _nearest_s(links: Sequence[Leg], until_s: float) -> list[float]:
    """Return the least delay (s) over any of some links downlink, and uplink; 0 without a link."""
    return [
        min((_least_s(link.direction(way), until_s) for link in links), default=0.0) for way in ENDS
    ]


@lru_cache(maxsize=256)
def _when(fluid: _Fluid, bits: int, timeout_s: float) -> float | None:
    """Return the time (s) after which so many bits have arrived; None: not before the time-out.

    Ways and seeds of a campaign have it in common.
    """
    low, high = 0.0, 1.0
    while fluid.arrived(high) < bits:
        if high > timeout_s:
            return None
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if fluid.arrived(middle) < bits else (low, middle)
    return low


def _kept_bits(leg: LegDirection, start_s: float, end_s: float) -> float:
    """Return the bits that a leg can serve in a time, less the fewest that its losses take."""
    if end_s <= start_s:
        return 0.0
    bits = leg.available_bits([round(start_s * NS_PER_S), round(end_s * NS_PER_S)])[0]
    packets = bits // (8 * PACKET_BYTES)
    models = [stage.loss_model() for stage in (leg, *(stage for _, stage in leg.stages()))]
    moments = [(0.0, 0.0) if model is None else model.moments(packets) for model in models]
    lost = min(mean - LUCK * sqrt(variance) for mean, variance in moments)
    return bits - 8 * PACKET_BYTES * max(0.0, lost)


def _least_s(leg: LegDirection, until_s: float) -> float:
    return leg.delay_range_ms(until_s)[0] * NS_PER_MS / NS_PER_S
