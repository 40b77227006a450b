"""Channels and their capacities: what a terminal could use at each step of a drive."""

from __future__ import annotations

from dataclasses import dataclass

from minitopo_dc.trace.model import RateTrace
from minitopo_dc.units import NS_PER_S


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
