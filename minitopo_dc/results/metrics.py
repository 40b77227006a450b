"""Metrics of a transfer: goodput, the legs' capacity and its share, fairness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minitopo_dc.scenario import Scenario
from minitopo_dc.units import NS_PER_S

if TYPE_CHECKING:
    import pandas as pd


def goodput_mbps(size_bytes: int, completion_s: float) -> float:
    """Return the goodput in Mbit/s: 8 * size_bytes / completion_s / 10^6.

    It counts the bits that the application asked for, each once and no headers (RFC 2647, section
    3.17), over the whole transfer including its handshake.

    Raises:
        ValueError: the completion time is not positive.
    """
    if not completion_s > 0:
        raise ValueError(f"completion_s: {completion_s}; allowed: above 0")
    return size_bytes * 8 / completion_s / 1e6


def capacity_share(size_bytes: int, available_bits: int) -> float:
    """Return the part of the legs' capacity that became goodput: 8 * size_bytes / available_bits.

    `available_bits` are what all legs together could have carried during the transfer. Headers take
    a few per cent of them, so 1 is out of reach.

    Raises:
        ValueError: no bits were available.
    """
    if available_bits <= 0:
        raise ValueError(f"available_bits: {available_bits}; allowed: above 0")
    return size_bytes * 8 / available_bits


def jain_index(goodputs: Sequence[float]) -> float:
    """Return Jain's fairness index: (sum x)^2 / (n sum x^2), from 1/n (one has all) to 1 (equal).

    R. Jain, D. Chiu, W. Hawe: "A quantitative measure of fairness and discrimination for resource
    allocation in shared computer systems", DEC-TR-301, 1984.

    Raises:
        ValueError: there is no goodput above 0, so that nothing was shared.
    """
    squares = sum(goodput * goodput for goodput in goodputs)
    if not squares:
        raise ValueError("goodputs: none is above 0")
    return sum(goodputs) ** 2 / (len(goodputs) * squares)


def capacity_over_time(scenario: Scenario, seconds: float, step_s: float = 0.5) -> pd.DataFrame:
    """Return the means in steps of `step_s` of what downlinks could carry (`available_bits`).

    Columns: `time_s`, and `leg_1_mbps`, ...
    """
    import pandas as pd  # noqa: PLC0415  # most runs make no figure, and it takes half a second

    step = round(step_s * NS_PER_S)
    edges = range(0, max(1, round(seconds * NS_PER_S)) + step, step)
    table = {"time_s": [start / NS_PER_S for start in edges[:-1]]}
    for number, leg in enumerate(scenario.legs, start=1):
        bits = leg.direction("downlink").available_bits(edges)
        table[f"leg_{number}_mbps"] = [count / step_s / 1e6 for count in bits]
    return pd.DataFrame(table)


def available_bits(
    scenario: Scenario, start_s: float, end_s: float, *, at_once: bool = False
) -> list[int]:
    """Return the bits that each leg could have carried from one moment to another.

    Background users of cells do not count.

    Args:
        scenario: has the legs, and the directions that count (`loads`).
        start_s: start of the interval, in s since the elements' start, which is time zero of
            traces.
        end_s: end of the interval, in the same unit.
        at_once: whether legs of one cell, which are never idle, have an equal part of it each;
            else each leg has it alone.
    """
    edges = [round(moment * NS_PER_S) for moment in (start_s, end_s)]
    users = {leg: len(cell.legs) for cell in scenario.cells for leg in cell.legs if at_once}
    return [
        sum(
            bits // (users.get(number, 1) if way == "downlink" else 1)
            for way in scenario.loads
            for bits in leg.direction(way).available_bits(edges)
        )
        for number, leg in enumerate(scenario.legs, start=1)
    ]
