"""The cells and channels of a drive, and the statistics of what a terminal gets from them.

The levels of aggregation and statistics are those of Krämer et al., Electronics 11 (2022) 1492,
section 3. A channel is each second the strongest cell of a carrier. What the others send is noise
to it, and the power received gives its capacity (section 3.1)::

    SINR = RSRP / (load x sum of the interferers' RSRP + thermal noise)              (1)
    B    = f x C / ln 2 x min(c15 x ln 2 / C, ln(1 + gamma x SINR))                  (2)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, NamedTuple

from minitopo_dc.trace.model import MAX_BPS, RateTrace, in_range
from minitopo_dc.units import NS_PER_S


class HeardCell(NamedTuple):
    """One cell that the terminal hears in one second.

    `carrier` is a frequency of `operator`; `cell` tells the cells of one carrier apart.
    """

    operator: str
    carrier: str
    cell: str
    rsrp_dbm: float

    @property
    def name(self) -> str:
        """Return the cell's name, unique in the log: `OPERATOR/CARRIER/CELL`."""
        return f"{self.operator}/{self.carrier}/{self.cell}"


@dataclass(frozen=True, slots=True)
class CellLog:
    """The visible cells of each second of a drive, from second 0 on.

    Raises:
        ValueError: no cell in any second.
    """

    name: str
    seconds: tuple[tuple[HeardCell, ...], ...]

    def __post_init__(self) -> None:
        """Refuse a drive without a cell with a ValueError."""
        if not any(self.seconds):
            raise ValueError(f"drive {self.name}: no cell in any second")

    def carriers(self) -> list[tuple[str, str]]:
        """Return each (operator, carrier) that is ever heard, sorted."""
        return sorted({(c.operator, c.carrier) for second in self.seconds for c in second})


@dataclass(frozen=True, slots=True)
class Capacities:
    """Capacity of each channel at each step of time.

    A channel is a carrier of an operator, served by the strongest of the carrier's cells; there
    are as many as the drive has carriers, and each is listed at every step, absent or not.

    `mbps[channel][step]` (>= 0, Mbit/s in whole kbit/s, 0 = absent) holds for `step_s` seconds;
    `cells[channel][step]` is the serving cell's name, unique in the drive, and empty when the
    channel is absent. `operators[channel]` is whose it is, empty if that is not known.

    Raises:
        ValueError: no channel, no step, rows of different lengths, or no capacity at all.
    """

    name: str
    operators: tuple[str, ...]
    mbps: tuple[tuple[float, ...], ...]
    cells: tuple[tuple[str, ...], ...]
    step_s: int = 1

    def __post_init__(self) -> None:
        """Refuse values that form no table with a ValueError."""
        if not self.mbps or not self.mbps[0]:
            raise ValueError(f"drive {self.name}: needs at least one channel and one step")
        if not len(self.mbps) == len(self.cells) == len(self.operators):
            raise ValueError(f"drive {self.name}: needs cells and an operator for each channel")
        if {len(row) for row in (*self.mbps, *self.cells)} != {self.steps}:
            raise ValueError(f"drive {self.name}: channels have different numbers of steps")
        if any(not 0 <= value < float("inf") for row in self.mbps for value in row):
            raise ValueError(f"drive {self.name}: a capacity is not a number of 0 or more")
        if not any(map(any, self.mbps)):
            raise ValueError(f"drive {self.name}: no channel has any capacity in any second")

    @property
    def steps(self) -> int:
        """Return the number of steps of time."""
        return len(self.mbps[0])

    @property
    def duration_s(self) -> int:
        """Return the length of the drive in s."""
        return self.steps * self.step_s

    def at(self, step: int) -> tuple[float, ...]:
        """Return the capacity of each channel at a step, in Mbit/s."""
        return tuple(row[step] for row in self.mbps)

    def trace(self, channel: int) -> RateTrace:
        """Return the trace of a channel (from 0), as a leg's capacity."""
        step_ns = self.step_s * NS_PER_S
        return RateTrace(
            name=self.name,
            times_ns=tuple(step * step_ns for step in range(self.steps)),
            rates_bps=tuple(round(rate * 1_000_000) for rate in self.mbps[channel]),
            duration_ns=self.steps * step_ns,
        )


