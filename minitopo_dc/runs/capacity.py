"""The legs' capacity over time, as a table for figures."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from minitopo_dc.scenario import Scenario
from minitopo_dc.units import NS_PER_S

if TYPE_CHECKING:
    import pandas as pd

    from minitopo_dc.link import Capacity
    from minitopo_dc.settings import LegSettings

KEPT = 256
"""The number of capacities that are kept: a trace of an hour has 3600 rates in each."""


def capacity_over_time(scenario: Scenario, seconds: float, step_s: float = 0.5) -> pd.DataFrame:
    """Return the mean downlink capacity in steps of `step_s`: `time_s`, and `leg_1_mbps`, ..."""
    import pandas as pd  # noqa: PLC0415  # most runs make no figure, and it takes half a second

    step = round(step_s * NS_PER_S)
    starts = range(0, max(1, round(seconds * NS_PER_S)), step)
    table = {"time_s": [start / NS_PER_S for start in starts]}
    for number, leg in enumerate(scenario.legs, start=1):
        capacity = leg.downlink.capacity()
        table[f"leg_{number}_mbps"] = [
            capacity.bits_between(start, start + step) / step_s / 1e6 for start in starts
        ]
    return pd.DataFrame(table)


def available_bits(scenario: Scenario, start_s: float, end_s: float) -> list[int]:
    """Return the bits that each downlink could have carried from one moment to another.

    Args:
        scenario: has the legs.
        start_s: start of the interval, in s since the elements' start, which is time zero of
            traces.
        end_s: end of the interval, in the same unit.
    """
    start, end = (round(moment * NS_PER_S) for moment in (start_s, end_s))
    capacities = [_capacity(leg.downlink, leg.downlink.trace_age()) for leg in scenario.legs]
    return [capacity.bits_between(start, end) for capacity in capacities]


@lru_cache(KEPT)
def _capacity(radio: LegSettings, _age: int | None) -> Capacity:
    """Make a capacity through a cache, as many runs of a campaign have the same legs."""
    return radio.capacity()
