"""A leg in C, which its driver there moves packets through."""

from __future__ import annotations

from array import array
from collections.abc import MutableSequence
from dataclasses import astuple, fields, replace
from random import Random
from typing import Any

from minitopo_dc.errors import InputError
from minitopo_dc.link import (
    Capacity,
    ConstantDelay,
    DelayModel,
    GilbertElliott,
    LegParameters,
    LegStatistics,
    LossModel,
    NormalDelay,
    RateCapacity,
    RlcParameters,
    RlcStatistics,
    UniformDelay,
)
from minitopo_dc.link.any_leg import queue_generators
from minitopo_dc.link.codel import CoDel
from minitopo_dc.link.discipline import Red, Step
from minitopo_dc.link.pie import DualPi2, Pie
from minitopo_dc.native.library import MOST, counted, library, random_state, struct_of, to_c

_DELAYS = (ConstantDelay, NormalDelay, UniformDelay)
"""By the numbers of `link/link.h`."""
_AFTER = ("loop", "hold", "stop")
"""By the numbers of `link/link.h`."""


DISCIPLINES = (Step, Red, CoDel, Pie, DualPi2)
"""By the numbers of `link/link.h`."""


def native_capacity(capacity: Capacity) -> Any:
    """Return a capacity in C that has served nothing yet; who gets it has to free it.

    Raises:
        InputError: numbers that do not fit.
    """
    lib, after = library().lib, _AFTER.index(capacity.end)
    if isinstance(capacity, RateCapacity):
        edges, rates = capacity.table()
        return lib.capacity_rates(_numbers(edges), _numbers(rates), len(rates), after)
    moments, duration, bits = capacity.table()
    return lib.capacity_opportunities(_numbers(moments), len(moments), duration, bits, after)


def _numbers(values: tuple[int, ...]) -> Any:
    if max(map(abs, values)) > MOST:
        raise InputError("a trace with a number beyond 64 bits")
    return library().ffi.from_buffer("int64_t[]", array("q", values))


OF_DISCIPLINE = {
    field.name for field in fields(LegStatistics) if field.kw_only and field.name != "dropped_mtu"
}
"""The counters that a leg without a queue discipline has not."""


class NativeLeg:
    """The counterpart of `minitopo_dc.link.make_leg` in C, but for what its driver in C does.

    Raises:
        InputError: a number of its trace does not fit.
    """

    def __init__(
        self,
        parameters: LegParameters,
        capacity: Capacity,
        rng: Random,
        rlc: RlcParameters | None = None,
    ) -> None:
        """Draw seeds from `rng`, as `CapacityLeg` and `RlcLeg` do."""
        module = library()
        self._ffi, self._lib = module.ffi, module.lib
        self._up = True
        loss_rng, queue_rng = queue_generators(rng)
        states = random_state(Random(rng.getrandbits(64))), random_state(loss_rng)
        lib = self._lib
        made = lib.leg_new(struct_of("leg_parameters", parameters), *states)
        self.pointer = self._ffi.gc(made, lib.leg_free)
        """The leg itself."""
        self.retune(0, capacity=capacity, delay=parameters.delay, loss=parameters.loss)
        uncounted = {"dropped_mtu"} if parameters.mtu_bytes is None else set()
        if (discipline := parameters.discipline) is None:
            uncounted |= OF_DISCIPLINE
        else:
            kind, numbers = DISCIPLINES.index(type(discipline)), discipline.numbers
            state = random_state(queue_rng)
            lib.leg_set_discipline(self.pointer, kind, numbers, len(numbers), state)
        self._counters = self._ffi.new("leg_counters *")
        self._kind = LegStatistics if rlc is None else RlcStatistics
        self._uncounted = dict.fromkeys(uncounted)
        self._rlc = rlc
        if rlc is not None:
            block_rng = random_state(Random(rng.getrandbits(64)))
            lib.leg_set_rlc(self.pointer, struct_of("rlc_parameters", rlc), block_rng)
            self._set_block_error(rlc, 0)

    def start(self, now: int) -> None:
        """Make `now` the capacity's time 0."""
        self._lib.leg_start(self.pointer, now)

    def set_up(self, up: bool, now: int) -> None:
        """Take the leg up or down."""
        self._up = up
        self._lib.leg_set_up(self.pointer, up, now)

    def retune(
        self,
        now: int,
        *,
        capacity: Capacity | None = None,
        delay: DelayModel | None = None,
        loss: LossModel | None = None,
        block_error: float | None = None,
    ) -> None:
        """Change parameters as any leg does."""
        if block_error is not None:
            assert self._rlc is not None
            self._rlc = replace(self._rlc, block_error=block_error)
            self._set_block_error(self._rlc, now)
        if capacity is not None:
            self._lib.leg_set_capacity(self.pointer, native_capacity(capacity), now)
        if delay is not None:
            kind = _DELAYS.index(type(delay))
            first, second, *_ = (*map(to_c, astuple(delay)), 0)
            self._lib.leg_set_delay(self.pointer, kind, first, second, now)
        if loss is not None:
            rest = [getattr(loss, name, 0.0) for name in "rhk"]  # Bernoulli's has none
            kind = 2 if isinstance(loss, GilbertElliott) else 1
            self._lib.leg_set_loss(self.pointer, kind, loss.p, *rest, now)

    def pair(self, other: Any) -> None:
        """Let the leg's other direction carry status reports, and keep the terminal awake."""
        self._other = other  # which C refers to
        self._lib.leg_pair(self.pointer, other.pointer)

    def share(self, memory: MutableSequence[int]) -> None:
        """Keep what the other direction sees in memory that its process has, too."""
        self._shown = self._ffi.from_buffer("leg_shown *", memory, require_writable=True)
        self._lib.leg_share(self.pointer, self._shown)

    @property
    def is_up(self) -> bool:
        """Return whether the leg serialises packets."""
        return self._up

    def statistics(self) -> LegStatistics:
        """Return counters and gauges as of the last call."""
        self._lib.leg_count(self.pointer, self._counters)
        return self._kind(**counted(self._kind, self._counters) | self._uncounted)

    def _set_block_error(self, rlc: RlcParameters, now: int) -> None:
        wait = rlc.mean_wait_ns()
        self._lib.leg_set_block_error(self.pointer, rlc.block_error, wait, now)