BEST = "Best Single Path"
"""The best channel of each second."""
MULTIPATH = "Multipath"
"""All channels of each second together."""
PERCENTILES = (20.0, 10.0, 5.0, 1.0, 0.1)
"""Those of table 3, in %."""
MANY_CELLS = 7
"""Section 3.2 tells how often more cells than these are visible."""


@dataclass(frozen=True, slots=True)
class CapacityStatistics:
    """Statistics of one level of aggregation over the seconds of a drive, in Mbit/s."""

    mean_mbps: float
    median_mbps: float
    percentiles_mbps: tuple[float, ...]
    """Of `PERCENTILES`, in this order."""


@dataclass(frozen=True, slots=True)
class ChannelStatistics:
    """Statistics of the channels over a drive: tables 2 and 3.

    `available_shares[n]` is the share of time with n channels. Numbers of visible cells are known
    only with a log of cells.
    """

    name: str
    duration_s: int
    available_mean: float
    available_shares: tuple[float, ...]
    visible_mean: float | None
    visible_more_than_7: float | None
    capacity: dict[str, CapacityStatistics]


def levels(capacities: Capacities) -> dict[str, tuple[float, ...]]:
    """Return Mbit/s at each step by level: `OPERATOR SP`, `Best Single Path`, `Multipath`.

    An operator's level is the best of its channels; without a known operator there is none.
    """
    steps = list(zip(*capacities.mbps, strict=True))
    rates: dict[str, tuple[float, ...]] = {}
    for operator in sorted(set(capacities.operators) - {""}):
        own = [k for k, name in enumerate(capacities.operators) if name == operator]
        rates[f"{operator} SP"] = tuple(max(step[k] for k in own) for step in steps)
    rates[BEST] = tuple(map(max, steps))
    rates[MULTIPATH] = tuple(map(math.fsum, steps))
    return rates


def channel_statistics(capacities: Capacities, log: CellLog | None = None) -> ChannelStatistics:
    """Return tables 2 and 3 of a drive; with its log also how many cells are visible."""
    available = [sum(rate > 0 for rate in step) for step in zip(*capacities.mbps, strict=True)]
    counts = range(len(capacities.mbps) + 1)
    visible = None if log is None else [len(second) for second in log.seconds]
    return ChannelStatistics(
        name=capacities.name,
        duration_s=capacities.duration_s,
        available_mean=fmean(available),
        available_shares=tuple(available.count(n) / len(available) for n in counts),
        visible_mean=None if visible is None else fmean(visible),
        visible_more_than_7=None if visible is None else fmean(n > MANY_CELLS for n in visible),
        capacity={level: capacity_statistics(row) for level, row in levels(capacities).items()},
    )


def capacity_statistics(mbps: Sequence[float]) -> CapacityStatistics:
    """Return one row of table 3, of capacities in Mbit/s.

    A percentile is the least value that is not exceeded for so much of the time.
    """
    ordered = sorted(mbps)
    ranks = (math.ceil(len(ordered) * percent / 100) for percent in (50, *PERCENTILES))
    median, *percentiles = (ordered[max(0, rank - 1)] for rank in ranks)
    return CapacityStatistics(fmean(ordered), median, tuple(percentiles))


Interferers = Literal["all", "carrier"]
"""Whose power disturbs a channel: all other cells that are heard, or those of its carrier."""

