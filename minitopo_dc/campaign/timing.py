"""A rough time of a run: that in which its legs carry it, or which its workload lasts."""

from __future__ import annotations

from minitopo_dc.scenario import ResolvedFlow, Scenario
from minitopo_dc.settings import LegSettings
from minitopo_dc.units import NS_PER_S

REAL_OVERHEAD_S = 5.0
"""The time in which hosts, elements and programs start and end: 112 runs of 40 MB on two legs of 20
Mbit/s took 26 minutes, of which their bytes took 17 (docs/measurements.md)."""
RATE_OVER_S = 60.0
"""The time over which a capacity's mean is taken: as long as the embedded traces."""


def expected_s(scenario: Scenario) -> float:
    """Return the time in s of a run's longest flow over full legs, and what it needs beside."""
    longest = max(_flow_s(scenario, flow) for flow in scenario.resolved_flows)
    return longest + (REAL_OVERHEAD_S if scenario.clock == "real" else 0.0)


def _flow_s(scenario: Scenario, flow: ResolvedFlow) -> float:
    if flow.workload.lasts_s is not None:
        return flow.workload.lasts_s
    rate_mbps = sum(mean_mbps(scenario.legs[leg - 1].downlink) for leg in flow.legs)
    bits = flow.workload.size_bytes * 8
    return min(bits / (rate_mbps * 1e6), scenario.timeout_s) if rate_mbps else scenario.timeout_s


def mean_mbps(radio: LegSettings) -> float:
    """Return the mean capacity of a leg in Mbit/s, as long as `RATE_OVER_S`."""
    bits = radio.capacity().bits_between(0, round(RATE_OVER_S * NS_PER_S))
    return bits / RATE_OVER_S / 1e6
