"""The legs' capacity over time, as a table for figures."""

from __future__ import annotations

import pandas as pd

from minitopo_dc.scenario import Scenario

NS_PER_S = 1_000_000_000


def capacity_over_time(scenario: Scenario, seconds: float, step_s: float = 0.5) -> pd.DataFrame:
    """Mean downlink capacity in steps of ``step_s``: ``time_s``, and ``leg_1``, ... in Mbit/s."""
    step = round(step_s * NS_PER_S)
    starts = range(0, max(1, round(seconds * NS_PER_S)), step)
    table = {"time_s": [start / NS_PER_S for start in starts]}
    for number, leg in enumerate(scenario.legs, start=1):
        capacity = leg.downlink.capacity()
        table[f"leg_{number}"] = [
            capacity.bits_between(start, start + step) / step_s / 1e6 for start in starts
        ]
    return pd.DataFrame(table)


def available_bits(scenario: Scenario, seconds: float) -> int:
    """Bits that all downlinks together could have carried in the first ``seconds`` s."""
    end = round(seconds * NS_PER_S)
    return sum(leg.downlink.capacity().bits_between(0, end) for leg in scenario.legs)