NOISE_DBM = -132.24 + 7.0
"""Thermal noise of one resource element of 15 kHz and the terminal's noise figure (table 1)."""
BANDWIDTH_MHZ = 10.0
"""f of formula (2), table 1."""
DOWNSCALING = 0.9449
"""C of formula (2), table 1."""
SINR_FACTOR = 0.4852
"""gamma of formula (2), table 1."""
TOP_EFFICIENCY = 5.5547
"""c15 of formula (2), table 1: bit/s per Hz of CQI index 15 (3GPP TS 36.213 table 7.2.3-1)."""
MIN_MBPS = 0.001
"""Of a channel that there is, as capacities are whole kbit/s and 0 says that there is none."""


@dataclass(frozen=True, slots=True)
class RadioSettings:
    """Parameters of the step from received power to capacity.

    Raises:
        ValueError: a value is out of its range.
    """

    # Table 1: "a low, 10% load in order to study higher peak data rates".
    load: float = 0.10
    # Formula (1) as it is printed; with `carrier` table 3 is impossible
    # (studies/cellular/measured.md).
    interferers: Interferers = "all"
    # Multiplies all capacities: the calibration of a segment (docs/cellular.md), else 1.
    scale: float = 1.0
    # Below this a channel is absent. 0: each cell that is heard counts, as in table 2.
    floor_mbps: float = 0.0

    def __post_init__(self) -> None:
        """Refuse values outside their range with a ValueError."""
        in_range("load", self.load, 0, 1)
        in_range("scale", self.scale, 1e-9, 1e6)
        in_range("floor_mbps", self.floor_mbps, 0, MAX_BPS / 1e6, "Mbit/s")


def channels_of(log: CellLog, radio: RadioSettings | None = None) -> Capacities:
    """Return one channel for each carrier that the drive ever hears, in the order of their names.

    A second in which a carrier is not heard, or carries less than the floor, has no such channel.

    Raises:
        ValueError: there is none in any second.
    """
    settings = radio or RadioSettings()
    carriers = log.carriers()
    rows = [dict(serve(second, settings)) for second in log.seconds]
    absent = ("", 0.0)
    return Capacities(
        name=log.name,
        operators=tuple(operator for operator, _ in carriers),
        mbps=tuple(tuple(row.get(carrier, absent)[1] for row in rows) for carrier in carriers),
        cells=tuple(tuple(row.get(carrier, absent)[0] for row in rows) for carrier in carriers),
    )


def serve(
    heard: Sequence[HeardCell], radio: RadioSettings
) -> Iterator[tuple[tuple[str, str], tuple[str, float]]]:
    """Yield each carrier of a second with its serving cell's name and capacity in Mbit/s."""
    power = {cell: 10 ** (cell.rsrp_dbm / 10) for cell in heard}
    everything = sum(power.values())
    carriers: dict[tuple[str, str], list[HeardCell]] = {}
    for cell in heard:
        carriers.setdefault((cell.operator, cell.carrier), []).append(cell)
    for carrier, cells in carriers.items():
        best = max(cells, key=lambda cell: cell.rsrp_dbm)
        heard_too = everything if radio.interferers == "all" else sum(power[c] for c in cells)
        ratio = sinr(power[best], max(0.0, heard_too - power[best]), radio.load)
        rate = max(MIN_MBPS, round(capacity_mbps(ratio) * radio.scale, 3))
        if rate >= radio.floor_mbps:
            yield carrier, (best.name, rate)


def sinr(serving_mw: float, interferers_mw: float, load: float = 0.10) -> float:
    """Return the SINR of formula (1) as a ratio; all powers are RSRP in mW."""
    return serving_mw / (load * interferers_mw + 10 ** (NOISE_DBM / 10))


def capacity_mbps(sinr: float) -> float:
    """Return the capacity of formula (2) in Mbit/s at a SINR (a ratio), at most 55.547."""
    efficiency = DOWNSCALING * math.log2(1 + SINR_FACTOR * sinr)
    return BANDWIDTH_MHZ * min(TOP_EFFICIENCY, efficiency)
