"""Settings of cells, whose capacity legs share with background users."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from minitopo_dc.fields.base import FilePath, LeftOut, Settings
from minitopo_dc.fields.ranges import Megabytes, Number, Rate, Seconds, within
from minitopo_dc.link.cell import (
    Background,
    Cell,
    Load,
    full_buffer,
    on_off_periods,
    poisson_downloads,
)
from minitopo_dc.link.cell_scheduler import CellScheduler, make_scheduler
from minitopo_dc.link.rlc.parameters import SLOT_NS
from minitopo_dc.scenario.change import Outage, check_order
from minitopo_dc.scenario.layer2 import SlotMs
from minitopo_dc.scenario.leg import LegDirection, MakeLeg, Parameters
from minitopo_dc.trace import DEFAULT_COLUMN
from minitopo_dc.units import NS_PER_MS, NS_PER_S

Kind = Literal["full", "on-off", "poisson", "trace"]
ALWAYS = ((0.0, 31_536_000.0),)
"""A year."""
NEEDS: dict[Kind, tuple[str, ...]] = {
    **{"full": (), "on-off": ("on_s", "off_s"), "poisson": ("mean_mbps",), "trace": ("trace",)}
}
"""The fields that a kind needs, and no other has."""
MAX_USERS = 1000
Priority = Annotated[int, *within(1, 127)]
"""Priority levels of TS 23.501, clause 5.7.3.3: 1 to 127, the lowest is served first."""


class BackgroundSettings(Settings):
    """Background users of a cell that are alike; each draws its own moments."""

    kind: Kind
    """`full`: always something to send; `on-off`: the same in random periods; `poisson`: downloads
    at random moments; `trace`: a recorded rate."""
    rate_mbps: Rate
    """What one of them would have alone in the cell."""
    users: Annotated[int, *within(1, MAX_USERS)] = 1
    priority: LeftOut[Priority] = 1
    """1 is served first; of the scheduler `priority`."""
    times_s: LeftOut[tuple[Outage, ...]] = ()
    """Of `full`: when they are active, [[from, to], ...] in s after the start; none: always."""
    on_s: LeftOut[Seconds | None] = None
    """Of `on-off`: the mean of active periods, exponential."""
    off_s: LeftOut[Seconds | None] = None
    """Of `on-off`: the mean of gaps, exponential."""
    mean_mbps: LeftOut[Rate | None] = None
    """Of `poisson`: what one of them downloads on average, if the cell carries it."""
    download_mb: LeftOut[Megabytes] = 2.0
    """Of `poisson`: a download's size; that of FTP model 1 (TR 36.814, table A.2.1.3.1-1)."""
    trace: LeftOut[FilePath | None] = None
    """Of `trace`: a file with the rate that one of them offers, of any format of docs/traces.md."""
    trace_column: LeftOut[str] = DEFAULT_COLUMN
    """Its column, as of a leg."""

    @model_validator(mode="after")
    def _check_load(self) -> Self:
        for name in NEEDS[self.kind]:
            if getattr(self, name) is None:
                raise ValueError(f"kind {self.kind}: needs {name}")
        for kind, names in (*NEEDS.items(), ("full", ("times_s",))):
            for name in names:
                if getattr(self, name) and kind != self.kind:
                    raise ValueError(f"{name}: only kind {kind} has it, not {self.kind}")
        check_order("times_s", self.times_s)
        return self

    def build(self, seed: str) -> Iterator[Background]:
        """Yield the users; `seed` fixes what they draw.

        Raises:
            SettingsError, TraceError: the trace is missing or wrong.
        """
        rate = round(self.rate_mbps * 1e6)
        for number in range(1, self.users + 1):
            load = self._load(random.Random(f"{seed}/{number}"))
            yield Background(load, rate, priority=self.priority)

    def _load(self, rng: random.Random) -> Load:
        if self.kind == "full":
            periods = self.times_s or ALWAYS
            return full_buffer((round(b * NS_PER_S), round(e * NS_PER_S)) for b, e in periods)
        if self.on_s is not None and self.off_s is not None:
            means = round(self.on_s * NS_PER_S), round(self.off_s * NS_PER_S)
            return full_buffer(on_off_periods(rng, *means))
        if self.mean_mbps is not None:
            bits = round(self.download_mb * 8e6)
            return poisson_downloads(rng, bits, round(bits / self.mean_mbps * 1000))
        recorded = LegDirection(trace=self.trace, trace_column=self.trace_column)
        return partial(recorded.capacity().bits_between, 0)


class CellSettings(Settings):
    """A cell: the legs whose downlinks are in it, its scheduler and its background users."""

    legs: Annotated[tuple[Number, ...], Field(min_length=1)]
    """Numbers of the legs; each is a user, whose capacity is what it would have alone."""
    scheduler: str = "proportional-fair"
    """`round-robin`, `proportional-fair` (the default of ns-3's LTE), `priority`, or the user's
    own."""
    parameters: LeftOut[Annotated[dict[str, Any], AfterValidator(Parameters)]] = Parameters()
    """Parameters of the scheduler: `averaging_ms` of `proportional-fair`."""
    slot_ms: LeftOut[SlotMs] = SLOT_NS / NS_PER_MS
    """The time for which the scheduler gives the capacity; that of the legs' `rlc`."""
    priorities: LeftOut[tuple[Priority, ...]] = ()
    """Those of `legs`, in their order; none: 1."""
    background: tuple[BackgroundSettings, ...] = ()

    @model_validator(mode="after")
    def _check_users(self) -> Self:
        self.made_scheduler()
        if self.priorities and len(self.priorities) != len(self.legs):
            raise ValueError(
                f"priorities: {len(self.priorities)} for {len(self.legs)} legs; allowed: one each"
            )
        return self

    def made_scheduler(self) -> CellScheduler:
        """Return a new scheduler; InputError if the name or a parameter is wrong."""
        return make_scheduler(self.scheduler, self.parameters)

    def build(self, seed: str) -> Cell:
        """Return a new cell without legs; `seed` fixes what its background users draw.

        Raises:
            SettingsError, TraceError: a trace is missing or wrong.
        """
        background = [
            user
            for number, alike in enumerate(self.background, 1)
            for user in alike.build(f"{seed}/{number}")
        ]
        return Cell(self.made_scheduler(), round(self.slot_ms * NS_PER_MS), background)

    def makers(self, cell: Cell) -> Iterator[tuple[int, MakeLeg]]:
        """Yield each leg's number, and the function that makes it in the cell."""
        priorities = self.priorities or (1,) * len(self.legs)
        for leg, priority in zip(self.legs, priorities, strict=True):
            yield leg, partial(cell.leg, priority=priority)
